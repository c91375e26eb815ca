// Bounds how much is asked of the source at once, and how much may wait for it.

import pLimit from "p-limit";
import { serviceBusy } from "../errors.ts";

/** Runs at most `concurrency` tasks at once and lets at most `maxQueued` wait. */
export class Gate {
  private readonly limit;

  constructor(private readonly options: { concurrency: number; maxQueued: number }) {
    this.limit = pLimit(options.concurrency);
  }

  /** How many tasks wait for their turn. */
  get queued(): number {
    return this.limit.pendingCount;
  }

  /**
   * Runs a task when its turn comes; one whose signal aborted meanwhile is not begun.
   * @throws {CollectionsError} service-busy when the queue is full.
   */
  run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.limit.pendingCount >= this.options.maxQueued) {
      return Promise.reject(serviceBusy(1));
    }
    return this.limit(() => {
      signal?.throwIfAborted();
      return task();
    });
  }
}
