import { clearImmediate, setImmediate } from "node:timers";
import { assert, assertEquals, assertLess, assertLessOrEqual } from "@std/assert";
import { decodeChunks, encodeChunks, readManifest } from "../../lib/cache/chunks.ts";
import { equalBytes } from "./cache_suite.ts";
import { randomBytes } from "./random_bytes.ts";

const KV_VALUE_BYTES = 65_536;
const key = ["a", "b"];
const text = (size: number) =>
  new TextEncoder().encode(
    Array.from({ length: size / 8 }, (_, i) => `${i * 7919 % 100_000}`.padStart(8)).join(""),
  );
const encode = (value: Uint8Array<ArrayBuffer>) => encodeChunks(key, { value, diesAtMs: 1 });

for (const size of [0, 1, 59_995, 59_996, 59_997, 70_000, 262_144, 262_145, 1_000_000]) {
  Deno.test(`encodeChunks() keeps every value of KV in bounds, ${size} bytes`, async () => {
    for (const value of [randomBytes(size), text(size)]) {
      const { manifest, parts } = await encode(value);
      for (const bytes of [manifest, ...parts]) {
        assertLessOrEqual(bytes.buffer.byteLength, KV_VALUE_BYTES);
        assertEquals(bytes.buffer.byteLength, bytes.length);
      }
      const decoded = await decodeChunks(key, readManifest(manifest)!, parts);
      assert(decoded !== null && equalBytes(decoded, value));
    }
  });
}

Deno.test("encodeChunks() packs text and leaves what does not pack", async () => {
  const { manifest, parts } = await encode(text(80_000));
  assertEquals(parts.length, 0);
  assertLess(manifest.length, 40_000);
  const random = await encode(randomBytes(600_000));
  assertLess(random.parts.reduce((sum, part) => sum + part.length, 0), 600_050);
});

Deno.test("encodeChunks() names each write by a generation of its own", async () => {
  const value = randomBytes(10);
  assert(!equalBytes((await encode(value)).generation, (await encode(value)).generation));
});

Deno.test("encodeChunks() and decodeChunks() let other work in between blocks", async () => {
  let turns = 0;
  let next = setImmediate(function turn() {
    turns++;
    next = setImmediate(turn);
  });
  // 20 blocks of 256 KiB, and a turn of the event loop between each two.
  const { manifest, parts } = await encode(randomBytes(5_000_000));
  const packing = turns;
  await decodeChunks(key, readManifest(manifest)!, parts);
  clearImmediate(next);
  assertLessOrEqual(19, packing);
  assertLessOrEqual(19, turns - packing);
});

Deno.test("readManifest() gives null for what is no manifest", async () => {
  const { manifest } = await encode(randomBytes(0));
  assert(readManifest(manifest) !== null);
  const other = manifest.slice();
  other[0] = 99;
  for (const bytes of [null, "text", 5, new Uint8Array(0), manifest.slice(1), other]) {
    assertEquals(readManifest(bytes), null);
  }
});

Deno.test("decodeChunks() gives null for another key, other parts and other orders", async () => {
  const { manifest, parts } = await encode(randomBytes(150_000));
  const other = await encode(randomBytes(150_000));
  const read = readManifest(manifest)!;
  const [first, second, third] = parts as [Uint8Array, Uint8Array, Uint8Array];
  const wrong = [
    ...[[], [first], [first, second], [first, third, second], [first, second, third, first]],
    ...[other.parts, [first, second, other.parts[2]], [first, second, "text"]],
    ...[[first, second, third.subarray(1)], [first.subarray(1), second, third]],
  ];
  for (const parts of wrong) assert(await decodeChunks(key, read, parts) === null);
  assert(await decodeChunks(["a,b"], read, parts) === null);
  assert(await decodeChunks(["a", "b", ""], read, parts) === null);
});

Deno.test("decodeChunks() gives null for a manifest with any byte changed", async () => {
  for (const value of [randomBytes(100), randomBytes(70_000)]) {
    const { manifest, parts } = await encode(value);
    for (let i = 0; i < Math.min(manifest.length, 180); i++) {
      const damaged = manifest.slice();
      damaged[i]! ^= 1 << (i % 8);
      const read = readManifest(damaged);
      assert(read === null || await decodeChunks(key, read, parts) === null, `byte ${i}`);
    }
  }
});
