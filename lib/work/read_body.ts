// Reads the bodies of upstream responses and webhook deliveries into memory.
// The memory for all bodies together is limited. A long body reserves its
// announced length before more is read. It reserves its maximum if no length is
// announced, or only that of its compressed bytes. It reserves a part of that
// first and the remainder when it needs it, so that a few huge bodies do not
// delay long ones.

import { copyBytes } from "./bytes.ts";
import { yieldToEventLoop } from "./clock.ts";
import { FairQueue, type FairQueueOptions, type Permit } from "./fair_queue.ts";
import { freeBuffer } from "./memory.ts";

const MIB = 1 << 20;
const PIECE_BYTES = 64 << 10;

const MAX_WAITING = 256;

/** The memory that long bodies share. */
export interface BodyMemory {
  /** How much a body reserves first, in bytes. */
  readonly firstBytes: number;
  readonly first: FairQueue;
  readonly rest: FairQueue;
}

/**
 * `first` and `rest` are the bytes for all bodies. `maxShare` is the part of
 * them that one client may have.
 */
export function bodyMemory(
  { firstBytes, first, rest, maxShare = 1, ...options }:
    & Record<"firstBytes" | "first" | "rest", number>
    & { maxShare?: number }
    & Pick<FairQueueOptions, "clock" | "maxWaitMs" | "isShort">,
): BodyMemory {
  const queue = (capacity: number) =>
    new FairQueue({
      ...options,
      capacity,
      maxPerClient: capacity * maxShare,
      maxWaiting: MAX_WAITING,
    });
  return { firstBytes, first: queue(first), rest: queue(rest) };
}

/**
 * A body and the memory that is reserved for it until `release` is called.
 * Further calls of `release` do nothing.
 */
export interface Body {
  readonly bytes: Uint8Array<ArrayBuffer>;
  release(): void;
}

/**
 * Reads the body of a response to its end or until `isEnough` accepts the bytes
 * so far. Bodies of up to `freeBytes` reserve nothing. If `isGrowable` is set,
 * a body over 1 MiB is in a buffer that grows without a copy. `onWait` is
 * called before and after a wait for memory. That wait is not a delay of the
 * source.
 * @throws {RangeError} if the body is longer than `maxBytes` or than it was
 * announced. Nothing more is read then.
 * @throws what {@linkcode FairQueue.acquire} throws.
 */
export async function readBody(
  { body, headers }: Pick<Response, "body" | "headers">,
  {
    memory,
    client,
    maxBytes,
    freeBytes = MIB,
    isEnough,
    isGrowable = false,
    signal,
    onWait,
  }: {
    memory: BodyMemory;
    client: string;
    maxBytes: number;
    freeBytes?: number;
    isEnough?: ((bytes: Uint8Array) => boolean) | undefined;
    isGrowable?: boolean;
    signal: AbortSignal;
    onWait: (isWaiting: boolean) => void;
  },
): Promise<Body> {
  const permits: Permit[] = [];
  const release = () => permits.forEach((permit) => permit.release());
  const reserve = async (queue: FairQueue, weight: number) => {
    onWait(true);
    permits.push(await queue.acquire({ client, weight, signal }));
    onWait(false);
  };
  if (body === null) return { bytes: new Uint8Array(0), release };
  const pieces = piecesOf(body);
  const { firstBytes } = memory;
  let buffer = new Uint8Array(PIECE_BYTES);
  let length = 0;
  try {
    const isCompressed = headers.has("content-encoding");
    const announced = isEnough === undefined && !isCompressed
      ? Number(headers.get("content-length") ?? 0)
      : 0;
    const most = announced || maxBytes;
    while (most <= maxBytes) {
      const { done, value = new Uint8Array(0) } = await pieces.read();
      const needed = length + value.length;
      if (needed > most) break;
      if (needed > freeBytes && permits.length === 0) {
        await reserve(memory.first, Math.min(most, firstBytes));
      }
      if (needed > firstBytes && permits.length === 1) {
        await reserve(memory.rest, most - firstBytes);
      }
      if (needed > buffer.length) {
        const grown = buffer.length +
          (buffer.buffer.resizable ? MIB : buffer.length);
        const capacity = announced ||
          Math.max(needed, Math.min(grown, maxBytes));
        const growsTo = isGrowable ? maxBytes : 0;
        buffer = await resized(buffer, capacity, { growsTo, signal });
      }
      buffer.set(value, length);
      length = needed;
      if (done || isEnough?.(buffer.subarray(0, length))) {
        permits[0]?.resize(Math.min(length, firstBytes));
        permits[1]?.resize(length - firstBytes);
        return { bytes: await resized(buffer, length, { signal }), release };
      }
      // All decompressed pieces may already be available. Reading them runs
      // ahead of every timer and request.
      if (length > PIECE_BYTES) await yieldToEventLoop(signal);
    }
    throw new RangeError(
      `Cannot read "body": it is longer than ${Math.min(most, maxBytes)} bytes`,
    );
  } catch (error) {
    freeBuffer(buffer.buffer);
    release();
    throw error;
  } finally {
    // Also needed after an error. A connection with an unread body cannot be
    // reused.
    await pieces.cancel().catch(() => {});
  }
}

/**
 * Reads a body in pieces. Each piece must be used before the next one is read.
 * Deno decompresses 4 KiB at a time. It allocates 64 KiB for them unless it is
 * given a buffer.
 */
function piecesOf(body: ReadableStream<Uint8Array>) {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = body.getReader({ mode: "byob" });
  } catch {
    // The body comes out of a transform.
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
 * Returns the same bytes with another length. The given bytes become unusable.
 * Bytes that grow over 1 MiB move to a buffer that can grow to `growsTo` bytes
 * without a copy. V8 clears what is taken from the end of such a buffer, so it
 * should be little.
 */
async function resized(
  bytes: Uint8Array<ArrayBuffer>,
  length: number,
  { growsTo = 0, signal }: { growsTo?: number; signal: AbortSignal },
): Promise<Uint8Array<ArrayBuffer>> {
  const { buffer } = bytes;
  if (length === bytes.length) return bytes;
  if (buffer.resizable) {
    buffer.resize(length);
    return new Uint8Array(buffer, 0, length);
  }
  const target = growsTo > 0 && length > MIB
    ? new ArrayBuffer(length, { maxByteLength: growsTo })
    : new ArrayBuffer(length);
  const copy = new Uint8Array(target, 0, length);
  await copyBytes(bytes.subarray(0, length), copy, 0, signal);
  freeBuffer(buffer);
  return copy;
}
