// Runs the tasks of deno.json, each as a process of its own, and reports how
// they ended. The settings of the surrounding environment are left out.

import { join } from "@std/path";
import { configName } from "../jsr/config.ts";
import { SETTING_NAMES } from "../lib/settings.ts";
import { root } from "./source_files.ts";

/** How a task is run. */
export interface TaskOptions {
  readonly args?: readonly string[];
  /** Settings; by default a free port, and a store in memory. */
  readonly env?: Readonly<Record<string, string>>;
  /** File descriptors that the process may have, connections among them. */
  readonly maxFiles?: number;
  /** From when it listens, its output is not read until this resolves. */
  readonly unread?: Promise<void>;
}

/**
 * Runs a task to its end. `stderr` is without the line by which `deno task`
 * names the task.
 */
export async function runTask(name: string, options: TaskOptions = {}) {
  const { code, stdout, stderr } = await command(name, options).output();
  const decoder = new TextDecoder();
  return {
    code,
    stdout: decoder.decode(stdout),
    stderr: decoder.decode(stderr),
  };
}

/**
 * Runs a task and waits until it listens. @throws {Error} with what it wrote,
 * if it ends before that.
 */
export async function serveTask(name: string, options: TaskOptions = {}) {
  const child = command(name, options).spawn();
  const { promise: listening, resolve } = Promise.withResolvers<
    { host: string; port: number }
  >();
  const events: string[] = [];
  const readOutput = async () => {
    let [text, seen] = ["", 0];
    for await (
      const part of child.stdout.pipeThrough(new TextDecoderStream())
    ) {
      text += part;
      for (
        let end = text.indexOf("\n", seen);
        end >= 0;
        end = text.indexOf("\n", seen)
      ) {
        const { event, ...fields } = JSON.parse(text.slice(seen, end));
        events.push(event);
        if (event === "listening") resolve(fields);
        seen = end + 1;
      }
      if (events.includes("listening")) await options.unread;
    }
    return text;
  };
  const ended = Promise.all([
    child.status,
    readOutput(),
    new Response(child.stderr).text(),
  ])
    .then(([{ code }, stdout, stderr]) => ({ code, stdout, stderr }));
  const first = await Promise.race([listening, ended]);
  if ("code" in first) {
    throw new Error(`Cannot run "${name}": ${first.stderr || first.stdout}`);
  }
  const { host, port } = first;
  return {
    // The address as seen from this machine.
    ...{ host, port, url: `http://127.0.0.1:${port}`, ended },
    /**
     * Resolves when its log has had an event so many times. @throws {Error}
     * where it ends before that.
     */
    async logged(event: string, times: number) {
      let hasEnded = false;
      void ended.then(() => hasEnded = true);
      while (events.filter((other) => other === event).length < times) {
        if (hasEnded) throw new Error(`Cannot wait for "${event}": it ended`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    pid: child.pid,
    signal: (name: Deno.Signal) => child.kill(name),
    async [Symbol.asyncDispose]() {
      try {
        child.kill("SIGTERM");
      } catch (error) {
        // It has ended already.
        if (!(error instanceof TypeError)) throw error;
      }
      await ended;
    },
  };
}

/**
 * What a process of its own that imports packages is given, so that it finds
 * those that this one has.
 */
export async function configFlag(): Promise<string> {
  return `--config=${join(root, await configName("dev"))}`;
}

function command(
  name: string,
  { args = [], env = {}, maxFiles }: TaskOptions,
): Deno.Command {
  const unset = Object.fromEntries(
    SETTING_NAMES.map((setting) => [setting, ""]),
  );
  const task = [Deno.execPath(), "task", "--quiet", name, ...args];
  const [program, ...rest] = maxFiles === undefined
    ? task
    : ["sh", "-c", 'ulimit -n "$0" && exec "$@"', String(maxFiles), ...task];
  return new Deno.Command(program!, {
    args: rest,
    cwd: root,
    env: { ...unset, PORT: "0", KV_PATH: ":memory:", NO_COLOR: "1", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}
