// Bounds the bytes of memory that concurrent work reserves. Used for large responses and for large upstream answers.
// Reservations are granted in the order of requests: a small one never overtakes a large one that waits.

import { type Clock, systemClock } from "./clock.ts";
import { serviceBusy } from "./errors.ts";

const RETRY_AFTER_SECONDS = 5;

/** A reserved part of the bound. */
export interface Reservation {
  readonly bytes: number;
  /** Adds bytes without waiting, for memory that is already allocated. */
  grow(bytes: number): void;
  /** Releases all but `bytes`, or grows to them. */
  resize(bytes: number): void;
  /** Releases everything; calling it again does nothing. */
  release(): void;
}

interface Waiter {
  readonly bytes: number;
  readonly admit: (reservation: Reservation) => void;
}

/** A semaphore that counts bytes. */
export class ByteSemaphore {
  /** Bytes that are reserved now. */
  bytes = 0;
  private readonly waiters: Waiter[] = [];

  constructor(
    private readonly options: {
      readonly maxBytes: number;
      /** How many requests may wait. */
      readonly maxWaiting: number;
      readonly maxWaitMs: number;
      readonly clock?: Clock;
    },
  ) {}

  /** How many requests wait now. */
  get waiting(): number {
    return this.waiters.length;
  }

  /**
   * Reserves bytes, first come first served; a request for more than the bound gets all of it.
   * @throws {CollectionsError} service-busy when too many wait or the wait takes too long; the signal's reason.
   */
  async acquire(bytes: number, signal?: AbortSignal): Promise<Reservation> {
    signal?.throwIfAborted();
    const { maxBytes, maxWaiting, maxWaitMs, clock = systemClock } = this.options;
    const wanted = Math.min(bytes, maxBytes);
    if (this.waiting === 0 && this.fits(wanted)) return this.reserve(wanted);
    if (this.waiting >= maxWaiting) throw serviceBusy(RETRY_AFTER_SECONDS);
    const { promise, resolve: admit, reject } = Promise.withResolvers<Reservation>();
    const waiter: Waiter = { bytes: wanted, admit };
    const leave = (reason: unknown) => {
      const at = this.waiters.indexOf(waiter);
      if (at < 0) return; // Admitted already; the caller gets the reservation and releases it.
      this.waiters.splice(at, 1);
      reject(reason);
      this.admitNext();
    };
    const abort = () => leave(signal?.reason);
    this.waiters.push(waiter);
    const cancelTimer = clock.setTimer(maxWaitMs, () => leave(serviceBusy(RETRY_AFTER_SECONDS)));
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
    const grow = (more: number) => {
      reservation.bytes += more;
      this.bytes += more;
    };
    const resize = (to: number) => {
      grow(to - reservation.bytes);
      this.admitNext();
    };
    const reservation = { bytes: 0, grow, resize, release: () => resize(0) };
    grow(bytes);
    return reservation;
  }

  private admitNext(): void {
    for (let next = this.waiters[0]; next && this.fits(next.bytes); next = this.waiters[0]) {
      this.waiters.shift();
      next.admit(this.reserve(next.bytes));
    }
  }
}
