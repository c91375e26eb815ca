// Bounds what large answers hold in memory, from when their files are read until their last byte is sent. Who finds no
// room waits for his turn, and is told that the service is busy where the wait is too long. Small answers need no room.

import { type CollectionsError, serviceBusy } from "../errors.ts";

/** Settings of a {@linkcode Room}. */
export interface RoomOptions {
  readonly maxBytes: number;
  /** How many may wait. */
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
}

/** A share of the room. Growing does not wait: what has been made has to be held. */
export interface Place {
  readonly bytes: number;
  resize(bytes: number): void;
}

interface Waiter {
  readonly bytes: number;
  readonly enter: (place: Place) => void;
  readonly refuse: (error: unknown) => void;
}

const RETRY_AFTER_SECONDS = 5;

/** See the head of this file. */
export class Room {
  private taken = 0;
  /** How many send a body; its bytes count once. */
  private readonly senders = new Map<Uint8Array, number>();
  private readonly waiting: Waiter[] = [];

  constructor(private readonly options: RoomOptions) {}

  /** Bytes that are held. */
  get bytes(): number {
    return this.taken;
  }

  /**
   * A place of this size, in the order of asking; one larger than the room gets all of it.
   * @throws {CollectionsError} service-busy. @throws the signal's reason when that aborts.
   */
  async enter(bytes: number, signal?: AbortSignal): Promise<Place> {
    const wanted = Math.min(bytes, this.options.maxBytes);
    if (this.waiting.length === 0 && this.fits(wanted)) return this.take(wanted);
    signal?.throwIfAborted();
    if (this.waiting.length >= this.options.maxWaiting) throw this.busy();
    const { promise, resolve: enter, reject: refuse } = Promise.withResolvers<Place>();
    const waiter: Waiter = { bytes: wanted, enter, refuse };
    const leave = (reason: unknown) => {
      const at = this.waiting.indexOf(waiter);
      if (at >= 0) this.waiting.splice(at, 1);
      refuse(reason);
      this.admit();
    };
    const abort = () => leave(signal?.reason);
    const timer = setTimeout(() => leave(this.busy()), this.options.maxWaitMs);
    signal?.addEventListener("abort", abort, { once: true });
    this.waiting.push(waiter);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }

  /** Whether somebody sends this body already, so that one more takes no room. */
  isSent(body: Uint8Array): boolean {
    return this.senders.has(body);
  }

  /** Holds a body that is being sent, until the function that this gives is called. Does not wait. */
  send(body: Uint8Array): () => void {
    const senders = this.senders.get(body) ?? 0;
    if (senders === 0) this.taken += body.length;
    this.senders.set(body, senders + 1);
    return () => {
      const left = this.senders.get(body)! - 1;
      if (left > 0) return void this.senders.set(body, left);
      this.senders.delete(body);
      this.taken -= body.length;
      this.admit();
    };
  }

  private fits(bytes: number): boolean {
    return this.taken + bytes <= this.options.maxBytes;
  }

  private take(bytes: number): Place {
    this.taken += bytes;
    const place = {
      bytes,
      resize: (bytes: number) => {
        this.taken += bytes - place.bytes;
        place.bytes = bytes;
        this.admit();
      },
    };
    return place;
  }

  private admit(): void {
    for (let next = this.waiting[0]; next !== undefined && this.fits(next.bytes);) {
      this.waiting.shift();
      next.enter(this.take(next.bytes));
      next = this.waiting[0];
    }
  }

  private busy(): CollectionsError {
    return serviceBusy(RETRY_AFTER_SECONDS);
  }
}
