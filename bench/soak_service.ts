// The soak's service: one process after the other on the same key-value store. It is killed on purpose; any other end of
// it is a crash. Its heap is read over V8's inspector.

import { join } from "@std/path";
import { freePort, memoryOf, pause, projectRoot } from "./processes.ts";
import { type RunningService, startService } from "./service_process.ts";

/** A service that is killed and comes back. */
export class SoakService implements AsyncDisposable {
  kills = 0;
  /** When the current process was started, in ms since the epoch. */
  startedMs = 0;
  /** Exit codes of the processes that ended by themselves. */
  readonly crashes: number[] = [];
  private readonly folder = join("data", `soak-${crypto.randomUUID()}`);
  private readonly inspectorPort = freePort();
  private service: RunningService | null = null;
  private up = Promise.withResolvers<RunningService>();
  private lastDownMs = 0;
  private isEnding = false;

  constructor(private readonly env: Readonly<Record<string, string>>) {}

  /** Starts it on the store of the process before. @throws {Error} where it does not answer. */
  async start(): Promise<void> {
    this.startedMs = Date.now();
    const service = await startService({
      env: { ...this.env, KV_PATH: `./${this.folder}/kv` },
      flags: `--inspect=127.0.0.1:${this.inspectorPort}`,
    });
    this.service = service;
    service.process.ended.then(({ code }) => this.ended(service, code));
    this.up.resolve(service);
  }

  /** Ends the process as a lost machine would, and starts the next one. */
  async killAndRestart(): Promise<void> {
    const service = await this.whenUp();
    this.kills++;
    this.down();
    Deno.kill(service.pid, "SIGKILL");
    await service.process.ended;
    await service[Symbol.asyncDispose]();
    await this.start();
  }

  /** The process that answers, as soon as there is one. */
  whenUp(): Promise<RunningService> {
    return this.up.promise;
  }

  /** Whether it was away at some time since then. */
  wasDownSince(fromMs: number): boolean {
    return this.service === null || this.lastDownMs >= fromMs;
  }

  /** Resident memory, in bytes. */
  async rss(): Promise<number> {
    return (await memoryOf((await this.whenUp()).pid)).nowMb * 2 ** 20;
  }

  /** The heap after a forced collection, in bytes. */
  async heapAfterCollection(): Promise<number> {
    await this.whenUp();
    const targets = await (await fetch(`http://127.0.0.1:${this.inspectorPort}/json`)).json();
    const socket = new WebSocket(targets[0].webSocketDebuggerUrl);
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = reject;
    });
    const call = (id: number, method: string) =>
      new Promise<{ usedSize: number }>((resolve) => {
        socket.addEventListener("message", ({ data }) => {
          const message = JSON.parse(data);
          if (message.id === id) resolve(message.result);
        });
        socket.send(JSON.stringify({ id, method }));
      });
    await call(1, "HeapProfiler.collectGarbage");
    const { usedSize } = await call(2, "Runtime.getHeapUsage");
    socket.close();
    return usedSize;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isEnding = true;
    await this.service?.[Symbol.asyncDispose]();
    await Deno.remove(join(projectRoot, this.folder), { recursive: true }).catch(() => {});
  }

  private down(): void {
    this.service = null;
    this.lastDownMs = Date.now();
    this.up = Promise.withResolvers();
    this.up.promise.catch(() => {});
  }

  private async ended(service: RunningService, code: number): Promise<void> {
    if (this.service !== service || this.isEnding) return;
    this.crashes.push(code);
    this.down();
    await pause(200);
    await this.start().catch((error) => this.up.reject(error));
  }
}
