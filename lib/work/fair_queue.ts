// One bounded resource, shared fairly among clients by start-time fair queueing (Goyal, Vin and Cheng, 1996): each request
// gets a start tag, the later of now and the end of its client's last request, and the least tag is served first. A client
// that has used much comes after one that has not.

import { LRUCache } from "lru-cache";
import { type Clock, orAborted } from "../clock.ts";
import { serviceBusy } from "../errors.ts";

/** A granted share. */
export interface Permit {
  /** Gives the share back; `cost` is what was used of the resource, its weight unless it is known only now. */
  release(cost?: number): void;
}

export interface FairQueueOptions {
  /** The sum of the weights that are granted at once. */
  readonly capacity: number;
  /** How many requests may wait, of all clients and of one. */
  readonly maxWaiting: number;
  readonly maxWaitingPerClient: number;
  readonly maxWaitMs: number;
  readonly clock: Clock;
}

interface Waiter {
  readonly client: string;
  readonly weight: number;
  readonly tag: number;
  readonly delay: number;
  readonly admit: (permit: Permit) => void;
}

const MAX_CLIENTS = 10_000;

/** Grants shares of one resource. */
export class FairQueue {
  private used = 0;
  /** The start tag of the last request that was served. */
  private now = 0;
  private readonly waiters = new Set<Waiter>();
  /** The tag at which each client's last request ends. */
  private readonly ends = new LRUCache<string, number>({ max: MAX_CLIENTS });

  constructor(private readonly options: FairQueueOptions) {}

  get waiting(): number {
    return this.waiters.size;
  }

  /**
   * Waits for a share. `delay` puts the request behind those that other clients send until they have used that much.
   * @throws {CollectionsError} service-busy where too many wait or the wait takes too long; the signal's reason.
   */
  async acquire(
    { client, weight = 1, delay = 0, signal }: {
      readonly client: string;
      readonly weight?: number;
      readonly delay?: number;
      readonly signal?: AbortSignal | undefined;
    },
  ): Promise<Permit> {
    signal?.throwIfAborted();
    const { capacity, maxWaiting, maxWaitingPerClient, maxWaitMs, clock } = this.options;
    const { promise, resolve, reject } = Promise.withResolvers<Permit>();
    const waiter = {
      ...{ client, delay, weight: Math.min(weight, capacity) },
      ...{ tag: this.now, admit: resolve },
    };
    this.waiters.add(waiter);
    this.admitNext();
    if (!this.waiters.has(waiter)) return promise;
    const own = [...this.waiters].filter((other) => other.client === client).length;
    if (this.waiters.size > maxWaiting || own > maxWaitingPerClient) {
      this.waiters.delete(waiter);
      throw serviceBusy();
    }
    const cancelTimer = clock.setTimer(maxWaitMs, () => reject(serviceBusy()));
    try {
      return await orAborted(promise, signal);
    } catch (error) {
      // A share that was granted in the same moment goes to the next request.
      if (!this.waiters.delete(waiter)) promise.then((permit) => permit.release(0), () => {});
      this.admitNext();
      throw error;
    } finally {
      cancelTimer();
    }
  }

  private admitNext(): void {
    for (;;) {
      const next = this.first();
      // What does not fit is waited for, so that small requests never overtake it for good.
      if (next === null || this.used + next.weight > this.options.capacity) return;
      this.waiters.delete(next);
      this.now = Math.max(this.now, this.tagOf(next));
      next.admit(this.grant(next));
    }
  }

  private first(): Waiter | null {
    let first: Waiter | null = null;
    let earliest = Infinity;
    for (const waiter of this.waiters) {
      const turn = this.tagOf(waiter) + waiter.delay;
      if (turn < earliest) [first, earliest] = [waiter, turn];
    }
    return first;
  }

  /** The start tag; its client may have used more since the request came. */
  private tagOf({ client, tag }: Waiter): number {
    return Math.max(tag, this.ends.get(client) ?? 0);
  }

  private grant({ client, weight }: Waiter): Permit {
    this.used += weight;
    const count = (cost: number) =>
      this.ends.set(client, Math.max(this.now, this.ends.get(client) ?? 0) + cost);
    // Counted at once, so that requests of one client that wait together take turns with others.
    count(weight);
    let isReleased = false;
    return {
      release: (cost = weight) => {
        if (isReleased) return;
        isReleased = true;
        this.used -= weight;
        count(cost - weight);
        this.admitNext();
      },
    };
  }
}
