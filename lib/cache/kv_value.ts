// A cached value as Deno KV can store it: one record where it fits, else a record that describes parts. Each record
// carries its own expiry and a checksum over key, description and content; a value that fails the check decodes to null.

import { createHash } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { yieldToEventLoop } from "../yield.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** The most content in one KV value, which takes 65,536 bytes, header included. */
const PART_BYTES = 64_000;

const VERSION = 2;
const FIELD_BYTES = 1 + 8 + 4 + 4;
const CHECKSUM_BYTES = 32;
const HEADER_BYTES = FIELD_BYTES + CHECKSUM_BYTES;

// zlib blocks the event loop, so large values are deflated block by block: a block takes a few milliseconds.
const BLOCK_BYTES = 256 * 1024;
const BLOCK_HEADER_BYTES = 4;
// Text comes out a quarter smaller than at level 1; level 6 gains little more at twice the time.
const DEFLATE_LEVEL = 2;

const encoder = new TextEncoder();

/** A value as KV values: `record` goes under the key of the value, `parts` under keys that contain `partsId`. */
export interface StoredValue {
  readonly record: Bytes;
  readonly parts: readonly Bytes[];
  /** The same for the same key, content and expiry, and for nothing else. */
  readonly partsId: string;
}

/** A record that has been read; its parts are still to be read. */
export interface KvRecord {
  readonly partsId: string;
  readonly partCount: number;
  /** The time from which the value is expired, in ms since the epoch. */
  readonly expiresAtMs: number;
  readonly rawBytes: number;
  readonly storedBytes: number;
  readonly bytes: Bytes;
}

/** Encodes a value of less than 2 GiB. Yields to the event loop where it is large. */
export async function encodeValue(
  key: string,
  value: Bytes,
  expiresAtMs: number,
): Promise<StoredValue> {
  const stored = value.length <= PART_BYTES ? value : await deflateBlocks(value);
  const fits = stored.length <= PART_BYTES;
  const record = new Uint8Array(HEADER_BYTES + (fits ? stored.length : 0));
  const view = new DataView(record.buffer);
  view.setUint8(0, VERSION);
  view.setFloat64(1, expiresAtMs);
  view.setUint32(9, value.length);
  view.setUint32(13, stored.length);
  const sum = checksum(key, record, [stored]);
  record.set(sum, FIELD_BYTES);
  const parts: Bytes[] = [];
  if (fits) record.set(stored, HEADER_BYTES);
  for (let at = 0; !fits && at < stored.length; at += PART_BYTES) {
    parts.push(stored.slice(at, at + PART_BYTES)); // A copy: KV stores the whole buffer behind a view.
  }
  return { record, parts, partsId: sum.subarray(0, 16).toHex() };
}

/** Reads a record, or null for a value that cannot be one. */
export function readRecord(bytes: unknown): KvRecord | null {
  if (!(bytes instanceof Uint8Array) || bytes.length < HEADER_BYTES) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  if (view.getUint8(0) !== VERSION) return null;
  const storedBytes = view.getUint32(13);
  return {
    partsId: bytes.subarray(FIELD_BYTES, FIELD_BYTES + 16).toHex(),
    partCount: storedBytes <= PART_BYTES ? 0 : Math.ceil(storedBytes / PART_BYTES),
    expiresAtMs: view.getFloat64(1),
    rawBytes: view.getUint32(9),
    storedBytes,
    bytes: bytes as Bytes,
  };
}

/**
 * The value that was written under `key`, or null where record and parts are not exactly what one write stored.
 * Memory for the value is allocated only after the checksum has confirmed its size.
 */
export async function decodeValue(
  key: string,
  record: KvRecord,
  parts: readonly unknown[],
): Promise<Bytes | null> {
  const pieces = record.partCount === 0 ? [record.bytes.subarray(HEADER_BYTES)] : parts;
  if (!pieces.every((piece): piece is Bytes => piece instanceof Uint8Array)) return null;
  if (pieces.reduce((sum, piece) => sum + piece.length, 0) !== record.storedBytes) return null;
  const expected = record.bytes.subarray(FIELD_BYTES, HEADER_BYTES);
  if (checksum(key, record.bytes, pieces).some((byte, i) => byte !== expected[i])) return null;
  if (record.rawBytes <= PART_BYTES) return record.bytes.slice(HEADER_BYTES);
  try {
    return await inflateBlocks(joined(pieces), record.rawBytes);
  } catch {
    return null; // Written by a program that encodes otherwise.
  }
}

function checksum(key: string, record: Bytes, pieces: readonly Bytes[]): Uint8Array {
  const hash = createHash("sha256").update(encoder.encode(key));
  hash.update(record.subarray(0, FIELD_BYTES));
  for (const piece of pieces) hash.update(piece);
  return hash.digest();
}

/** Deflates block by block; each block has its length in four bytes in front. */
async function deflateBlocks(value: Bytes): Promise<Bytes> {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < value.length; at += BLOCK_BYTES) {
    if (at > 0) await yieldToEventLoop();
    const block = deflateRawSync(value.subarray(at, at + BLOCK_BYTES), {
      level: DEFLATE_LEVEL,
      chunkSize: BLOCK_BYTES,
    });
    const header = new Uint8Array(BLOCK_HEADER_BYTES);
    new DataView(header.buffer).setUint32(0, block.length);
    pieces.push(header, block);
  }
  return joined(pieces);
}

/** Null for what `deflateBlocks` cannot have given for `rawBytes` bytes. @throws {Error} for a damaged block. */
async function inflateBlocks(packed: Bytes, rawBytes: number): Promise<Bytes | null> {
  const view = new DataView(packed.buffer);
  const value = new Uint8Array(rawBytes);
  let at = 0;
  for (let from = 0; from < rawBytes; from += BLOCK_BYTES) {
    if (from > 0) await yieldToEventLoop();
    const size = Math.min(BLOCK_BYTES, rawBytes - from);
    const start = at + BLOCK_HEADER_BYTES;
    at = start + view.getUint32(at);
    const raw = inflateRawSync(packed.subarray(start, at), {
      maxOutputLength: size,
      chunkSize: Math.max(64, size),
    });
    if (raw.length !== size) return null;
    value.set(raw, from);
  }
  return at === packed.length ? value : null;
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

/** KV allows 2,048 bytes a key; the rest is for what surrounds a cache key. */
const MAX_KEY_BYTES = 1_900;

/** Whether KV can store a key and tell it from every other: KV merges lone surrogates. */
export function fitsKv(key: readonly string[]): boolean {
  const bytes = key.reduce((sum, part) => {
    const zeros = part.split("\0").length - 1; // KV doubles them.
    return sum + encoder.encode(part).length + zeros + 2;
  }, 0);
  return bytes <= MAX_KEY_BYTES && key.every((part) => part.isWellFormed());
}
