import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import { ENTRY_OVERHEAD_BYTES, MemoryCache } from "../../lib/cache/memory.ts";
import { type Clock, testCache } from "./cache_suite.ts";
import { randomBytes } from "./random_bytes.ts";

const ttlMs = 60_000;
const open = (maxBytes: number) => (clock: Clock) =>
  Promise.resolve(new MemoryCache({ maxBytes, now: () => clock.nowMs }));

testCache("MemoryCache", open(64_000_000));

Deno.test("MemoryCache bytes counts value, key and overhead, and gives them back", async () => {
  const cache = new MemoryCache({ maxBytes: 100_000 });
  assertEquals(cache.bytes, 0);
  await cache.set(["ab"], randomBytes(1_000), { ttlMs });
  assertEquals(cache.bytes, 1_000 + `["ab"]`.length + ENTRY_OVERHEAD_BYTES);
  await cache.set(["ab"], randomBytes(1_000), { ttlMs: 0 });
  assertEquals(cache.bytes, 0);
});

Deno.test("MemoryCache set() stays within maxBytes and drops the least recently used", async () => {
  const cache = new MemoryCache({ maxBytes: 100_000 });
  for (let i = 0; i < 1_000; i++) {
    await cache.set([`${i}`], randomBytes(i), { ttlMs });
    await cache.get(["7"]);
    assertLessOrEqual(cache.bytes, 100_000);
  }
  assert(await cache.get(["7"]) !== null && await cache.get(["999"]) !== null);
  assert(await cache.get(["8"]) === null);
});

Deno.test("MemoryCache set() of a value over maxBytes keeps others and not the old value", async () => {
  const cache = new MemoryCache({ maxBytes: 100_000 });
  await cache.set(["a"], randomBytes(10), { ttlMs });
  await cache.set(["b"], randomBytes(10), { ttlMs });
  await cache.set(["a"], randomBytes(100_000), { ttlMs });
  assert(await cache.get(["a"]) === null);
  assert(await cache.get(["b"]) !== null);
});

Deno.test("MemoryCache with maxBytes 0 keeps nothing", async () => {
  const cache = new MemoryCache({ maxBytes: 0 });
  await cache.set(["a"], new Uint8Array(0), { ttlMs });
  assert(await cache.get(["a"]) === null);
  assertEquals(cache.bytes, 0);
});

Deno.test("MemoryCache get() of a dead entry gives its bytes back", async () => {
  const clock = { nowMs: 0 };
  const cache = await open(100_000)(clock);
  await cache.set(["a"], randomBytes(10), { ttlMs: 5 });
  clock.nowMs = 5;
  assert(await cache.get(["a"]) === null);
  assertEquals(cache.bytes, 0);
});
