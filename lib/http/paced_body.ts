// Response bodies that are sent in pieces as the client reads them. A large
// body reserves memory until its last byte is sent. A response therefore ends
// early if the client stops reading or reads below a minimum rate.

import { type Clock, turnToSend } from "../work/clock.ts";
import type { FairQueue, Permit } from "../work/fair_queue.ts";
import type { Bytes } from "./responses.ts";

const PIECE_BYTES = 64 * 1024;
/**
 * What it takes the serving thread to write a piece after the slice that made
 * it. All bodies together send 1 MiB in a slice of 3 ms, besides their first
 * pieces, which do not wait.
 */
const PIECE_MS = 3 / 16;
/**
 * The server takes this much before a client reads it. It would keep the whole
 * body for that, so the last pieces of longer bodies are copies (Deno 2.9.6).
 */
const TAIL_BYTES = 1024 * 1024;
/** Maximum time for a client to read one piece. */
const STALL_MS = 20_000;
/**
 * Minimum average rates of a client: 4 kB a second, and 512 kB a second while
 * other clients wait for the memory. The first `graceMs` do not count.
 */
const MIN_RATES = {
  always: { bytesPerMs: 4, graceMs: STALL_MS },
  wanted: { bytesPerMs: 512, graceMs: 6_000 },
};
/** How often the rate is checked while the client reads nothing. */
const WATCH_MS = 2_000;

/** What {@linkcode pacedBody} has to know of the memory of a body. */
export interface HeldBody {
  /** Whether other clients wait for it. */
  readonly isWanted: () => boolean;
  /** Called once when the bytes are no longer needed. */
  readonly onEnd: () => void;
}

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
   * Reserves memory for a body until the returned `onEnd` is called. It must be
   * called once. The body takes over `permit` if one is given.
   * @throws what {@linkcode FairQueue.take} throws.
   */
  hold(bytes: Bytes, client: string, permit?: Permit): HeldBody {
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
    return {
      isWanted: () => this.memory.isWantedFrom(client),
      onEnd: () => {
        if (--held.holders > 0) return;
        this.held.delete(bytes);
        held.permit.release();
      },
    };
  }
}

/**
 * Returns the stream of a body. The client has to read faster while others wait
 * for the memory. It detects a stream that ends early by its `Content-Length`.
 */
export function pacedBody(
  bytes: Bytes,
  { clock, isWanted = () => false, onEnd = () => {} }:
    & { clock: Clock }
    & Partial<HeldBody>,
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
  const isBelow = ({ bytesPerMs, graceMs }: typeof MIN_RATES.always) =>
    (clock.monotonicMs() - startedAtMs - graceMs) * bytesPerMs > sent;
  const isSlow = () =>
    isBelow(MIN_RATES.always) || isBelow(MIN_RATES.wanted) && isWanted();
  const watch = (
    controller: ReadableStreamDefaultController<Bytes>,
    untilMs = clock.monotonicMs() + STALL_MS,
  ) => {
    cancelTimer = clock.setTimer(WATCH_MS, () => {
      if (clock.monotonicMs() >= untilMs || isSlow()) close(controller);
      else watch(controller, untilMs);
    });
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
    start: (controller) => watch(controller),
    async pull(controller) {
      // Writing to many connections must not keep a request waiting. Short
      // bodies must not wait for long ones, nor to be closed.
      if (sent > 0 && body !== null && sent < body.length) {
        await turnToSend(PIECE_MS);
      }
      if (body === null || sent === body.length || isSlow()) {
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
