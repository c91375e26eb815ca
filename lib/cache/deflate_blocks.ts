// Packs bytes in blocks, each deflated on its own where that makes it smaller: a block takes a few milliseconds and
// never gives more than its size, so neither the event loop nor memory can be held for long.

import { setImmediate } from "node:timers/promises";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { joinBytes } from "./join_bytes.ts";

type Bytes = Uint8Array<ArrayBuffer>;

// zlib holds the event loop, on this runtime in its async form too: other work gets its turn after each block.
const BLOCK_BYTES = 256 * 1024;
const HEADER_BYTES = 4;
const DEFLATED = 0x8000_0000;
const MIN_DEFLATE_BYTES = 200;
// Text comes out a quarter smaller than at level 1; level 6 gains little more at twice the time.
const DEFLATE_LEVEL = 2;

/** Packs bytes: each block as its kind and length in four bytes, then its content. */
export async function deflateBlocks(value: Bytes): Promise<Bytes> {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < value.length; at += BLOCK_BYTES) {
    if (at > 0) await setImmediate();
    const raw = value.subarray(at, at + BLOCK_BYTES);
    const deflated = deflate(raw);
    const smaller = deflated.length < raw.length;
    const header = new Uint8Array(HEADER_BYTES);
    const content = smaller ? deflated : raw;
    new DataView(header.buffer).setUint32(0, content.length + (smaller ? DEFLATED : 0));
    pieces.push(header, content);
  }
  return joinBytes(pieces);
}

/**
 * Unpacks what {@linkcode deflateBlocks} gave for `rawBytes` bytes; null where it cannot be that.
 * @throws {Error} where a block is cut or is no deflated data.
 */
export async function inflateBlocks(packed: Bytes, rawBytes: number): Promise<Bytes | null> {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  const value = new Uint8Array(rawBytes);
  let at = 0;
  for (let from = 0; from < rawBytes; from += BLOCK_BYTES) {
    if (from > 0) await setImmediate();
    const size = Math.min(BLOCK_BYTES, rawBytes - from);
    const header = view.getUint32(at);
    const start = at + HEADER_BYTES;
    at = start + header % DEFLATED;
    const content = packed.subarray(start, at);
    const raw = header < DEFLATED
      ? content
      : inflateRawSync(content, { maxOutputLength: size, chunkSize: Math.max(64, size) });
    if (raw.length !== size) return null;
    value.set(raw, from);
  }
  return at === packed.length ? value : null;
}

function deflate(raw: Bytes): Uint8Array {
  if (raw.length < MIN_DEFLATE_BYTES) return raw;
  return deflateRawSync(raw, { level: DEFLATE_LEVEL, chunkSize: raw.length });
}
