// Bounds how many requests to a source run at once, how many wait, and for how long. Waiting requests of different
// clients start in turn, so one client's many requests do not delay another client's few.

import { type Clock, orAborted } from "../clock.ts";
import { serviceBusy } from "../errors.ts";

/** Limits concurrent requests, fairly among clients. */
export class RequestQueue {
  private running = 0;
  private queued = 0;
  /** The functions that start waiting requests, by client. The first client of the map is next. */
  private readonly waiting = new Map<string, Set<() => void>>();

  constructor(
    private readonly options: {
      readonly concurrency: number;
      /** Requests that may wait, of all clients and of one. */
      readonly maxQueued: number;
      readonly maxQueuedPerClient: number;
      readonly maxWaitMs: number;
      readonly clock: Clock;
    },
  ) {}

  /**
   * Runs a task as soon as the bounds allow.
   * @throws {CollectionsError} service-busy when the queue is full or the wait too long; the signal's reason, at once,
   * when that aborts before the task starts.
   */
  async run<T>(
    task: () => Promise<T>,
    { client, signal }: { client: string; signal?: AbortSignal | undefined },
  ): Promise<T> {
    signal?.throwIfAborted();
    if (this.running < this.options.concurrency) this.running++;
    else await this.wait(client, signal);
    try {
      return await task();
    } finally {
      this.startNext();
    }
  }

  private async wait(client: string, signal: AbortSignal | undefined): Promise<void> {
    const { clock, maxQueued, maxQueuedPerClient, maxWaitMs } = this.options;
    const own = this.waiting.get(client) ?? new Set();
    if (this.queued >= maxQueued || own.size >= maxQueuedPerClient) throw serviceBusy(1);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const cancelTimer = clock.setTimer(maxWaitMs, () => reject(serviceBusy(1)));
    this.waiting.set(client, own.add(resolve));
    this.queued++;
    try {
      await orAborted(promise, signal);
    } catch (error) {
      // A slot that was assigned in the same moment goes to the next request.
      if (!this.remove(client, resolve)) this.startNext();
      throw error;
    } finally {
      cancelTimer();
    }
  }

  /** Gives the slot that became free to the next client's oldest request. */
  private startNext(): void {
    const [next] = this.waiting;
    if (next === undefined) return void this.running--;
    const [client, own] = next;
    const [start] = own;
    this.remove(client, start!);
    // The client goes to the end of the map, so that the others are served first.
    if (this.waiting.delete(client)) this.waiting.set(client, own);
    start!();
  }

  /** Whether the request still waited. */
  private remove(client: string, start: () => void): boolean {
    const own = this.waiting.get(client);
    if (!own?.delete(start)) return false;
    this.queued--;
    if (own.size === 0) this.waiting.delete(client);
    return true;
  }
}
