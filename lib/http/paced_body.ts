// Response bodies that are sent in pieces as the client reads them. The memory of large ones stays reserved until the last
// byte, so a response ends early for a client that stops reading, or reads below a minimum rate.

import type { Clock } from "../work/clock.ts";
import type { FairQueue, Permit } from "../work/fair_queue.ts";
import type { Bytes } from "./responses.ts";

const PIECE_BYTES = 64 * 1024;
/** How long a client may take for one piece. */
const STALL_MS = 20_000;
/** What a client must read on average, counted from `STALL_MS` on: 4 kB a second. */
const MIN_BYTES_PER_MS = 4;

/** The memory of large bodies while they are sent; a body sent to several clients counts once. */
export class LargeBodies {
  private readonly held = new Map<Bytes, { readonly permit: Permit; holders: number }>();

  constructor(private readonly memory: FairQueue) {}

  /**
   * Counts a body until the returned function is called, once: by `permit`, which is released then, or else by one that
   * is taken. @throws what {@linkcode FairQueue.take} throws.
   */
  hold(bytes: Bytes, client: string, permit?: Permit): () => void {
    let body = this.held.get(bytes);
    if (body === undefined) {
      body = { permit: permit ?? this.memory.take(client, bytes.length), holders: 0 };
      this.held.set(bytes, body);
    } else permit?.release();
    const held = body;
    held.holders++;
    return () => {
      if (--held.holders > 0) return;
      this.held.delete(bytes);
      held.permit.release();
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
