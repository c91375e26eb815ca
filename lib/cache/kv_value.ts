// Encodes cached values for Deno KV. A record has the expiry in ms since the
// epoch and then the deflated bytes (RFC 1950 with a checksum). The functions
// of node:zlib block this thread in Deno even if they take callbacks. The worst
// inputs within these limits take about 2 ms.

import type { Buffer } from "node:buffer";
import { deflateSync, inflateSync } from "node:zlib";

export type Bytes = Uint8Array<ArrayBuffer>;

/** The limit of Deno KV for one value. */
const MAX_RECORD_BYTES = 65_536;
const EXPIRY_BYTES = 8;
/**
 * Limits a value before it is deflated. 64 KiB of deflated zeros inflate a
 * thousandfold. Inflating a value also takes twice its size for some time.
 * Nearly all texts and lists that deflate to 64 KiB are smaller.
 */
export const MAX_VALUE_BYTES = 1 << 20;

/** Returns the record of a value, or null if it does not fit. */
export function encodeValue(
  value: Uint8Array,
  expiresAtMs: number,
): Bytes | null {
  try {
    // Level 2 gives up after few comparisons for every input.
    const maxOutputLength = MAX_RECORD_BYTES - EXPIRY_BYTES;
    const deflated = deflateSync(value, { level: 2, maxOutputLength });
    const record = new Uint8Array(EXPIRY_BYTES + deflated.length);
    new DataView(record.buffer).setFloat64(0, expiresAtMs);
    record.set(deflated, EXPIRY_BYTES);
    return record;
  } catch {
    return null;
  }
}

/** Returns the value of a record, or null if it has expired or is damaged. */
export function decodeValue(record: unknown, nowMs: number): Bytes | null {
  if (!(record instanceof Uint8Array)) return null;
  try {
    const expiresAtMs = new DataView(record.buffer, record.byteOffset)
      .getFloat64(0);
    if (!(expiresAtMs > nowMs)) return null;
    const inflated = inflateSync(record.subarray(EXPIRY_BYTES), {
      maxOutputLength: MAX_VALUE_BYTES,
    }) as Buffer<ArrayBuffer>;
    // The buffer behind few bytes is larger, so they are copied.
    return inflated.buffer.byteLength === inflated.length
      ? new Uint8Array(inflated.buffer)
      : new Uint8Array(inflated);
  } catch {
    return null;
  }
}
