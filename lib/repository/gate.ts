// Bounds how much is asked of the source at once, how much may wait for it, and how long.

import pLimit from "p-limit";
import { serviceBusy } from "../errors.ts";

/** Settings of a {@linkcode Gate}. */
export interface GateOptions {
  /** Tasks at once. */
  readonly concurrency: number;
  /** Tasks that may wait. */
  readonly maxQueued: number;
  /** What has waited longer, behind a source that hangs, is not begun any more; 10,000 where absent. */
  readonly maxWaitMs?: number;
}

/** Runs tasks in the order of asking. */
export class Gate {
  private readonly limit;

  constructor(private readonly options: GateOptions) {
    this.limit = pLimit(options.concurrency);
  }

  /** How many tasks wait for their turn. */
  get queued(): number {
    return this.limit.pendingCount;
  }

  /**
   * Runs a task when its turn comes; one whose signal aborted meanwhile is not begun.
   * @throws {CollectionsError} service-busy when the queue is full, or when the turn came too late.
   */
  run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.limit.pendingCount >= this.options.maxQueued) {
      return Promise.reject(serviceBusy(1));
    }
    const askedAtMs = performance.now();
    return this.limit(() => {
      signal?.throwIfAborted();
      const { maxWaitMs = 10_000 } = this.options;
      if (performance.now() - askedAtMs > maxWaitMs) throw serviceBusy(1);
      return task();
    });
  }
}
