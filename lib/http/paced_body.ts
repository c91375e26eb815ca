// A large body in pieces, each given when its reader has taken the one before. A reader who stands still, or reads
// more slowly than any line in use, loses the rest: an answer must not stay in memory for as long as he likes.

const PIECE_BYTES = 64 * 1024;
/** How long a reader may take for one piece. */
const STALL_MS = 20_000;
/** What a reader has to take on average, beginning after `STALL_MS`: 4 kB a second. */
const LEAST_BYTES_PER_MS = 4;

/**
 * The stream of a body; `onEnd` is called once, when the bytes are not needed any more. A stream that is cut short ends
 * early, which a client sees by its `Content-Length`.
 */
export function pacedBody(
  bytes: Uint8Array<ArrayBuffer>,
  onEnd: () => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  // Let go of at the end, since a connection may hold the stream for longer.
  let body: Uint8Array<ArrayBuffer> | null = bytes;
  let sent = 0;
  let stalled: ReturnType<typeof setTimeout> | undefined;
  const startedAtTick = performance.now();
  const end = () => {
    clearTimeout(stalled);
    if (body === null) return;
    body = null;
    onEnd();
  };
  const close = (controller: ReadableStreamDefaultController) => {
    end();
    controller.close();
  };
  const watch = (controller: ReadableStreamDefaultController) => {
    stalled = setTimeout(() => close(controller), STALL_MS);
  };
  return new ReadableStream({
    start: watch,
    pull(controller) {
      const tooSlow = (performance.now() - startedAtTick - STALL_MS) * LEAST_BYTES_PER_MS > sent;
      if (body === null || sent === body.length || tooSlow) return close(controller);
      clearTimeout(stalled);
      // A copy, since the stream may take over what it is given.
      const piece = body.slice(sent, sent + PIECE_BYTES);
      sent += piece.length;
      controller.enqueue(piece);
      watch(controller);
    },
    cancel: end,
  }, { highWaterMark: 0 });
}
