// Response bodies that are sent in pieces as the client reads them. A large
// body reserves memory until its last byte is sent. A response therefore ends
// early if the client stops reading or reads below a minimum rate.

import { type Clock, yieldToEventLoop } from "../work/clock.ts";
import type { FairQueue, Permit } from "../work/fair_queue.ts";
import type { Bytes } from "./responses.ts";

const PIECE_BYTES = 64 * 1024;
/**
 * The server takes this much before a client reads it. It would keep the whole
 * body for that, so the last pieces of longer bodies are copies (Deno 2.9.6).
 */
const TAIL_BYTES = 1024 * 1024;
/** Maximum time for a client to read one piece. */
const STALL_MS = 20_000;
/**
 * Minimum average rate of a client: 4 kB a second. The first `STALL_MS` do not
 * count.
 */
const MIN_BYTES_PER_MS = 4;

/**
 * Reserves memory for large bodies while they are sent. A body that is sent to
 * several clients counts once.
 */
export class LargeBodies {
  private readonly held = new Map<
    Bytes,
    { permit: Permit; holders: number }
  >();

  constructor(private readonly memory: FairQueue) {}

  /**
   * Reserves memory for a body until the returned function is called. That
   * function must be called once. The body takes over `permit` if one is given.
   * @throws what {@linkcode FairQueue.take} throws.
   */
  hold(bytes: Bytes, client: string, permit?: Permit): () => void {
    let body = this.held.get(bytes);
    if (body === undefined) {
      body = {
        permit: permit ?? this.memory.take(client, bytes.length),
        holders: 0,
      };
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
 * Returns the stream of a body. Calls `onEnd` once when the bytes are no longer
 * needed. A client detects a stream that ends early by its `Content-Length`.
 */
export function pacedBody(
  bytes: Bytes,
  { clock, onEnd = () => {} }: {
    clock: Clock;
    onEnd?: (() => void) | undefined;
  },
): ReadableStream<Bytes> {
  // Cleared at the end because a connection may reference the stream for
  // longer.
  let body: Bytes | null = bytes;
  const copyFrom = bytes.length > TAIL_BYTES
    ? bytes.length - TAIL_BYTES
    : Infinity;
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
    try {
      controller.close();
    } catch {
      // The connection has ended.
    }
  };
  return new ReadableStream({
    start: watch,
    async pull(controller) {
      // Writing to many connections must not keep a request waiting. Short
      // bodies must not wait for long ones, nor to be closed.
      if (sent > 0 && body !== null && sent < body.length) {
        await yieldToEventLoop();
      }
      const isSlow =
        (clock.monotonicMs() - startedAtMs - STALL_MS) * MIN_BYTES_PER_MS >
          sent;
      if (body === null || sent === body.length || isSlow) {
        return close(controller);
      }
      cancelTimer();
      const next = sent + PIECE_BYTES;
      const piece = next > copyFrom
        ? body.slice(sent, next)
        : body.subarray(sent, next);
      sent += piece.length;
      try {
        controller.enqueue(piece);
        watch(controller);
      } catch {
        end();
      }
    },
    cancel: end,
  }, { highWaterMark: 0 });
}
