// The soak's service: one process after the other on the same key-value store. It is killed on purpose; any other end
// of it is a crash.

import { join } from "@std/path";
import { freePort, pause, projectRoot } from "./processes.ts";
import type { Memory } from "./soak_server.ts";
import { taskCommand } from "../tests/run_task.ts";
import { launchService } from "./service_process.ts";

const START_WITHIN_MS = 20_000;
const RESTART_AFTER_MS = 200;

type Launched = Awaited<ReturnType<typeof launchService>>;

/** A service that is killed and comes back. */
export class SoakService implements AsyncDisposable {
  origin = "";
  kills = 0;
  /** When the process of now was started, in ms since the epoch. */
  startedMs = 0;
  /** Exit codes of the processes that ended by themselves. */
  readonly crashes: number[] = [];
  private readonly folder = join("data", `soak-${crypto.randomUUID()}`);
  private process: Launched | null = null;
  private memoryOrigin = "";
  private up = Promise.withResolvers<void>();
  private isUp = false;
  private lastDownMs = 0;
  private isEnding = false;

  constructor(private readonly env: Readonly<Record<string, string>>) {}

  /** Starts it, with what the process before kept. @throws {Error} where it does not answer. */
  async start(): Promise<void> {
    const memoryPort = freePort();
    this.startedMs = Date.now();
    const process = this.process = await launchService({
      env: { ...this.env, KV_PATH: `./${this.folder}/kv` },
      command: async () => {
        const [deno, ...args] = await taskCommand("start");
        const permissions = args.filter((arg) => arg !== "main.ts");
        const own = ["--v8-flags=--expose-gc", "bench/soak_server.ts", `${memoryPort}`];
        return [deno, ...permissions, ...own];
      },
    });
    process.process.ended.then(({ code }) => this.ended(process, code));
    this.memoryOrigin = `http://127.0.0.1:${memoryPort}`;
    const until = performance.now() + START_WITHIN_MS;
    while (!await answers(`${process.origin}/api/health`)) {
      if (performance.now() > until) throw new Error(`Cannot start "${process.origin}": no answer`);
      await pause(20);
    }
    this.origin = process.origin;
    this.isUp = true;
    this.up.resolve();
  }

  /** Ends the process as a lost machine would, and starts the next one. */
  async killAndRestart(): Promise<void> {
    await this.whenUp();
    const process = this.process!;
    this.kills++;
    this.process = null;
    this.down();
    Deno.kill(process.pid, "SIGKILL");
    await process.process.ended;
    await process[Symbol.asyncDispose]();
    await pause(RESTART_AFTER_MS);
    await this.start();
  }

  /** Resolves when there is a process that answers. */
  whenUp(): Promise<void> {
    return this.up.promise;
  }

  /** Whether it was away at some time since then. */
  wasDownSince(fromMs: number): boolean {
    return !this.isUp || this.lastDownMs >= fromMs;
  }

  /** What the process takes now, after a garbage collection where `collected`. */
  async memory({ collected = false } = {}): Promise<Memory> {
    for (;;) {
      await this.whenUp();
      const crashes = this.crashes.length;
      try {
        const response = await fetch(`${this.memoryOrigin}/${collected ? "collected" : ""}`);
        return await response.json();
      } catch (error) {
        await pause(RESTART_AFTER_MS);
        if (this.crashes.length === crashes) throw error;
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isEnding = true;
    await this.process?.[Symbol.asyncDispose]();
    await Deno.remove(join(projectRoot, this.folder), { recursive: true }).catch(() => {});
  }

  private down(): void {
    this.isUp = false;
    this.lastDownMs = Date.now();
    this.up = Promise.withResolvers();
    this.up.promise.catch(() => {});
  }

  private async ended(process: Launched, code: number): Promise<void> {
    if (this.process !== process || this.isEnding) return;
    this.crashes.push(code);
    this.down();
    this.process = null;
    await process[Symbol.asyncDispose]();
    // Who waits for it must not wait for ever.
    await this.start().catch((error) => this.up.reject(error));
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url);
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
