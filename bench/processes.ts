// Child processes: the service, started with the command of the `start` task (same entry, same permissions), a GitHub
// double as its source, and other programs. A bench runs inside `withProcesses`: whatever it started has ended when that
// returns, by its last line, by an error or by a signal.

import { dirname, join } from "@std/path";
import { SETTING_NAMES } from "../lib/settings.ts";
import { type DoubleConfig, startDouble } from "../tests/github/start_double.ts";

/** The project's root; children run there. */
export const projectRoot = join(import.meta.dirname!, "..");

const STOP_WITHIN_MS = 5_000;
const SIGNALS: readonly Deno.Signal[] = ["SIGINT", "SIGTERM", "SIGHUP"];
const children = new Set<Deno.ChildProcess>();

/** A process; disposing of it ends it. */
export interface RunningProcess extends AsyncDisposable {
  readonly pid: number;
  /** Resolves when it has ended. */
  readonly ended: Promise<Deno.CommandStatus>;
}

/** Runs a bench; `cleanup` is also disposed of when a signal ends the process. */
export async function withProcesses(
  work: (cleanup: AsyncDisposableStack) => Promise<void>,
): Promise<void> {
  const cleanup = new AsyncDisposableStack();
  // Disposed of last: whatever still runs then.
  cleanup.defer(() => children.forEach((child) => kill(child, "SIGKILL")));
  let ending: Promise<void> | undefined;
  const end = () => ending ??= cleanup.disposeAsync();
  const stop = () => end().catch(console.error).finally(() => Deno.exit(130));
  for (const signal of SIGNALS) Deno.addSignalListener(signal, stop);
  try {
    await work(cleanup);
  } catch (error) {
    // A bench that loses its servers to a signal fails, which is no failure of its own.
    if (ending === undefined) throw error;
    await new Promise(() => {});
  } finally {
    await end();
    for (const signal of SIGNALS) Deno.removeSignalListener(signal, stop);
  }
}

/** Starts a program, on one processor core where it is given, whose output is appended to a file. */
export function startProcess(
  command: readonly [string, ...string[]],
  { env = {}, outputFile = "/dev/null", core }: {
    readonly env?: Readonly<Record<string, string>>;
    readonly outputFile?: string;
    readonly core?: number | undefined;
  } = {},
): RunningProcess {
  // The shell opens the file and becomes the program, so no byte of output passes through the bench.
  const shell = ["sh", "-c", 'file=$1; shift; exec "$@" >>"$file"', "sh", outputFile] as const;
  const [program, ...args] = pinned([...shell, ...command], core);
  const options = { args, cwd: projectRoot, env: { ...env }, stdin: "null" } as const;
  const child = new Deno.Command(program, options).spawn();
  children.add(child);
  child.status.finally(() => children.delete(child));
  return {
    pid: child.pid,
    ended: child.status,
    async [Symbol.asyncDispose]() {
      const killLater = setTimeout(() => kill(child, "SIGKILL"), STOP_WITHIN_MS);
      kill(child, "SIGTERM");
      await child.status;
      clearTimeout(killLater);
    },
  };
}

function kill(child: Deno.ChildProcess, signal: Deno.Signal): void {
  try {
    child.kill(signal);
  } catch {
    // It has ended by itself.
  }
}

/** The command on one core, by util-linux's taskset, where the machine has more than one. */
export function pinned(
  command: readonly [string, ...string[]],
  core: number | undefined,
): [string, ...string[]] {
  return core === undefined || navigator.hardwareConcurrency < 2
    ? [...command]
    : ["taskset", "--cpu-list", `${core}`, ...command];
}

/** The output of a program that ends by itself. @throws {Error} with its error output. */
export async function outputOf(program: string, args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args: [...args] }).output();
  const decoder = new TextDecoder();
  if (success) return decoder.decode(stdout);
  throw new Error(`Cannot run "${program}": ${decoder.decode(stderr) || decoder.decode(stdout)}`);
}

/** A free TCP port of the loopback interface. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** Waits. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * Processor time of a process and its children so far, in ms (proc_pid_schedstat). Deno reads nothing of /proc without
 * all permissions, so `cat` does.
 */
export async function processorMs(pid: number): Promise<number> {
  const processes = `${pid} $(cat /proc/${pid}/task/*/children 2>/dev/null)`;
  const script = `for p in ${processes}; do cat /proc/$p/task/*/schedstat 2>/dev/null; done`;
  const lines = (await outputOf("sh", ["-c", script])).trim().split("\n");
  return lines.reduce((sum, line) => sum + Number(line.split(" ")[0]), 0) / 1e6;
}

/** The resident memory of a process, now and at its peak (proc_pid_status), in MiB. */
export async function memoryOf(pid: number): Promise<{ nowMb: number; peakMb: number }> {
  const status = await outputOf("cat", [`/proc/${pid}/status`]);
  const field = (name: string) =>
    Math.round(Number(status.match(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m"))![1]) / 1024);
  return { nowMb: field("VmRSS"), peakMb: field("VmHWM") };
}

/** The token that the double accepts; with one, the service checks branches ahead of need. */
export const TOKEN = "bench-token";

/** Owner of all repositories but the soak's. */
export const OWNER = "octo";

/** A service process. */
export type RunningService = RunningProcess & { readonly origin: string };

const START_WITHIN_MS = 20_000;
const PATHS = { list: "/api/list-collection-items", item: "/api/get-item-content" };

/** The path of a request with these parameters; `owner` is {@linkcode OWNER} where it is absent. */
export function pathOf(
  operation: keyof typeof PATHS,
  parameters: Readonly<Record<string, string>>,
): string {
  return `${PATHS[operation]}?${new URLSearchParams({ owner: OWNER, ...parameters })}`;
}

/** Starts a double with these repositories; names without an owner are {@linkcode OWNER}'s. */
export async function startSource(
  cleanup: AsyncDisposableStack,
  repositories: DoubleConfig["repositories"],
) {
  const named = Object.entries(repositories)
    .map(([name, from]) => [name.includes("/") ? name : `${OWNER}/${name}`, from] as const);
  const config = { repositories: Object.fromEntries(named), token: TOKEN };
  return cleanup.use(await startDouble(config));
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
