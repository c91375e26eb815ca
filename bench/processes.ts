// Child processes. A bench runs inside `withProcesses`: whatever it started has ended when that returns, by its last line,
// by an error or by a signal.

import { join } from "@std/path";

/** The project's root; children run there. */
export const projectRoot = join(import.meta.dirname!, "..");

const STOP_WITHIN_MS = 5_000;
const children = new Set<Deno.ChildProcess>();

/** A process; disposing of it ends it. */
export interface RunningProcess extends AsyncDisposable {
  readonly pid: number;
  /** Resolves when it has ended. */
  readonly ended: Promise<Deno.CommandStatus>;
  /** The first line of its output; null where output goes to a file or the process ends without one. */
  readonly firstLine: Promise<string | null>;
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
  const signals: Deno.Signal[] = ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of signals) Deno.addSignalListener(signal, stop);
  try {
    await work(cleanup);
  } catch (error) {
    // A bench that loses its servers to a signal fails, which is no failure of its own.
    if (ending === undefined) throw error;
    await new Promise(() => {});
  } finally {
    await end();
    for (const signal of signals) Deno.removeSignalListener(signal, stop);
  }
}

/**
 * Starts a program. `stdin` is its whole input, `stdoutFile` a file that its output is appended to, `core` the processor
 * core that it runs on.
 */
export function startProcess(
  command: readonly [string, ...string[]],
  { env = {}, stdin, stdoutFile, core }: {
    readonly env?: Readonly<Record<string, string>>;
    readonly stdin?: string;
    readonly stdoutFile?: string;
    readonly core?: number | undefined;
  } = {},
): RunningProcess {
  // The shell opens the file and becomes the program, so no byte of output passes through the bench.
  const redirected = stdoutFile === undefined
    ? command
    : ["sh", "-c", 'file=$1; shift; exec "$@" >>"$file"', "sh", stdoutFile, ...command] as const;
  const [program, ...args] = pinned(redirected, core);
  const child = new Deno.Command(program, {
    args,
    cwd: projectRoot,
    env: { ...env },
    stdin: stdin === undefined ? "null" : "piped",
    stdout: stdoutFile === undefined ? "piped" : "inherit",
    stderr: "inherit",
  }).spawn();
  children.add(child);
  child.status.finally(() => children.delete(child));
  if (stdin !== undefined) new Blob([stdin]).stream().pipeTo(child.stdin).catch(() => {});
  return {
    pid: child.pid,
    ended: child.status,
    firstLine: stdoutFile === undefined ? readFirstLine(child.stdout) : Promise.resolve(null),
    async [Symbol.asyncDispose]() {
      const killLater = setTimeout(() => kill(child, "SIGKILL"), STOP_WITHIN_MS);
      kill(child, "SIGTERM");
      await child.status;
      clearTimeout(killLater);
    },
  };
}

/** The command on one core, by util-linux's taskset, where the machine has more than one. */
export function pinned(
  command: readonly [string, ...string[]],
  core: number | undefined,
): [string, ...string[]] {
  return core === undefined || navigator.hardwareConcurrency < 2
    ? [...command]
    : ["taskset", "--cpu-list", String(core), ...command];
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
  const text = await outputOf("sh", [
    "-c",
    `for p in ${pid} $(cat /proc/${pid}/task/*/children 2>/dev/null); do cat /proc/$p/task/*/schedstat 2>/dev/null; done`,
  ]);
  return text.trim().split("\n").reduce((sum, line) => sum + Number(line.split(" ")[0]), 0) / 1e6;
}

/** The resident memory of a process, now and at its peak (proc_pid_status), in MiB. */
export async function memoryOf(pid: number): Promise<{ nowMb: number; peakMb: number }> {
  const status = await outputOf("cat", [`/proc/${pid}/status`]);
  const field = (name: string) =>
    Math.round(Number(status.match(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m"))![1]) / 1024);
  return { nowMb: field("VmRSS"), peakMb: field("VmHWM") };
}

function kill(child: Deno.ChildProcess, signal: Deno.Signal): void {
  try {
    child.kill(signal);
  } catch {
    // It has ended by itself.
  }
}

/** The rest is read and dropped, so that the process never waits for a full pipe. */
function readFirstLine(stdout: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  (async () => {
    let text = "";
    for await (const part of stdout.pipeThrough(new TextDecoderStream())) {
      if (text.includes("\n")) continue;
      text += part;
      if (text.includes("\n")) resolve(text.slice(0, text.indexOf("\n")));
    }
  })().finally(() => resolve(null));
  return promise;
}
