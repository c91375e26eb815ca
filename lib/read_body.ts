// Reads the bodies of upstream answers, and of deliveries, into memory that is bounded over all bodies. Bodies over 1 MiB
// reserve 8 MiB. A body that grows further reserves the maximum, from a bound of its own, so that bodies that wait for the
// second never block each other.

import { ByteSemaphore, type Reservation } from "./byte_semaphore.ts";
import { type Clock, yieldToEventLoop } from "./clock.ts";

const MIB = 1 << 20;
const MEDIUM_BYTES = 8 * MIB;
/** One bound for bodies of up to 8 MiB, another for what larger ones need beyond that: 128 MiB together. */
const BOUND_BYTES = 64 * MIB;
const MAX_WAITING = 128;

/** A body, and the memory that is reserved for it until `release` is called; calling that again does nothing. */
export interface Body {
  readonly bytes: Uint8Array<ArrayBuffer>;
  release(): void;
}

/** Reads bodies within shared bounds of memory. */
export class BodyReader {
  private readonly medium: ByteSemaphore;
  private readonly large: ByteSemaphore;

  /** Bodies of up to `freeBytes`, 1 MiB where that is left out, reserve nothing. */
  constructor(
    private readonly options: {
      readonly maxWaitMs: number;
      readonly clock: Clock;
      readonly freeBytes?: number;
    },
  ) {
    const bounds = { maxBytes: BOUND_BYTES, maxWaiting: MAX_WAITING, ...options };
    this.medium = new ByteSemaphore(bounds);
    this.large = new ByteSemaphore(bounds);
  }

  /**
   * The body of a response, whole or until `isEnough` is true of what was read so far. `onWait` is
   * called before and after a wait for memory, which is no delay of the source. A client has at most half of the memory.
   * @throws {RangeError} where it is longer than `maxBytes`; the rest is not read.
   * @throws {CollectionsError} service-busy where there was no memory for too long; the signal's reason.
   */
  async read(
    { body, headers }: Pick<Response, "body" | "headers">,
    { maxBytes, isEnough, signal, onWait, client }: {
      readonly maxBytes: number;
      readonly client?: string;
      readonly isEnough?: ((bytes: Uint8Array<ArrayBuffer>) => boolean) | undefined;
      readonly signal: AbortSignal;
      readonly onWait: (isWaiting: boolean) => void;
    },
  ): Promise<Body> {
    const reservations: Reservation[] = [];
    const release = () => reservations.forEach((reservation) => reservation.release());
    const reserve = async (semaphore: ByteSemaphore, bytes: number) => {
      onWait(true);
      reservations.push(await semaphore.acquire(bytes, { signal, ...client && { client } }));
      onWait(false);
    };
    if (body === null) return { bytes: new Uint8Array(0), release };
    const reader = body.getReader();
    // Deno gives a decompressed body as 4 KiB views of 64 KiB buffers, so each piece is copied at once.
    let buffer = new Uint8Array(64 << 10);
    let length = 0;
    const { freeBytes = MIB } = this.options;
    try {
      const announced = isEnough === undefined ? Number(headers.get("content-length") ?? 0) : 0;
      while (announced <= maxBytes) {
        const { done, value } = await reader.read();
        if (done) return { bytes: resized(buffer, length), release };
        const needed = length + value.length;
        if (needed > maxBytes) break;
        if (needed > freeBytes && reservations.length === 0) {
          await reserve(this.medium, MEDIUM_BYTES);
        }
        if (needed > MEDIUM_BYTES && reservations.length === 1) {
          await reserve(this.large, maxBytes - MEDIUM_BYTES);
        }
        if (needed > buffer.length) {
          buffer = resized(buffer, Math.max(needed, Math.min(buffer.length * 2, maxBytes)));
        }
        buffer.set(value, length);
        length = needed;
        if (isEnough?.(buffer.subarray(0, length))) {
          return { bytes: resized(buffer, length), release };
        }
        // Decompressed pieces may all be there already, and reading them runs ahead of every timer and request.
        if (length > MIB) await yieldToEventLoop(signal);
      }
      throw new RangeError(`Cannot read "body": it is longer than ${maxBytes} bytes`);
    } catch (error) {
      release();
      throw error;
    } finally {
      // Also after an error: a connection with an unread body cannot be reused.
      await reader.cancel().catch(() => {});
    }
  }
}

/** The same bytes in a buffer of another length; the old buffer becomes unusable. */
function resized(bytes: Uint8Array<ArrayBuffer>, length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes.buffer.transfer(length));
}
