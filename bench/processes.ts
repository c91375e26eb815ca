// Processes: the service, started with the command of the `start` task (same
// entry, same permissions), a GitHub double as its source, other programs, and
// requests to them. A bench runs inside `withProcesses`: whatever it started
// has ended when that returns, by its last line, by an error or by a signal.

import { dirname, join } from "@std/path";
import { setTimeout as pause } from "node:timers/promises";
import { SETTING_NAMES } from "../lib/settings.ts";
import {
  type DoubleConfig,
  startDouble,
} from "../tests/github/start_double.ts";
import { rawRequest, type RawResponse } from "../tests/raw_http.ts";
import { root } from "../tests/source_files.ts";

/** Waits. */
export { pause };

/** Settings of a service. */
export type Env = Readonly<Record<string, string>>;

/**
 * A folder below the root where the service may write; it is there as long as
 * `withProcesses` runs.
 */
export const DATA_FOLDER = `./data/bench-${Deno.pid}`;
const START_WITHIN_MS = 20_000;
const STOP_WITHIN_MS = 5_000;
const SIGNALS: readonly Deno.Signal[] = ["SIGINT", "SIGTERM", "SIGHUP"];
const children = new Set<Deno.ChildProcess>();

/**
 * Runs a bench; `cleanup` is also disposed of when a signal ends the process.
 */
export async function withProcesses(
  work: (cleanup: AsyncDisposableStack) => Promise<void>,
): Promise<void> {
  await using cleanup = new AsyncDisposableStack();
  await Deno.mkdir(join(root, DATA_FOLDER), { recursive: true });
  // Disposed of last: what still runs then.
  cleanup.defer(() =>
    Deno.remove(join(root, DATA_FOLDER), { recursive: true })
  );
  cleanup.defer(async () => {
    for (const child of children) await child[Symbol.asyncDispose]();
  });
  const stop = () =>
    cleanup.disposeAsync().catch(console.error).finally(() => Deno.exit(130));
  for (const signal of SIGNALS) Deno.addSignalListener(signal, stop);
  try {
    await work(cleanup);
  } catch (error) {
    // A bench that loses its servers to a signal fails, which is no failure of
    // its own.
    if (!cleanup.disposed) throw error;
    await new Promise(() => {});
  } finally {
    for (const signal of SIGNALS) Deno.removeSignalListener(signal, stop);
  }
}

/**
 * How a program runs: on one processor core where it is given, its output
 * dropped or appended to a file.
 */
export interface ProcessOptions {
  readonly env?: Env;
  readonly outputFile?: string;
  readonly core?: number;
}

/** Starts a program; disposing of it ends it, at last by SIGKILL. */
export function startProcess(
  command: readonly string[],
  { env = {}, outputFile = "/dev/null", core }: ProcessOptions = {},
): Deno.ChildProcess {
  // The shell opens the file and becomes the program, so no byte of output
  // passes through the bench.
  const shell = [
    "sh",
    "-c",
    'file=$1; shift; exec "$@" >>"$file"',
    "sh",
    outputFile,
  ];
  const [program = "", ...args] = pinned([...shell, ...command], core);
  const options = { args, cwd: root, env: { ...env }, stdin: "null" } as const;
  const child = new Deno.Command(program, options).spawn();
  children.add(child);
  child.status.finally(() => children.delete(child));
  const dispose = child[Symbol.asyncDispose].bind(child);
  child[Symbol.asyncDispose] = async () => {
    const kill = () =>
      outputOf(["kill", "-KILL", `${child.pid}`]).catch(() => {});
    const timer = setTimeout(kill, STOP_WITHIN_MS);
    await dispose().finally(() => clearTimeout(timer));
  };
  return child;
}

/**
 * The command on one core, by util-linux's taskset, where the machine has more
 * than one.
 */
export function pinned(
  command: readonly string[],
  core: number | undefined,
): readonly string[] {
  const isFree = core === undefined || navigator.hardwareConcurrency < 2;
  return isFree ? command : ["taskset", "--cpu-list", `${core}`, ...command];
}

/**
 * Waits until a process answers a request. @throws {Error} where it ends before
 * that, or takes too long.
 */
export async function untilAnswered(
  process: Deno.ChildProcess,
  url: string,
): Promise<void> {
  let isOver = false;
  process.status.then(() => isOver = true);
  const untilMs = performance.now() + START_WITHIN_MS;
  while (!isOver && performance.now() < untilMs) {
    const response = await fetch(url, { redirect: "manual" }).catch(() => null);
    await response?.body?.cancel();
    if (response !== null && response.status < 400) return;
    await pause(2);
  }
  throw new Error(`Cannot start "${url}": it ended, or did not answer in time`);
}

/**
 * The output of a program that ends by itself. @throws {Error} with its error
 * output.
 */
export async function outputOf(
  [program = "", ...args]: readonly string[],
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args })
    .output();
  const decoder = new TextDecoder();
  if (success) return decoder.decode(stdout);
  throw new Error(
    `Cannot run "${program}": ${
      decoder.decode(stderr) || decoder.decode(stdout)
    }`,
  );
}

/** A free TCP port of the loopback interface. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/**
 * Processor time of processes and their children so far, in ms
 * (proc_pid_schedstat). Deno reads nothing of /proc without all permissions, so
 * `cat` does.
 */
export async function processorMs(
  ...processes: readonly Deno.ChildProcess[]
): Promise<number> {
  const own = processes.map(({ pid }) =>
    `${pid} $(cat /proc/${pid}/task/*/children 2>/dev/null)`
  );
  // A thread may end meanwhile.
  const script = `for p in ${
    own.join(" ")
  }; do cat /proc/$p/task/*/schedstat; done 2>/dev/null; :`;
  const lines = (await outputOf(["sh", "-c", script])).trim().split("\n");
  return lines.reduce((sum, line) => sum + Number(line.split(" ")[0]), 0) / 1e6;
}

/**
 * The resident memory of a process, now and at its peak (proc_pid_status), in
 * MiB.
 */
export async function memoryOf({ pid }: Deno.ChildProcess) {
  const status = await outputOf(["cat", `/proc/${pid}/status`]);
  const field = (name: string) =>
    Math.round(
      Number(status.match(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m"))![1]) /
        1024,
    );
  return { nowMb: field("VmRSS"), peakMb: field("VmHWM") };
}

type Repositories = DoubleConfig["repositories"];

/**
 * Starts a double with these repositories; `settings` are for a service in
 * front of it, with limits that no bench reaches.
 */
export async function startSource(
  cleanup: AsyncDisposableStack,
  repositories: Repositories,
) {
  // With a token, the service checks branches ahead of need.
  const token = "bench-token";
  const double = cleanup.use(await startDouble({ repositories, token }));
  const settings = {
    GITHUB_API_URL: double.apiUrl,
    GITHUB_TOKEN: token,
    LOCAL_REPOS_DIR: "none",
    LOG_LEVEL: "warn",
    MISSES_PER_MINUTE: "0",
    SOURCE_TIMEOUT_MS: "60000",
  };
  return { double, settings };
}

/** A service process. */
export type RunningService = Deno.ChildProcess & { readonly origin: string };

/** How a service runs; `port` is a free one unless it is given. */
type ServiceOptions = ProcessOptions & {
  readonly path?: string;
  readonly port?: number;
};

/**
 * Starts a service and waits until it answers `path`. It gets no setting of the
 * bench's environment, and a new store unless KV_PATH names one. @throws
 * {Error} where it ends before that.
 */
export async function startService(
  { env, path = "/api/health", port = freePort(), ...options }: ServiceOptions =
    {},
): Promise<RunningService> {
  const origin = `http://127.0.0.1:${port}`;
  const { tasks } = JSON.parse(
    await Deno.readTextFile(join(root, "deno.json")),
  );
  const service = startProcess(["sh", "-c", `exec env ${tasks.start}`], {
    ...options,
    env: {
      ...Object.fromEntries(SETTING_NAMES.map((name) => [name, ""])),
      PATH: `${dirname(Deno.execPath())}:${Deno.env.get("PATH")}`,
      HOST: "127.0.0.1",
      PORT: `${port}`,
      KV_PATH: `${DATA_FOLDER}/${crypto.randomUUID()}`,
      ...env,
    },
  });
  await untilAnswered(service, origin + path);
  return Object.assign(service, { origin });
}

/** An answer as it came; `ms` is the time from the request to its last byte. */
export type Answer = RawResponse & { readonly ms: number };

/**
 * One GET. @throws {Error} where the status is 400 or more, or the connection
 * ends early.
 */
export async function get(
  origin: string,
  path: string,
  headers: Env = {},
): Promise<Answer> {
  const { host, port } = new URL(origin);
  const fields = Object.entries({ host, ...headers }).map((field) =>
    field.join(": ")
  );
  const startedMs = performance.now();
  const response = await rawRequest(
    Number(port),
    `GET ${path} HTTP/1.1`,
    ...fields,
  );
  if (response.status < 400) {
    return { ...response, ms: performance.now() - startedMs };
  }
  throw new Error(
    `Cannot get "${path}": ${response.status} ${textOf(response)}`,
  );
}

/** The body of an answer as text. */
export const textOf = ({ body }: RawResponse) => new TextDecoder().decode(body);
