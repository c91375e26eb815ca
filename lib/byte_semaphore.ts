// Bounds the bytes of memory that concurrent work reserves. Used for large responses and for large upstream answers.
// Reservations are granted in the order of requests: a small one never overtakes a large one that waits.

import { type Clock, systemClock } from "./clock.ts";
import { type CollectionsError, serviceBusy } from "./errors.ts";

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

/** Settings of a {@linkcode ByteSemaphore}. */
export interface ByteSemaphoreOptions {
  readonly maxBytes: number;
  /** How many requests may wait. */
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
  readonly clock?: Clock;
}

interface Waiter {
  readonly bytes: number;
  readonly admit: (reservation: Reservation) => void;
}

/** A semaphore that counts bytes. */
export class ByteSemaphore {
  private reserved = 0;
  private readonly waiters: Waiter[] = [];
  private readonly clock: Clock;

  constructor(private readonly options: ByteSemaphoreOptions) {
    this.clock = options.clock ?? systemClock;
  }

  /** Bytes that are reserved now. */
  get bytes(): number {
    return this.reserved;
  }

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
    const wanted = Math.min(bytes, this.options.maxBytes);
    if (this.waiters.length === 0 && this.fits(wanted)) return this.reserve(wanted);
    if (this.waiters.length >= this.options.maxWaiting) throw busy();
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
    const cancelTimer = this.clock.setTimer(this.options.maxWaitMs, () => leave(busy()));
    signal?.addEventListener("abort", abort, { once: true });
    try {
      return await promise;
    } finally {
      cancelTimer();
      signal?.removeEventListener("abort", abort);
    }
  }

  private fits(bytes: number): boolean {
    return this.reserved + bytes <= this.options.maxBytes;
  }

  private reserve(bytes: number): Reservation {
    let own = 0;
    const grow = (more: number) => {
      own += more;
      this.reserved += more;
    };
    const resize = (bytes: number) => {
      grow(bytes - own);
      this.admitNext();
    };
    grow(bytes);
    return {
      get bytes() {
        return own;
      },
      grow,
      resize,
      release: () => resize(0),
    };
  }

  private admitNext(): void {
    for (let next = this.waiters[0]; next && this.fits(next.bytes); next = this.waiters[0]) {
      this.waiters.shift();
      next.admit(this.reserve(next.bytes));
    }
  }
}

function busy(): CollectionsError {
  return serviceBusy(RETRY_AFTER_SECONDS);
}
