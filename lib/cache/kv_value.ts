// A cached value as Deno KV stores it: its expiry in ms since the epoch, then its bytes, deflated (RFC 1950, with a
// checksum). The functions of node:zlib block this thread in Deno, also those with callbacks. With these bounds the
// worst inputs take about 5 ms.

import { deflateSync, inflateSync } from "node:zlib";

export type Bytes = Uint8Array<ArrayBuffer>;

/** What Deno KV takes. */
const MAX_RECORD_BYTES = 65_536;
const EXPIRY_BYTES = 8;
/** A value is at most so large before it is deflated: 64 KiB of zeros, deflated, inflate a thousandfold. */
export const MAX_VALUE_BYTES = 4 << 20;

/** The record of a value; null where it does not fit. */
export function encodeValue(value: Uint8Array, expiresAtMs: number): Bytes | null {
  try {
    // Level 2 gives up after few comparisons, whatever the input.
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

/** The value of a record; null where it has expired or is damaged. */
export function decodeValue(record: unknown, nowMs: number): Bytes | null {
  if (!(record instanceof Uint8Array)) return null;
  try {
    const expiresAtMs = new DataView(record.buffer, record.byteOffset).getFloat64(0);
    if (!(expiresAtMs > nowMs)) return null;
    // A copy: the buffer behind what was inflated is larger.
    return new Uint8Array(
      inflateSync(record.subarray(EXPIRY_BYTES), { maxOutputLength: MAX_VALUE_BYTES }),
    );
  } catch {
    return null;
  }
}
