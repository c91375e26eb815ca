// Bounds the bytes of memory that concurrent work reserves, for large responses and for large upstream answers. Requests
// are granted in their order: a small one never overtakes a large one that waits.

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

/** A semaphore that counts bytes. */
export class ByteSemaphore {
  /** Bytes that are reserved now. */
  bytes = 0;
  private readonly waiters = new Set<{ bytes: number; admit: (granted: Reservation) => void }>();

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
   * Reserves bytes, first come first served; a request for more than the bound gets all of it.
   * @throws {CollectionsError} service-busy when too many wait or the wait takes too long; the signal's reason.
   */
  async acquire(wanted: number, signal?: AbortSignal): Promise<Reservation> {
    signal?.throwIfAborted();
    const { maxBytes, maxWaiting, maxWaitMs, clock } = this.options;
    const bytes = Math.min(wanted, maxBytes);
    if (this.waiters.size === 0 && this.fits(bytes)) return this.reserve(bytes);
    if (this.waiters.size >= maxWaiting) throw serviceBusy();
    const { promise, resolve: admit, reject } = Promise.withResolvers<Reservation>();
    const waiter = { bytes, admit };
    this.waiters.add(waiter);
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

  private fits(bytes: number): boolean {
    return this.bytes + bytes <= this.options.maxBytes;
  }

  private reserve(bytes: number): Reservation {
    const resize = (to: number) => {
      this.bytes += to - reservation.bytes;
      reservation.bytes = to;
      this.admitNext();
    };
    const reservation = { bytes, resize, release: () => resize(0) };
    this.bytes += bytes;
    return reservation;
  }

  private admitNext(): void {
    for (const waiter of this.waiters) {
      if (!this.fits(waiter.bytes)) return;
      this.waiters.delete(waiter);
      waiter.admit(this.reserve(waiter.bytes));
    }
  }
}
