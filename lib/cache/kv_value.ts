// A cached value as Deno KV can store it: a record with the first part of the content, and further parts. A record begins
// with the expiry, the number of further parts, whether the content is deflated, and a SHA-256 over these, the key and
// the content; a value that fails the check decodes to null.

import { createHash } from "node:crypto";
import { yieldToEventLoop } from "../clock.ts";

export type Bytes = Uint8Array<ArrayBuffer>;

/** The most content in one KV value, which takes 65,536 bytes, header included. Larger values are deflated. */
const PART_BYTES = 64_000;
const FIELD_BYTES = 8 + 4 + 4;
const HEADER_BYTES = FIELD_BYTES + 32;
/** No value of a cache is larger. */
const MAX_VALUE_BYTES = 64 << 20;

/** The record of a value, and its further parts; `partsId` is the same for the same key, content and expiry. */
export async function encodeValue(key: string, value: Bytes, expiresAtMs: number) {
  const isDeflated = value.length > PART_BYTES;
  const content = isDeflated
    ? await transform(partsOf(value), new CompressionStream("deflate-raw"))
    : value;
  const [first, ...parts] = partsOf(content);
  const record = new Uint8Array(HEADER_BYTES + first!.length);
  const view = new DataView(record.buffer);
  view.setFloat64(0, expiresAtMs);
  view.setUint32(8, parts.length);
  view.setUint32(12, Number(isDeflated));
  record.set(first!, HEADER_BYTES);
  const checksum = checksumOf(key, record, parts);
  record.set(checksum, FIELD_BYTES);
  return { record, parts, partsId: checksum.toHex() };
}

/** What a record says of its value, whose parts are still to be read; null for bytes that cannot be a record. */
export function readRecord(record: unknown) {
  if (!(record instanceof Uint8Array) || record.length < HEADER_BYTES) return null;
  const view = new DataView(record.buffer, record.byteOffset);
  return {
    record: record as Bytes,
    expiresAtMs: view.getFloat64(0),
    partCount: view.getUint32(8),
    isDeflated: view.getUint32(12) === 1,
    partsId: record.subarray(FIELD_BYTES, HEADER_BYTES).toHex(),
  };
}

/** The value that was written under `key`, or null where record and parts are not exactly what one write stored. */
export async function decodeValue(
  key: string,
  { record, isDeflated, partsId }: NonNullable<ReturnType<typeof readRecord>>,
  parts: readonly unknown[],
): Promise<Bytes | null> {
  if (!parts.every((part) => part instanceof Uint8Array)) return null;
  if (checksumOf(key, record, parts).toHex() !== partsId) return null;
  const first = record.slice(HEADER_BYTES);
  if (!isDeflated) return first;
  const stream = new DecompressionStream("deflate-raw");
  // The checksum has no secret: whoever may write to the store can make one for content that does not inflate.
  return await transform([first, ...parts as Bytes[]], stream, MAX_VALUE_BYTES).catch(() => null);
}

/** At least one part. Each is a copy: KV stores the whole buffer behind a view. */
function partsOf(bytes: Bytes): Bytes[] {
  const count = Math.max(1, Math.ceil(bytes.length / PART_BYTES));
  return Array.from(
    { length: count },
    (_, n) => bytes.slice(n * PART_BYTES, (n + 1) * PART_BYTES),
  );
}

function checksumOf(key: string, record: Bytes, parts: readonly Uint8Array[]): Uint8Array {
  const hash = createHash("sha256").update(key).update(record.subarray(0, FIELD_BYTES));
  for (const part of [record.subarray(HEADER_BYTES), ...parts]) hash.update(part);
  return hash.digest();
}

/**
 * Pieces through a stream that blocks the event loop for each: a piece takes a few milliseconds.
 * @throws {RangeError} where more than `maxBytes` come out of it; {TypeError} for what it cannot read.
 */
async function transform(
  pieces: readonly Bytes[],
  stream: CompressionStream | DecompressionStream,
  maxBytes = Infinity,
): Promise<Bytes> {
  async function* paced() {
    for (const piece of pieces) {
      await yieldToEventLoop();
      yield piece;
    }
  }
  let length = 0;
  const bound = new TransformStream<Bytes, Bytes>({
    transform(chunk, controller) {
      length += chunk.length;
      if (length > maxBytes) throw new RangeError(`more than ${maxBytes} bytes`);
      controller.enqueue(chunk);
    },
  });
  const pipe = ReadableStream.from(paced()).pipeThrough(stream).pipeThrough(bound);
  return await new Response(pipe).bytes();
}
