// Response bodies that are sent in pieces as the client reads them. The memory of large ones stays reserved until the last
// byte, so a response ends early for a client that stops reading, or reads below a minimum rate.

import type { ByteSemaphore, Reservation } from "../byte_semaphore.ts";
import type { Clock } from "../clock.ts";
import { CollectionsError } from "../errors.ts";
import type { Bytes } from "./responses.ts";

const PIECE_BYTES = 64 * 1024;
/** How long a client may take for one piece. */
const STALL_MS = 20_000;
/** What a client must read on average, counted from `STALL_MS` on: 4 kB a second. */
const MIN_BYTES_PER_MS = 4;
/** While less is reserved, a cached body need not wait for its memory. */
const ROOM_BYTES = 32 << 20;

interface Sending {
  readonly reserved: Promise<Reservation>;
  readers: number;
}

/** Reserves the memory of large bodies while they are sent; a body sent to several clients counts once. */
export class LargeBodies {
  private readonly sending = new Map<Bytes, Sending>();

  /**
   * Reserves memory for sending a body, by `takeReservation` of the first of the requests that send it now. Resolves to the
   * function that releases it. @throws {CollectionsError} service-busy; the signal's reason.
   */
  async reserve(
    bytes: Bytes,
    request: {
      readonly signal: AbortSignal;
      takeReservation(bytes: number): Promise<Reservation>;
    },
  ): Promise<() => void> {
    for (;;) {
      const sending = this.join(bytes, () => request.takeReservation(bytes.length));
      try {
        await sending.reserved;
        return this.releaseOf(bytes, sending);
      } catch (error) {
        if (this.sending.get(bytes) === sending) this.sending.delete(bytes);
        // Where the client of the request that reserves has left, another request reserves.
        if (error instanceof CollectionsError || request.signal.aborted) throw error;
      }
    }
  }

  /** The same at once, for a body that is in memory anyway; null where it has to wait. */
  tryReserve(bytes: Bytes, client: string, memory: ByteSemaphore): (() => void) | null {
    if (!this.sending.has(bytes) && memory.bytes + bytes.length > ROOM_BYTES) return null;
    return this.releaseOf(bytes, this.join(bytes, () => memory.acquire(bytes.length, { client })));
  }

  private join(bytes: Bytes, reserve: () => Promise<Reservation>): Sending {
    let sending = this.sending.get(bytes);
    if (sending === undefined) {
      sending = { reserved: reserve(), readers: 0 };
      sending.reserved.catch(() => {});
      this.sending.set(bytes, sending);
    }
    sending.readers++;
    return sending;
  }

  private releaseOf(bytes: Bytes, sending: Sending): () => void {
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      if (--sending.readers > 0) return;
      if (this.sending.get(bytes) === sending) this.sending.delete(bytes);
      sending.reserved.then((reservation) => reservation.release(), () => {});
    };
  }
}

/**
 * The stream of a body; `onEnd` is called once, when the bytes are not needed any more. A stream that is cut off ends
 * early, which the client sees by its `Content-Length`.
 */
export function pacedBody(
  bytes: Bytes,
  { clock, onEnd = () => {} }: { readonly clock: Clock; readonly onEnd?: () => void },
): ReadableStream<Bytes> {
  // Cleared at the end, since a connection may reference the stream for longer.
  let body: Bytes | null = bytes;
  let sent = 0;
  let cancelTimer = () => {};
  const startedAtMs = clock.monotonicMs();
  const end = () => {
    cancelTimer();
    if (body === null) return;
    body = null;
    onEnd();
  };
  const watch = (controller: ReadableStreamDefaultController<Bytes>) => {
    cancelTimer = clock.setTimer(STALL_MS, () => close(controller));
  };
  const close = (controller: ReadableStreamDefaultController<Bytes>) => {
    end();
    controller.close();
  };
  return new ReadableStream({
    start: watch,
    pull(controller) {
      const isSlow = (clock.monotonicMs() - startedAtMs - STALL_MS) * MIN_BYTES_PER_MS > sent;
      if (body === null || sent === body.length || isSlow) return close(controller);
      cancelTimer();
      // Not a copy: what takes it from the stream only reads it.
      const piece = body.subarray(sent, sent + PIECE_BYTES);
      sent += piece.length;
      controller.enqueue(piece);
      watch(controller);
    },
    cancel: end,
  }, { highWaterMark: 0 });
}
