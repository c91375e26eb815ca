// A cached value as Deno KV can store it: one record where it fits, else a record and parts. A record begins with the
// expiry, the value's size before and after deflating, and a SHA-256 over these, the key and the content; a value that
// fails the check decodes to null.

import { createHash } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { yieldToEventLoop } from "../clock.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** The most content in one KV value, which takes 65,536 bytes, header included. Larger values are deflated. */
const PART_BYTES = 64_000;
const FIELD_BYTES = 8 + 4 + 4;
const HEADER_BYTES = FIELD_BYTES + 32;

// zlib blocks the event loop, so large values are deflated block by block: a block takes a few milliseconds.
const BLOCK_BYTES = 256 * 1024;
// Text comes out a quarter smaller than at level 1; level 6 gains little more at twice the time.
const DEFLATE_LEVEL = 2;

/** The record of a value of less than 2 GiB, and its parts; `partsId` is the same for the same key, content and expiry. */
export async function encodeValue(key: string, value: Bytes, expiresAtMs: number) {
  const stored = value.length <= PART_BYTES ? value : await deflateBlocks(value);
  const fits = stored.length <= PART_BYTES;
  const record = new Uint8Array(HEADER_BYTES + (fits ? stored.length : 0));
  const view = new DataView(record.buffer);
  view.setFloat64(0, expiresAtMs);
  view.setUint32(8, value.length);
  view.setUint32(12, stored.length);
  const checksum = checksumOf(key, record, stored);
  record.set(checksum, FIELD_BYTES);
  const parts: Bytes[] = [];
  if (fits) record.set(stored, HEADER_BYTES);
  for (let at = 0; !fits && at < stored.length; at += PART_BYTES) {
    parts.push(stored.slice(at, at + PART_BYTES)); // A copy: KV stores the whole buffer behind a view.
  }
  return { record, parts, partsId: checksum.toHex() };
}

/** What a record says of its value, whose parts are still to be read; null for bytes that cannot be a record. */
export function readRecord(bytes: unknown) {
  if (!(bytes instanceof Uint8Array) || bytes.length < HEADER_BYTES) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const storedBytes = view.getUint32(12);
  return {
    bytes,
    expiresAtMs: view.getFloat64(0),
    rawBytes: view.getUint32(8),
    partCount: storedBytes <= PART_BYTES ? 0 : Math.ceil(storedBytes / PART_BYTES),
    partsId: bytes.subarray(FIELD_BYTES, HEADER_BYTES).toHex(),
  };
}

/** The value that was written under `key`, or null where record and parts are not exactly what one write stored. */
export async function decodeValue(
  key: string,
  record: NonNullable<ReturnType<typeof readRecord>>,
  parts: readonly unknown[],
): Promise<Bytes | null> {
  const pieces = record.partCount === 0 ? [record.bytes.subarray(HEADER_BYTES)] : parts;
  if (!pieces.every((piece) => piece instanceof Uint8Array)) return null;
  const stored = joined(pieces);
  if (checksumOf(key, record.bytes, stored).toHex() !== record.partsId) return null;
  return record.rawBytes <= PART_BYTES ? stored : await inflateBlocks(stored, record.rawBytes);
}

function checksumOf(key: string, record: Uint8Array, stored: Bytes): Uint8Array {
  const fields = record.subarray(0, FIELD_BYTES);
  return createHash("sha256").update(key).update(fields).update(stored).digest();
}

/** Deflates block by block; each block has its length in four bytes in front. */
async function deflateBlocks(value: Bytes): Promise<Bytes> {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < value.length; at += BLOCK_BYTES) {
    await yieldToEventLoop();
    const block = deflateRawSync(value.subarray(at, at + BLOCK_BYTES), {
      level: DEFLATE_LEVEL,
      chunkSize: BLOCK_BYTES,
    });
    const length = new Uint8Array(4);
    new DataView(length.buffer).setUint32(0, block.length);
    pieces.push(length, block);
  }
  return joined(pieces);
}

/** The value of `rawBytes` bytes that {@linkcode deflateBlocks} was given. */
async function inflateBlocks(packed: Bytes, rawBytes: number): Promise<Bytes> {
  const view = new DataView(packed.buffer);
  const value = new Uint8Array(rawBytes);
  for (let at = 0, to = 0; to < rawBytes; to += BLOCK_BYTES) {
    await yieldToEventLoop();
    const start = at + 4;
    at = start + view.getUint32(at);
    value.set(inflateRawSync(packed.subarray(start, at), { chunkSize: BLOCK_BYTES }), to);
  }
  return value;
}

function joined(pieces: readonly Uint8Array[]): Bytes {
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}
