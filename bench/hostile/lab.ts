// What both phases need: the process of the attackers, services that are
// attacked, and what those use.

import { join } from "@std/path";
import { configFlag } from "../../tests/run_task.ts";
import { root } from "../../tests/source_files.ts";
import {
  DATA_FOLDER,
  type Env,
  freePort,
  memoryOf,
  outputOf,
  pause,
  type RunningService,
  startProcess,
  startService,
  untilAnswered,
} from "../processes.ts";
import type { Commands } from "./attackers.ts";
import { Attacker, newTally } from "./attacker.ts";
import { HealthPoller } from "./health.ts";
import { QuietSource } from "./quiet_source.ts";
import { ORDINARY, siteOf } from "./row.ts";
import { WEBHOOK_SECRET } from "./rows/connections.ts";
import type { SourceAddresses, SourceConfig } from "./source.ts";
import { TOKEN } from "./source_names.ts";

const FOLDER = `${DATA_FOLDER}/repositories`;
const MEMORY_EVERY_MS = 500;
const NICE = "10";

/** A service, and what is known of it. */
export interface AttackedService extends AsyncDisposable {
  readonly service: RunningService;
  readonly port: number;
  /** How the process has ended by itself, or null. */
  readonly end: string | null;
  /** The most resident memory so far, in MiB. */
  readonly peakMb: number;
  /** The key-value store on disk, in MiB. */
  storeMb(): Promise<number>;
}

/** The attackers, the source and the poll of a bench. */
export class Lab implements Disposable {
  readonly poller = new HealthPoller();
  private addresses: SourceAddresses = { apiUrl: "", gitUrl: "" };
  private quietSource: QuietSource | null = null;
  private stores = 0;

  private constructor(private readonly attackersUrl: string) {}

  /** Starts the process of the attackers, at a low priority. */
  static async open(cleanup: AsyncDisposableStack): Promise<Lab> {
    const port = freePort();
    const permissions = [
      ...["--allow-net=127.0.0.1", "--allow-read=."],
      ...[`--allow-write=${DATA_FOLDER}`, "--allow-env=PATH"],
    ];
    const script = join(root, "bench/hostile/attackers.ts");
    const command = [
      Deno.execPath(),
      "run",
      await configFlag(),
      "--no-prompt",
      ...permissions,
    ];
    const process = startProcess([
      "nice",
      "-n",
      NICE,
      ...command,
      script,
      `${port}`,
      FOLDER,
    ]);
    cleanup.use(process);
    const url = `http://127.0.0.1:${port}/`;
    await untilAnswered(process, url);
    return cleanup.use(new Lab(url));
  }

  [Symbol.dispose](): void {
    this.poller[Symbol.dispose]();
    this.quietSource?.[Symbol.dispose]();
  }

  /** Sends a command to the attackers. @throws {Error} where it fails. */
  async call<Name extends keyof Commands>(
    name: Name,
    parameters: Parameters<Commands[Name]>[0],
  ): Promise<Awaited<ReturnType<Commands[Name]>>> {
    const body = JSON.stringify(parameters);
    const response = await fetch(this.attackersUrl + name, {
      method: "POST",
      body,
    });
    if (!response.ok) {
      throw new Error(`Cannot ${name} "${body}": see the error above`);
    }
    return await response.json();
  }

  /**
   * Writes and serves the repositories of rows, and some of `bystanders` whom
   * no row attacks.
   */
  async prepare(
    { bystanders, ...config }: SourceConfig & { readonly bystanders: number },
  ): Promise<void> {
    this.addresses = await this.call("prepare", config);
    this.quietSource?.[Symbol.dispose]();
    this.quietSource = null;
    if (bystanders === 0) return;
    const { apiUrl, gitUrl } = this.addresses;
    this.quietSource = await QuietSource.start({ bystanders, apiUrl });
    this.addresses = { apiUrl: this.quietSource.apiUrl, gitUrl };
  }

  /**
   * Starts a service in front of what was prepared, and lets it load whatever
   * it loads late.
   */
  async startService(
    { env = {}, hasUnreadLog = false, port = freePort() }: {
      readonly env?: Env;
      readonly hasUnreadLog?: boolean;
      readonly port?: number;
    } = {},
  ): Promise<AttackedService> {
    const { apiUrl, gitUrl } = this.addresses;
    const store = `${DATA_FOLDER}/store-${++this.stores}`;
    await using stack = new AsyncDisposableStack();
    const settings: Env = {
      GITHUB_API_URL: apiUrl,
      GITHUB_TOKEN: TOKEN,
      GITHUB_WEBHOOK_SECRET: WEBHOOK_SECRET,
      KV_PATH: store,
      LOCAL_REPOS_DIR: FOLDER,
      LOG_LEVEL: "warn",
      TRUST_PROXY: "true",
      ...env,
    };
    const named = Object.entries(settings).map(([name, value]) => [
      name,
      value.replace("{git}", gitUrl),
    ]);
    stack.defer(() => removeStore(store));
    const outputFile = hasUnreadLog
      ? await unreadPipe(stack, `${store}-log`)
      : "/dev/null";
    const service = stack.use(
      await startService({ env: Object.fromEntries(named), port, outputFile }),
    );
    let end: string | null = null;
    let [isDisposed, peakMb] = [false, 0];
    service.status.then(({ code, signal }) => {
      if (!isDisposed) end = `the process ended: ${signal ?? `code ${code}`}`;
    });
    const sampler = (async () => {
      for (; end === null && !isDisposed; await pause(MEMORY_EVERY_MS)) {
        const memory = await memoryOf(service).catch(() => null);
        peakMb = Math.max(peakMb, memory?.peakMb ?? 0);
      }
    })();
    await warmUp(port);
    const owned = stack.move();
    return {
      service,
      port,
      get end() {
        return end;
      },
      get peakMb() {
        return peakMb;
      },
      storeMb: () => sizeOf(store),
      async [Symbol.asyncDispose]() {
        isDisposed = true;
        await owned.disposeAsync();
        await sampler;
      },
    };
  }
}

/** A pipe that a process holds open and does not read. */
async function unreadPipe(
  stack: AsyncDisposableStack,
  path: string,
): Promise<string> {
  await outputOf(["mkfifo", join(root, path)]);
  stack.defer(() => Deno.remove(join(root, path)));
  stack.use(startProcess(["sh", "-c", 'exec 3<"$0"; exec sleep 3600', path]));
  return path;
}

const storeFiles = (store: string) =>
  ["", "-wal", "-shm"].map((end) => join(root, store + end));

async function removeStore(store: string): Promise<void> {
  for (const file of storeFiles(store)) await Deno.remove(file).catch(() => {});
}

async function sizeOf(store: string): Promise<number> {
  let bytes = 0;
  for (const file of storeFiles(store)) {
    bytes += await Deno.stat(file).then(({ size }) => size, () => 0);
  }
  return bytes / 2 ** 20;
}

const WARM_NETWORK = "10.0.0";
const WARM_WITHIN_MS = 20_000;

/**
 * Sends one request of each kind, over local files and over the source, so that
 * parsers and threads are loaded.
 */
async function warmUp(port: number): Promise<void> {
  const signal = AbortSignal.timeout(WARM_WITHIN_MS);
  const attacker = new Attacker({
    port,
    network: WARM_NETWORK,
    signal,
    tally: newTally(),
  });
  const { list, item } = siteOf(ORDINARY);
  const kinds = [
    { includeHtml: true },
    { includeContent: true, includeFrontMatter: true },
    { sort: "-frontMatter.date", facets: "frontMatter.tags" },
    { "filter[name]": "*1.md", "filter[frontMatter.title]": "Post 1" },
    { collection: "none" },
  ];
  for (const owner of ["local", "octo"]) {
    for (const kind of kinds) await attacker.send(list({ owner, ...kind }));
    await attacker.send(item({ owner, path: "posts/1.md", includeHtml: true }));
  }
}
