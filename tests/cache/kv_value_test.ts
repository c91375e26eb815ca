import { assertEquals, assertLessOrEqual } from "@std/assert";
import { deflateSync } from "node:zlib";
import { decodeValue, encodeValue } from "../../lib/cache/kv_value.ts";
import { letters, randomBytes } from "./watched_kv.ts";

const NOW = 1_000_000;
const encode = (value: Uint8Array) => encodeValue(value, NOW + 1)!;

/** The shortest time that some runs take, in ms. */
function shortest(run: () => void): number {
  return Math.min(...Array.from({ length: 3 }, () => {
    const startMs = performance.now();
    run();
    return performance.now() - startMs;
  }));
}

Deno.test("decodeValue() gives a value in a buffer of its own", () => {
  const value = randomBytes(300);
  for (const bytes of [value, new Uint8Array(300_000).fill(7)]) {
    const decoded = decodeValue(encode(bytes), NOW)!;
    assertEquals([decoded, decoded.buffer.byteLength], [bytes, bytes.length]);
  }
  assertEquals(decodeValue(encode(value), NOW + 1), null, "it has expired");
});

Deno.test("decodeValue() is null for damaged records", () => {
  const record = encode(randomBytes(300));
  const records: unknown[] = ["another type", 7, null, {
    buffer: new ArrayBuffer(9),
  }];
  for (let at = 0; at < record.length; at++) {
    records.push(record.slice(0, at));
    // A damaged expiry cannot be told from another one.
    if (at >= 8) records.push(record.with(at, record[at]! ^ 1));
  }
  for (const damaged of records) assertEquals(decodeValue(damaged, NOW), null);
});

Deno.test("decodeValue() is null for a record that inflates past 1 MiB", () => {
  const inflated = (bytes: number) => {
    const record = encode(new Uint8Array(0));
    return decodeValue(
      new Uint8Array([
        ...record.slice(0, 8),
        ...deflateSync(new Uint8Array(bytes)),
      ]),
      NOW,
    )?.length;
  };
  assertEquals(inflated(1 << 20), 1 << 20);
  assertEquals(inflated((1 << 20) + 1), undefined);
});

Deno.test("encodeValue() stops soon where a value does not fit", () => {
  const value = letters();
  assertEquals(encodeValue(value, NOW), null);
  const wholeMs = shortest(() => deflateSync(value));
  assertLessOrEqual(shortest(() => encodeValue(value, NOW)), wholeMs / 20);
});
