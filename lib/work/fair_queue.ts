// Shares one limited resource fairly among clients by self-clocked fair
// queueing (Golestani, 1994). Each request gets a tag. The tag is the request's
// weight plus the later of now and the end of its client's last request. The
// smallest tag is served first. A client that has used little comes before one
// that has used much. A small request comes before a large one.

import { type Clock, orAborted } from "./clock.ts";
import { serviceBusy } from "../errors.ts";
import { RecentMap } from "./recent_map.ts";

/** A granted share of the resource. */
export interface Permit extends Disposable {
  /**
   * Changes the weight to what is really needed. An increase is granted at
   * once.
   */
  resize(weight: number): void;
  /**
   * Gives the whole share back. `cost` is how much of the resource was used. It
   * defaults to the weight.
   */
  release(cost?: number): void;
}

export interface FairQueueOptions {
  /** The maximum sum of weights that are granted at once. */
  capacity: number;
  /**
   * The maximum sum of weights for each client. One larger request is still
   * granted if the client has nothing else. The default is no limit.
   */
  maxPerClient?: number;
  /**
   * The maximum number of waiting requests. At most a quarter of them may
   * belong to one client.
   */
  maxWaiting: number;
  maxWaitMs: number;
  /**
   * While this returns true, both limits are half of what they are otherwise.
   * One larger request is still granted if nothing is in use.
   */
  isShort?: (() => boolean) | undefined;
  clock: Clock;
}

interface Client {
  used: number;
  /** The tag of the client's last request. */
  end: number;
}

interface Waiter {
  client: Client;
  weight: number;
  arrived: number;
  delay: number;
  admit: (permit: Permit) => void;
}

const MAX_CLIENTS = 10_000;

/** Grants shares of one resource. */
export class FairQueue {
  /** The sum of the weights that are granted now. */
  used = 0;
  /** The tag of the last request that was served. */
  private now = 0;
  private readonly waiters = new Set<Waiter>();
  private readonly clients = new RecentMap<Client>(MAX_CLIENTS, {
    memoMethod: () => ({ used: 0, end: 0 }),
  });

  constructor(private readonly options: FairQueueOptions) {}

  get waiting(): number {
    return this.waiters.size;
  }

  /** Whether another client waits for what this one holds. */
  isWantedFrom(name: string): boolean {
    if (this.waiters.size === 0) return false;
    const { share } = this;
    const own = this.clients.get(name);
    return this.waiters.values().some(({ client, weight }) =>
      client !== own && !this.isGreedy(client, weight, share)
    );
  }

  /**
   * Waits for a share. `delay` puts the request behind requests of other
   * clients until they have used that much. `onWait` is called if the request
   * has to wait.
   * @throws {CollectionsError} service-busy if too many requests wait or the
   * wait takes too long.
   * @throws the signal's reason if it aborts.
   */
  async acquire(
    { client: name, weight = 1, delay = 0, onWait, signal }: {
      client: string;
      weight?: number;
      delay?: number;
      onWait?: () => void;
      signal?: AbortSignal | undefined;
    },
  ): Promise<Permit> {
    signal?.throwIfAborted();
    const { capacity, maxWaiting, maxWaitMs, clock } = this.options;
    const { promise, resolve: admit, reject } = Promise.withResolvers<Permit>();
    const client = this.clients.memo(name);
    const request = { client, weight: Math.min(weight, capacity) };
    const waiter = { ...request, arrived: this.now, delay, admit };
    this.waiters.add(waiter);
    this.admitNext();
    if (!this.waiters.has(waiter)) return promise;
    onWait?.();
    let own = 0;
    for (const other of this.waiters) if (other.client === client) own++;
    if (this.waiters.size > maxWaiting || own > maxWaiting / 4) {
      this.waiters.delete(waiter);
      throw serviceBusy("Cannot wait: the queue is full");
    }
    const cancelTimer = clock.setTimer(maxWaitMs, () => {
      if (this.waiters.delete(waiter)) {
        reject(serviceBusy(`Cannot wait any longer than ${maxWaitMs} ms`));
      }
    });
    try {
      return await orAborted(promise, signal);
    } catch (error) {
      this.waiters.delete(waiter);
      // A share that was granted at the same moment goes to the next request.
      promise.then((permit) => permit.release(0), () => {});
      this.admitNext();
      throw error;
    } finally {
      cancelTimer();
    }
  }

  /**
   * Returns a share for something that is already in use. It may exceed the
   * capacity.
   * @throws {CollectionsError} service-busy if the client has reached its
   * limit.
   */
  take(name: string, weight: number): Permit {
    const client = this.clients.memo(name);
    if (this.isGreedy(client, weight, this.share)) {
      throw serviceBusy("Cannot take more: the client has its share");
    }
    return this.grant(client, weight, Math.max(this.now, client.end) + weight);
  }

  /**
   * Grants what fits. A queue calls it after each change. Call it from time to
   * time for a queue with `isShort`, which may change by itself.
   */
  admitNext() {
    if (this.waiters.size === 0) return;
    const { share } = this;
    const capacity = this.options.capacity * share;
    while (this.used < capacity) {
      let first: Waiter | null = null;
      let [tag, turn] = [0, Infinity];
      for (const waiter of this.waiters) {
        const { client, weight, arrived, delay } = waiter;
        // The client may have used more since the request arrived.
        const own = Math.max(arrived, client.end) + weight;
        if (own + delay >= turn || this.isGreedy(client, weight, share)) {
          continue;
        }
        [first, tag, turn] = [waiter, own, own + delay];
      }
      // A large request waits for room. Small requests never overtake it
      // forever.
      if (first === null) return;
      if (this.used > 0 && this.used + first.weight > capacity) return;
      this.waiters.delete(first);
      this.now = Math.max(this.now, tag);
      first.admit(this.grant(first.client, first.weight, tag));
    }
  }

  private isGreedy({ used }: Client, weight: number, share: number): boolean {
    const { maxPerClient = Infinity } = this.options;
    return used > 0 && used + weight > maxPerClient * share;
  }

  /** The part of both limits that is granted now. To tell takes some time. */
  private get share(): number {
    return this.options.isShort?.() ? 1 / 2 : 1;
  }

  private grant(client: Client, weight: number, tag: number): Permit {
    let held = weight;
    this.used += weight;
    client.used += weight;
    // Counted at once so that waiting requests of one client take turns with
    // requests of others.
    client.end = tag;
    const resize = (to: number) => {
      this.used += to - held;
      client.used += to - held;
      held = to;
      this.admitNext();
    };
    const release = (cost = weight) => {
      client.end += cost - weight;
      resize(0);
    };
    return { resize, release, [Symbol.dispose]: () => release() };
  }
}
