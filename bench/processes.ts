// Child processes. A bench runs inside `withProcesses`: whatever it started has ended when that returns, by its last line,
// by an error or by a signal.

import { join } from "@std/path";

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
  let ending: Promise<void> | undefined;
  const end = () =>
    ending ??= (async () => {
      await cleanup.disposeAsync();
      for (const child of children) kill(child, "SIGKILL");
    })();
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
