// Child processes of benches. A bench runs inside `withProcesses`, and whatever it started is gone when that is over,
// however it ends: by its last line, by an error or by a signal.

import { join } from "@std/path";

/** Where the project lies; children run there. */
export const projectRoot = join(import.meta.dirname!, "..");

const STOP_WITHIN_MS = 5_000;

/** Every child that has not ended. */
const children = new Set<Deno.ChildProcess>();

/** A process that was started, until it is disposed of. */
export interface RunningProcess extends AsyncDisposable {
  readonly pid: number;
  /** Resolves when it has ended. */
  readonly ended: Promise<Deno.CommandStatus>;
  /** The first line of its output; null where `stdout` is a file or the process ends without one. */
  readonly firstLine: Promise<string | null>;
}

/** How a process is started. */
export interface ProcessOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Given to it as its whole input. */
  readonly stdin?: string;
  /** A file that its output is appended to; without one only the first line is read. */
  readonly stdoutFile?: string;
}

/** Runs a bench; what it leaves to `cleanup` is also disposed of when a signal ends the process. */
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
    // Whoever loses its servers to a signal fails, and that is no failure of its own.
    if (ending === undefined) throw error;
    await new Promise(() => {});
  } finally {
    await end();
    for (const signal of signals) Deno.removeSignalListener(signal, stop);
  }
}

/** Starts a program with these arguments. */
export function startProcess(
  [program, ...args]: readonly [string, ...string[]],
  { env = {}, stdin, stdoutFile }: ProcessOptions = {},
): RunningProcess {
  // The shell opens the file and becomes the program, so no byte of output passes through the bench.
  const command = stdoutFile === undefined
    ? new Deno.Command(program, options(args))
    : new Deno.Command(
      "sh",
      options(["-c", 'file=$1; shift; exec "$@" >>"$file"', "sh", stdoutFile, program, ...args]),
    );
  const child = spawn(command);
  if (stdin !== undefined) writeAll(child.stdin, stdin).catch(() => {});
  return {
    pid: child.pid,
    ended: child.status,
    firstLine: stdoutFile === undefined ? readFirstLine(child.stdout) : Promise.resolve(null),
    [Symbol.asyncDispose]: () => stopChild(child),
  };

  function options(args: readonly string[]): Deno.CommandOptions {
    return {
      args: [...args],
      cwd: projectRoot,
      env: { ...env },
      stdin: stdin === undefined ? "null" : "piped",
      stdout: stdoutFile === undefined ? "piped" : "inherit",
      stderr: "inherit",
    };
  }
}

/** The output of a program that ends by itself. @throws {Error} with what it complained of. */
export async function outputOf(program: string, args: readonly string[]): Promise<string> {
  const command = new Deno.Command(program, {
    args: [...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
  const { success, stdout, stderr } = await spawn(command).output();
  const decoder = new TextDecoder();
  if (success) return decoder.decode(stdout);
  throw new Error(`Cannot run "${program}": ${decoder.decode(stderr) || decoder.decode(stdout)}`);
}

/** A TCP port of the loopback interface that nobody listens on now. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** Waits. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function spawn(command: Deno.Command): Deno.ChildProcess {
  const child = command.spawn();
  children.add(child);
  child.status.finally(() => children.delete(child));
  return child;
}

async function stopChild(child: Deno.ChildProcess): Promise<void> {
  const killLater = setTimeout(() => kill(child, "SIGKILL"), STOP_WITHIN_MS);
  kill(child, "SIGTERM");
  await child.status;
  clearTimeout(killLater);
}

function kill(child: Deno.ChildProcess, signal: Deno.Signal): void {
  try {
    child.kill(signal);
  } catch {
    // It has ended by itself.
  }
}

async function writeAll(stdin: WritableStream<Uint8Array>, text: string): Promise<void> {
  await new Blob([text]).stream().pipeTo(stdin);
}

async function readFirstLine(
  stdout: ReadableStream<Uint8Array<ArrayBuffer>>,
): Promise<string | null> {
  const reader = stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("\n")) {
    const { value, done } = await reader.read();
    if (done) return null;
    text += value;
  }
  // What comes after is read and dropped, so that the process never waits for a full pipe.
  (async () => {
    while (!(await reader.read()).done);
  })().catch(() => {});
  return text.slice(0, text.indexOf("\n"));
}
