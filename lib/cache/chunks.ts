// A cached value as Deno KV can hold it: packed, cut into parts, described by a manifest that carries a checksum over
// key, description and parts. What does not add up to exactly what was written decodes to null.

import { createHash } from "node:crypto";
import type { CacheEntry, CacheKey } from "./cache.ts";
import { deflateBlocks, inflateBlocks } from "./deflate_blocks.ts";
import { joinBytes } from "./join_bytes.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** The size of a part, and of what still goes into the manifest itself; a KV value may have 65,536 bytes. */
export const PART_BYTES = 60_000;

const VERSION = 1;
const GENERATION_BYTES = 16;
const FIELD_BYTES = 1 + GENERATION_BYTES + 8 + 4 + 4;
const CHECKSUM_BYTES = 32;
const HEADER_BYTES = FIELD_BYTES + CHECKSUM_BYTES;

const encoder = new TextEncoder();

/** A value cut up for KV. */
export interface Chunks {
  /** At most {@linkcode PART_BYTES} and a little; holds the value itself where that is small. */
  readonly manifest: Bytes;
  /** In order, each at most {@linkcode PART_BYTES}; none where the manifest holds the value. */
  readonly parts: readonly Bytes[];
  /** A random id that no other write has: parts of different writes never mix. */
  readonly generation: Bytes;
}

/** What a manifest says; true only once {@linkcode decodeChunks} has checked it. */
export interface Manifest {
  readonly generation: Bytes;
  /** From when on the value may not be given any more, in ms since the epoch. */
  readonly diesAtMs: number;
  readonly rawBytes: number;
  /** The bytes of all parts together, or of the value in the manifest itself. */
  readonly storedBytes: number;
  readonly partCount: number;
  readonly bytes: Bytes;
}

/** Cuts up a value of less than 2 GiB. Gives other work its turn where the value is large. */
export async function encodeChunks(
  key: CacheKey,
  { value, diesAtMs }: CacheEntry,
): Promise<Chunks> {
  const stored = await deflateBlocks(value);
  const generation = crypto.getRandomValues(new Uint8Array(GENERATION_BYTES));
  const fits = stored.length <= PART_BYTES;
  const manifest = new Uint8Array(HEADER_BYTES + (fits ? stored.length : 0));
  const view = new DataView(manifest.buffer);
  view.setUint8(0, VERSION);
  manifest.set(generation, 1);
  view.setFloat64(1 + GENERATION_BYTES, diesAtMs);
  view.setUint32(1 + GENERATION_BYTES + 8, value.length);
  view.setUint32(1 + GENERATION_BYTES + 12, stored.length);
  manifest.set(checksum(key, manifest, [stored]), FIELD_BYTES);
  const parts: Bytes[] = [];
  if (fits) manifest.set(stored, HEADER_BYTES);
  for (let at = 0; !fits && at < stored.length; at += PART_BYTES) {
    parts.push(stored.slice(at, at + PART_BYTES)); // A copy: KV stores the whole buffer behind a view.
  }
  return { manifest, parts, generation };
}

/** Reads a manifest, or null where the value cannot be one. */
export function readManifest(bytes: unknown): Manifest | null {
  if (!isBytes(bytes) || bytes.length < HEADER_BYTES) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  if (view.getUint8(0) !== VERSION) return null;
  const storedBytes = view.getUint32(1 + GENERATION_BYTES + 12);
  return {
    generation: bytes.slice(1, 1 + GENERATION_BYTES),
    diesAtMs: view.getFloat64(1 + GENERATION_BYTES),
    rawBytes: view.getUint32(1 + GENERATION_BYTES + 8),
    storedBytes,
    partCount: storedBytes <= PART_BYTES ? 0 : Math.ceil(storedBytes / PART_BYTES),
    bytes,
  };
}

/**
 * The value that was written under `key`, or null where manifest and parts are not exactly what one write left there.
 * Memory for the value is taken only after the checksum has proved its size.
 */
export async function decodeChunks(
  key: CacheKey,
  manifest: Manifest,
  parts: readonly unknown[],
): Promise<Bytes | null> {
  const pieces = manifest.partCount === 0 ? [manifest.bytes.subarray(HEADER_BYTES)] : parts;
  if (!pieces.every(isBytes)) return null;
  if (pieces.reduce((sum, piece) => sum + piece.length, 0) !== manifest.storedBytes) return null;
  const expected = manifest.bytes.subarray(FIELD_BYTES, HEADER_BYTES);
  if (checksum(key, manifest.bytes, pieces).some((byte, i) => byte !== expected[i])) return null;
  try {
    return await inflateBlocks(joinBytes(pieces), manifest.rawBytes);
  } catch {
    return null; // Written by a program that packs otherwise.
  }
}

function checksum(key: CacheKey, manifest: Bytes, pieces: readonly Bytes[]): Uint8Array {
  const hash = createHash("sha256").update(encoder.encode(JSON.stringify(key)));
  hash.update(manifest.subarray(0, FIELD_BYTES));
  for (const piece of pieces) hash.update(piece);
  return hash.digest();
}

function isBytes(value: unknown): value is Bytes {
  return value instanceof Uint8Array;
}
