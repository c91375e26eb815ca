// Bounds the bytes of memory that concurrent work reserves, for large responses and for large upstream answers. Requests
// are granted in their order, so that a small one never overtakes a large one that waits. Only those of a client that has
// its share are passed over: a client that reads slowly must not take all memory.

import type { Clock } from "./clock.ts";
import { serviceBusy } from "./errors.ts";

/** A reserved part of the bound. */
export interface Reservation {
  readonly bytes: number;
  /** Changes the number of bytes. More of them are granted at once, for memory that is already allocated. */
  resize(bytes: number): void;
  /** Releases everything; calling it again does nothing. */
  release(): void;
}

/** Of the bytes, what one client may have beyond its first reservation; and of the places in the queue. */
const CLIENT_SHARE = { bytes: 1 / 2, waiting: 1 / 4 };

interface Waiter {
  readonly client: string | undefined;
  readonly bytes: number;
  readonly admit: (granted: Reservation) => void;
}

/** A semaphore that counts bytes. */
export class ByteSemaphore {
  /** Bytes that are reserved now. */
  bytes = 0;
  private readonly waiters = new Set<Waiter>();
  private readonly bytesOf = new Map<string, number>();

  constructor(
    private readonly options: {
      readonly maxBytes: number;
      /** How many requests may wait. */
      readonly maxWaiting: number;
      readonly maxWaitMs: number;
      readonly clock: Clock;
    },
  ) {}

  /**
   * Reserves bytes by the rule above; a request for more than the bound gets all of it. Without a client no share applies.
   * @throws {CollectionsError} service-busy when too many wait or the wait takes too long; the signal's reason.
   */
  async acquire(
    wanted: number,
    { client, signal }: { client?: string; signal?: AbortSignal } = {},
  ): Promise<Reservation> {
    signal?.throwIfAborted();
    const { maxBytes, maxWaiting, maxWaitMs, clock } = this.options;
    const bytes = Math.min(wanted, maxBytes);
    const { promise, resolve: admit, reject } = Promise.withResolvers<Reservation>();
    const waiter = { client, bytes, admit };
    this.waiters.add(waiter);
    this.admitNext();
    if (!this.waiters.has(waiter)) return promise;
    const own = [...this.waiters].filter((other) => other.client === client).length;
    const isGreedy = client !== undefined && own > maxWaiting * CLIENT_SHARE.waiting;
    if (this.waiters.size > maxWaiting || isGreedy) {
      this.waiters.delete(waiter);
      throw serviceBusy();
    }
    const leave = (reason: unknown) => {
      this.waiters.delete(waiter);
      // Does nothing for one that was admitted already: it gets its reservation, and releases it.
      reject(reason);
      this.admitNext();
    };
    const abort = () => leave(signal?.reason);
    const cancelTimer = clock.setTimer(maxWaitMs, () => leave(serviceBusy()));
    signal?.addEventListener("abort", abort, { once: true });
    try {
      return await promise;
    } finally {
      cancelTimer();
      signal?.removeEventListener("abort", abort);
    }
  }

  private admitNext(): void {
    const { maxBytes } = this.options;
    for (const waiter of this.waiters) {
      const { client, bytes } = waiter;
      const own = client === undefined ? 0 : this.bytesOf.get(client) ?? 0;
      if (own > 0 && own + bytes > maxBytes * CLIENT_SHARE.bytes) continue;
      if (this.bytes + bytes > maxBytes) return;
      this.waiters.delete(waiter);
      waiter.admit(this.reserve(waiter));
    }
  }

  private reserve({ client, bytes }: Waiter): Reservation {
    const reservation = {
      bytes: 0,
      resize: (to: number) => {
        this.count(client, to - reservation.bytes);
        reservation.bytes = to;
        this.admitNext();
      },
      release: () => reservation.resize(0),
    };
    this.count(client, bytes);
    reservation.bytes = bytes;
    return reservation;
  }

  private count(client: string | undefined, added: number): void {
    this.bytes += added;
    if (client === undefined) return;
    const own = (this.bytesOf.get(client) ?? 0) + added;
    if (own > 0) this.bytesOf.set(client, own);
    else this.bytesOf.delete(client);
  }
}
