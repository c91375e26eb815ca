// Starts serve_double.ts as a process and ends it. For tests and benches that must not share a process with the double.

import type { DoubleConfig } from "./serve_double.ts";
import { configFlag } from "../run_task.ts";

/** A double in a process of its own. */
export interface RunningDouble extends AsyncDisposable {
  apiUrl: string;
  rawUrl: string;
  graphqlUrl: string;
  webUrl: string;
  controlUrl: string;
  /** Calls a function of the double; see serve_double.ts for the calls. @throws {Error} with the double's own message. */
  call(name: string, ...args: unknown[]): Promise<unknown>;
}

const PERMISSIONS = ["--allow-net=127.0.0.1", "--allow-run=git", "--allow-read", "--allow-write"];

/** Starts a double and waits until it serves. @throws {Error} if it ends before that. */
export async function startDouble(config: DoubleConfig): Promise<RunningDouble> {
  const entry = new URL("./serve_double.ts", import.meta.url).href;
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", await configFlag(), ...PERMISSIONS, "--allow-env=PATH"],
      ...[entry, JSON.stringify(config)],
    ],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let line = "";
  while (!line.includes("\n")) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`Cannot start "${entry}": status ${(await child.status).code}`);
    line += value;
  }
  const urls = JSON.parse(line);
  return {
    ...urls,
    async call(call: string, ...args: unknown[]) {
      const body = JSON.stringify({ call, args });
      const response = await fetch(urls.controlUrl, { method: "POST", body });
      const { result, error } = await response.json();
      if (!response.ok) throw new Error(`Cannot call "${call}": ${error}`);
      return result;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await reader.cancel();
      await child.status;
    },
  };
}
