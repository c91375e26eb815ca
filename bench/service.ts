// What every bench of a running service has: the service as a process of its own, started with the command of the `start`
// task (same entry, same permissions), and a GitHub double as its source.

import { dirname, join } from "@std/path";
import { SETTING_NAMES } from "../lib/settings.ts";

import {
  type DoubleConfig,
  type RunningDouble,
  startDouble,
} from "../tests/github/start_double.ts";
import { freePort, pause, projectRoot, type RunningProcess, startProcess } from "./processes.ts";

/** The token that the double accepts; with one, the service checks branches ahead of need. */
export const TOKEN = "bench-token";

/** Owner of all repositories but the soak's. */
export const OWNER = "octo";

/** A service process. */
export interface RunningService extends RunningProcess {
  readonly origin: string;
}

const START_WITHIN_MS = 20_000;
const PATHS = { list: "/api/list-collection-items", item: "/api/get-item-content" };

/** The path of a request with these parameters; `owner` is {@linkcode OWNER} where it is absent. */
export function pathOf(
  operation: keyof typeof PATHS,
  parameters: Readonly<Record<string, string>>,
): string {
  return `${PATHS[operation]}?${new URLSearchParams({ owner: OWNER, ...parameters })}`;
}

/** Starts a double, whose quota no bench reaches, with these repositories; names without an owner are {@linkcode OWNER}'s. */
export async function startSource(
  cleanup: AsyncDisposableStack,
  repositories: DoubleConfig["repositories"],
): Promise<RunningDouble> {
  const named = Object.entries(repositories)
    .map(([name, from]) => [name.includes("/") ? name : `${OWNER}/${name}`, from] as const);
  const config = { repositories: Object.fromEntries(named), tokens: { [TOKEN]: {} } };
  const double = cleanup.use(await startDouble(config));
  const quota = { limit: 10_000_000, remaining: 10_000_000 };
  await double.call("setQuota", TOKEN, quota);
  await double.call("setQuota", TOKEN, { ...quota, resource: "graphql" });
  return double;
}

/** Settings of a service whose source is this double, with limits that no bench reaches. */
export function settingsFor(double: { readonly apiUrl: string }) {
  return {
    GITHUB_API_URL: double.apiUrl,
    GITHUB_TOKEN: TOKEN,
    LOCAL_REPOS_DIR: "none",
    LOG_LEVEL: "warn",
    MISSES_PER_MINUTE: "0",
    SOURCE_TIMEOUT_MS: "60000",
  };
}

/**
 * Starts a service and waits until it answers `path`. It gets no setting of the bench's environment; its key-value store is
 * a file of its own unless KV_PATH names another, and its log is dropped unless `logFile` is given.
 * @throws {Error} where it ends before that.
 */
export async function startService(
  { env = {}, path = "/api/health", logFile = "/dev/null", core }: {
    readonly env?: Readonly<Record<string, string>>;
    readonly path?: string;
    readonly logFile?: string;
    readonly core?: number;
  } = {},
): Promise<RunningService> {
  const origin = `http://127.0.0.1:${freePort()}`;
  const folder = join("data", `bench-${crypto.randomUUID()}`);
  const { tasks } = JSON.parse(await Deno.readTextFile(join(projectRoot, "deno.json")));
  const process = startProcess(["sh", "-c", `exec ${tasks.start}`], {
    env: {
      ...Object.fromEntries(SETTING_NAMES.map((name) => [name, ""])),
      PATH: `${dirname(Deno.execPath())}:${Deno.env.get("PATH")}`,
      HOST: "127.0.0.1",
      PORT: new URL(origin).port,
      KV_PATH: `./${folder}/kv`,
      ...env,
    },
    outputFile: logFile,
    core,
  });
  const service: RunningService = {
    ...process,
    origin,
    async [Symbol.asyncDispose]() {
      await process[Symbol.asyncDispose]();
      await Deno.remove(join(projectRoot, folder), { recursive: true }).catch(() => {});
    },
  };
  let isOver = false;
  const ended = process.ended.then(() => isOver = true);
  const untilMs = performance.now() + START_WITHIN_MS;
  while (!isOver && performance.now() < untilMs) {
    const answered = fetch(origin + path).then(async (response) => {
      await response.body?.cancel();
      return response.ok;
    }, () => false);
    if (await Promise.race([answered, ended]) && !isOver) return service;
    await pause(2);
  }
  await service[Symbol.asyncDispose]();
  throw new Error(`Cannot start "${origin}": it ended, or did not answer "${path}" in time`);
}
