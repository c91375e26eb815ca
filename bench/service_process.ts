// The service as a process of its own, started with the command of the `start` task: same entry, same permissions. It
// sees no setting of the environment that the bench runs in, and its key-value store is a file of its own.

import { join } from "@std/path";
import { SETTING_NAMES } from "../lib/settings.ts";
import { taskCommand } from "../tests/run_task.ts";
import { freePort, pause, projectRoot, type RunningProcess, startProcess } from "./processes.ts";

/** A service that answers. */
export interface RunningService extends AsyncDisposable {
  readonly origin: string;
  readonly port: number;
  readonly pid: number;
}

/** How a service is started. */
export interface ServiceOptions {
  /** Settings; those not named are unset, but for HOST, PORT and KV_PATH. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where its log goes; dropped without one. */
  readonly logFile?: string;
  /** Gives the program and its arguments in place of the `start` task's. */
  readonly command?: (port: number) => Promise<readonly [string, ...string[]]>;
}

const START_WITHIN_MS = 20_000;

/** Starts a service and waits until it answers. @throws {Error} where it ends before that. */
export async function startService(options: ServiceOptions = {}): Promise<RunningService> {
  const service = await launchService(options);
  try {
    await waitForAnswer(service);
    return service;
  } catch (error) {
    await service[Symbol.asyncDispose]();
    throw error;
  }
}

/** Starts a service and does not wait. */
export async function launchService(
  { env = {}, logFile, command }: ServiceOptions = {},
): Promise<RunningService & { readonly process: RunningProcess }> {
  const port = freePort();
  const folder = join("data", `bench-${crypto.randomUUID()}`);
  const process = startProcess(await (command?.(port) ?? taskCommand("start")), {
    env: {
      ...Object.fromEntries(SETTING_NAMES.map((name) => [name, ""])),
      HOST: "127.0.0.1",
      PORT: String(port),
      KV_PATH: `./${folder}/kv`,
      ...env,
    },
    stdoutFile: logFile ?? "/dev/null",
  });
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    pid: process.pid,
    process,
    async [Symbol.asyncDispose]() {
      await process[Symbol.asyncDispose]();
      await Deno.remove(join(projectRoot, folder), { recursive: true }).catch(() => {});
    },
  };
}

async function waitForAnswer(
  { origin, process }: { origin: string; process: RunningProcess },
): Promise<void> {
  const url = `${origin}/api/health`;
  const ended = process.ended.then(({ code }) => {
    throw new Error(`Cannot start "${origin}": it ended with ${code}`);
  });
  const until = performance.now() + START_WITHIN_MS;
  while (performance.now() < until) {
    const answered = fetch(url).then(async (response) => {
      await response.body?.cancel();
      return response.ok;
    }, () => false);
    if (await Promise.race([answered, ended])) return;
    await pause(20);
  }
  throw new Error(`Cannot start "${origin}": no answer within ${START_WITHIN_MS} ms`);
}
