// Reads the bodies of upstream answers, and of deliveries, into memory that is bounded over all bodies. A longer body
// reserves its announced length, or else the most that it may have, before it is read on.

import { yieldToEventLoop } from "./clock.ts";
import type { FairQueue, Permit } from "./fair_queue.ts";
import { countShared } from "./shared_memory.ts";

const MIB = 1 << 20;
const PIECE_BYTES = 64 << 10;

/** What long bodies share: bytes, and how many may wait for them. */
export const BODY_MEMORY = { capacity: 128 * MIB, maxWaiting: 256 };

/** A body, and the memory that is reserved for it until `release` is called; calling that again does nothing. */
export interface Body {
  readonly bytes: Uint8Array;
  release(): void;
}

/**
 * The body of a response, whole or until `isEnough` is true of what was read so far. One of up to `freeBytes` reserves
 * nothing. With `isShared`, one of over 1 MiB is in memory that other threads can read. `onWait` is called before and after
 * a wait for memory, which is no delay of the source.
 * @throws {RangeError} where it is longer than `maxBytes`; the rest is not read.
 * @throws what {@linkcode FairQueue.acquire} throws.
 */
export async function readBody(
  { body, headers }: Pick<Response, "body" | "headers">,
  { memory, client, maxBytes, freeBytes = MIB, isEnough, isShared = false, signal, onWait }: {
    readonly memory: FairQueue;
    readonly client: string;
    readonly maxBytes: number;
    readonly freeBytes?: number;
    readonly isEnough?: ((bytes: Uint8Array) => boolean) | undefined;
    readonly isShared?: boolean;
    readonly signal: AbortSignal;
    readonly onWait: (isWaiting: boolean) => void;
  },
): Promise<Body> {
  let permit: Permit | null = null;
  const release = () => permit?.release();
  if (body === null) return { bytes: new Uint8Array(0), release };
  const pieces = piecesOf(body);
  let buffer: Uint8Array = new Uint8Array(PIECE_BYTES);
  let length = 0;
  try {
    const announced = isEnough === undefined ? Number(headers.get("content-length") ?? 0) : 0;
    while (announced <= maxBytes) {
      const { done, value = new Uint8Array(0) } = await pieces.read();
      const needed = length + value.length;
      if (needed > maxBytes) break;
      if (needed > freeBytes && permit === null) {
        onWait(true);
        permit = await memory.acquire({ client, weight: announced || maxBytes, signal });
        onWait(false);
      }
      if (needed > buffer.length) {
        const capacity = Math.max(needed, Math.min(buffer.length * 2, maxBytes));
        buffer = resized(buffer, capacity, isShared ? maxBytes : 0);
      }
      buffer.set(value, length);
      length = needed;
      if (done || isEnough?.(buffer.subarray(0, length))) {
        permit?.resize(length);
        return { bytes: resized(buffer, length, 0), release };
      }
      // Decompressed pieces may all be there already, and reading them runs ahead of every timer and request.
      if (length > PIECE_BYTES) await yieldToEventLoop(signal);
    }
    throw new RangeError(`Cannot read "body": it is longer than ${maxBytes} bytes`);
  } catch (error) {
    release();
    throw error;
  } finally {
    // Also after an error: a connection with an unread body cannot be reused.
    await pieces.cancel().catch(() => {});
  }
}

/**
 * Reads a body in pieces, each to be used before the next one is read. Deno decompresses 4 KiB at a time and allocates
 * 64 KiB for them, unless it is given a buffer.
 */
function piecesOf(body: ReadableStream<Uint8Array>) {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = body.getReader({ mode: "byob" });
  } catch {
    // It comes out of a transform.
    return body.getReader();
  }
  let piece = new Uint8Array(PIECE_BYTES);
  return {
    async read() {
      const { done, value } = await reader.read(piece);
      if (value !== undefined) piece = new Uint8Array(value.buffer);
      return { done, value };
    },
    cancel: () => reader.cancel(),
  };
}

/**
 * The same bytes with another length; the given ones become unusable. Bytes that grow over 1 MiB move to memory that can
 * grow to `maxSharedBytes` without a copy, unless that is 0.
 */
function resized(bytes: Uint8Array, length: number, maxSharedBytes: number): Uint8Array {
  const { buffer } = bytes;
  if (buffer instanceof SharedArrayBuffer) {
    if (length > buffer.byteLength) {
      countShared(length - buffer.byteLength);
      buffer.grow(length);
    }
    return new Uint8Array(buffer, 0, length);
  }
  if (maxSharedBytes === 0 || length <= MIB) {
    return new Uint8Array((buffer as ArrayBuffer).transfer(length));
  }
  countShared(length);
  const shared = new SharedArrayBuffer(length, { maxByteLength: maxSharedBytes });
  const copy = new Uint8Array(shared, 0, length);
  copy.set(bytes);
  return copy;
}
