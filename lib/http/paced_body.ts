// Large response bodies, sent in pieces as the client reads them. Their memory stays reserved until the last byte, so the
// response ends early for a client that stops reading, or reads below a minimum rate.

import type { Reservation } from "../byte_semaphore.ts";
import type { Clock } from "../clock.ts";
import { CollectionsError } from "../errors.ts";
import type { Bytes } from "./responses.ts";

const PIECE_BYTES = 64 * 1024;
/** How long a client may take for one piece. */
const STALL_MS = 20_000;
/** What a client must read on average, counted from `STALL_MS` on: 4 kB a second. */
const MIN_BYTES_PER_MS = 4;

/** Reserves the memory of large bodies while they are sent; a body sent to several clients counts once. */
export class LargeBodies {
  private readonly sending = new Map<Bytes, { reserved: Promise<Reservation>; readers: number }>();

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
      const sending = this.sending.get(bytes) ??
        { reserved: request.takeReservation(bytes.length), readers: 0 };
      this.sending.set(bytes, sending);
      sending.readers++;
      try {
        const reservation = await sending.reserved;
        let isReleased = false;
        return () => {
          if (isReleased) return;
          isReleased = true;
          if (--sending.readers > 0) return;
          this.sending.delete(bytes);
          reservation.release();
        };
      } catch (error) {
        if (this.sending.get(bytes) === sending) this.sending.delete(bytes);
        // Where the client of the request that reserves has left, another request reserves.
        if (error instanceof CollectionsError || request.signal.aborted) throw error;
      }
    }
  }
}

/**
 * The stream of a body; `onEnd` is called once, when the bytes are not needed any more. A stream that is cut off ends
 * early, which the client sees by its `Content-Length`.
 */
export function pacedBody(
  bytes: Bytes,
  { clock, onEnd }: { clock: Clock; onEnd: () => void },
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
      // A copy, since the stream may take over what it is given.
      const piece = body.slice(sent, sent + PIECE_BYTES);
      sent += piece.length;
      controller.enqueue(piece);
      watch(controller);
    },
    cancel: end,
  }, { highWaterMark: 0 });
}
