// Reads the bodies of upstream answers, and of deliveries, into memory that is bounded over all bodies. A longer body
// reserves its announced length, or else the most that it may have, before it is read on.

import { yieldToEventLoop } from "./clock.ts";
import type { FairQueue, Permit } from "./fair_queue.ts";

const MIB = 1 << 20;

/** What long bodies share: bytes, and how many may wait for them. */
export const BODY_MEMORY = { capacity: 128 * MIB, maxWaiting: 256 };

/** A body, and the memory that is reserved for it until `release` is called; calling that again does nothing. */
export interface Body {
  readonly bytes: Uint8Array<ArrayBuffer>;
  release(): void;
}

/**
 * The body of a response, whole or until `isEnough` is true of what was read so far. One of up to `freeBytes` reserves
 * nothing. `onWait` is called before and after a wait for memory, which is no delay of the source.
 * @throws {RangeError} where it is longer than `maxBytes`; the rest is not read.
 * @throws what {@linkcode FairQueue.acquire} throws.
 */
export async function readBody(
  { body, headers }: Pick<Response, "body" | "headers">,
  { memory, client, maxBytes, freeBytes = MIB, isEnough, signal, onWait }: {
    readonly memory: FairQueue;
    readonly client: string;
    readonly maxBytes: number;
    readonly freeBytes?: number;
    readonly isEnough?: ((bytes: Uint8Array<ArrayBuffer>) => boolean) | undefined;
    readonly signal: AbortSignal;
    readonly onWait: (isWaiting: boolean) => void;
  },
): Promise<Body> {
  let permit: Permit | null = null;
  const release = () => permit?.release();
  if (body === null) return { bytes: new Uint8Array(0), release };
  const reader = body.getReader();
  // Deno gives a decompressed body as 4 KiB views of 64 KiB buffers, so each piece is copied at once.
  let buffer = new Uint8Array(64 << 10);
  let length = 0;
  try {
    const announced = isEnough === undefined ? Number(headers.get("content-length") ?? 0) : 0;
    while (announced <= maxBytes) {
      const { done, value = new Uint8Array(0) } = await reader.read();
      const needed = length + value.length;
      if (needed > maxBytes) break;
      if (needed > freeBytes && permit === null) {
        onWait(true);
        permit = await memory.acquire({ client, weight: announced || maxBytes, signal });
        onWait(false);
      }
      if (needed > buffer.length) {
        buffer = resized(buffer, Math.max(needed, Math.min(buffer.length * 2, maxBytes)));
      }
      buffer.set(value, length);
      length = needed;
      if (done || isEnough?.(buffer.subarray(0, length))) {
        permit?.resize(length);
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

/** The same bytes in a buffer of another length; the old buffer becomes unusable. */
function resized(bytes: Uint8Array<ArrayBuffer>, length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes.buffer.transfer(length));
}
