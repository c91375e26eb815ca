// The service as a process of its own, with the command and so the permissions of the `start` task, for tests that are
// hard on a process: its limits, its memory and its end can be seen from outside.

import { SETTING_NAMES } from "../../lib/settings.ts";
import { taskCommand } from "../run_task.ts";
import { root } from "../source_files.ts";

/** How a child is started. */
export interface ChildOptions {
  /** Settings; those not named are unset, but for a free port of the loopback interface and a store in memory. */
  readonly env?: Readonly<Record<string, string>>;
  /** File descriptors that it may have, connections among them. */
  readonly maxFiles?: number;
}

/** A service that listens. */
export interface ServiceChild extends AsyncDisposable {
  readonly port: number;
  readonly origin: string;
  readonly pid: number;
  /** All that it wrote so far, to either output. */
  readonly output: string;
  /** How it ended; does not resolve while it runs. */
  readonly ended: Promise<Deno.CommandStatus>;
  /** Memory of the process in MB, as the system counts it. */
  residentMb(): Promise<number>;
}

/** Starts a service and waits until its log says that it listens. @throws {Error} with what it wrote, if it ends before that. */
export async function startChild({ env = {}, maxFiles }: ChildOptions = {}): Promise<ServiceChild> {
  const command = await taskCommand("start");
  const [program, ...args] = maxFiles === undefined
    ? command
    : ["sh", "-c", 'ulimit -n "$0" && exec "$@"', String(maxFiles), ...command];
  const child = new Deno.Command(program!, {
    args,
    cwd: root,
    env: {
      ...Object.fromEntries(SETTING_NAMES.map((name) => [name, ""])),
      HOST: "127.0.0.1",
      PORT: "0",
      KV_PATH: ":memory:",
      NO_COLOR: "1",
      ...env,
    },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let output = "";
  const listening = Promise.withResolvers<number>();
  const gather = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>) => {
    for await (const part of stream.pipeThrough(new TextDecoderStream())) {
      output += part;
      const port = /"event":"listening".*?"port":(\d+)/.exec(output)?.[1];
      if (port !== undefined) listening.resolve(Number(port));
    }
  };
  const read = Promise.all([gather(child.stdout), gather(child.stderr)]);
  const ended = Promise.all([child.status, read]).then(([status]) => status);
  const port = await Promise.race([listening.promise, ended]);
  if (typeof port !== "number") throw new Error(`Cannot start the service: ${output}`);
  return {
    port,
    origin: `http://127.0.0.1:${port}`,
    pid: child.pid,
    get output() {
      return output;
    },
    ended,
    async residentMb() {
      const { stdout } = await new Deno.Command("ps", {
        args: ["-o", "rss=", "-p", String(child.pid)],
      }).output();
      return Number(new TextDecoder().decode(stdout)) / 1024;
    },
    async [Symbol.asyncDispose]() {
      try {
        child.kill("SIGKILL");
      } catch (error) {
        // It has ended already.
        if (!(error instanceof TypeError)) throw error;
      }
      await ended;
    },
  };
}
