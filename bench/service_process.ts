// The service as a process of its own, started with the command of the `start` task: same entry, same permissions. It
// gets no setting of the bench's environment, and its key-value store is a file of its own.

import { dirname, join } from "@std/path";
import { SETTING_NAMES } from "../lib/settings.ts";
import { freePort, pause, projectRoot, type RunningProcess, startProcess } from "./processes.ts";

/** A service process. */
export interface RunningService extends AsyncDisposable {
  readonly origin: string;
  readonly port: number;
  readonly pid: number;
  readonly process: RunningProcess;
}

/** How a service is started. */
export interface ServiceOptions {
  /** Settings; those not named are unset, except HOST, PORT and KV_PATH. */
  readonly env?: Readonly<Record<string, string>>;
  /** The file of its log; the log is dropped without one. */
  readonly logFile?: string;
  readonly core?: number;
  /** Flags for Deno in front of the entry point, as `--inspect=…`. */
  readonly flags?: string;
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
  { env = {}, logFile, core, flags = "" }: ServiceOptions = {},
): Promise<RunningService> {
  const port = freePort();
  const folder = join("data", `bench-${crypto.randomUUID()}`);
  const { tasks } = JSON.parse(await Deno.readTextFile(join(projectRoot, "deno.json")));
  const command = String(tasks.start).replace(/ main\.ts\b/, ` ${flags} main.ts`);
  const process = startProcess(["sh", "-c", `exec ${command}`], {
    env: {
      ...Object.fromEntries(SETTING_NAMES.map((name) => [name, ""])),
      PATH: `${dirname(Deno.execPath())}:${Deno.env.get("PATH")}`,
      HOST: "127.0.0.1",
      PORT: String(port),
      KV_PATH: `./${folder}/kv`,
      ...env,
    },
    stdoutFile: logFile ?? "/dev/null",
    ...(core === undefined ? {} : { core }),
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

async function waitForAnswer({ origin, process }: RunningService): Promise<void> {
  const ended = process.ended.then(({ code }) => {
    throw new Error(`Cannot start "${origin}": it ended with ${code}`);
  });
  const until = performance.now() + START_WITHIN_MS;
  while (performance.now() < until) {
    const answered = fetch(`${origin}/api/health`).then(async (response) => {
      await response.body?.cancel();
      return response.ok;
    }, () => false);
    if (await Promise.race([answered, ended])) return;
    await pause(20);
  }
  throw new Error(`Cannot start "${origin}": no answer within ${START_WITHIN_MS} ms`);
}
