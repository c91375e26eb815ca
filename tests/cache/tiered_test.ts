import { assert, assertEquals } from "@std/assert";
import type { Cache } from "../../lib/cache/cache.ts";
import { KvCache } from "../../lib/cache/kv.ts";
import { MemoryCache } from "../../lib/cache/memory.ts";
import { TieredCache, type TieredCacheOptions } from "../../lib/cache/tiered.ts";
import { testCache } from "./cache_suite.ts";
import { randomBytes } from "./random_bytes.ts";
import { type KvCall, watchedKv } from "./watched_kv.ts";

const ttlMs = 60_000;

for (const [name, maxBytes] of [["TieredCache", 64_000_000], ["TieredCache without memory", 0]]) {
  testCache(name as string, async (clock) => {
    const now = () => clock.nowMs;
    const memory = new MemoryCache({ maxBytes: maxBytes as number, now });
    return new TieredCache([memory, new KvCache(await Deno.openKv(":memory:"), { now })], { now });
  });
}

/** Two tiers on a store whose calls can be held up, and what was heard of them. */
async function open(options: TieredCacheOptions & { maxBytes?: number } = {}) {
  const hits: string[] = [];
  const calls: KvCall[] = [];
  const gate: { open: Promise<void> } = { open: Promise.resolve() };
  const kv = watchedKv(await Deno.openKv(":memory:"), (call) => {
    calls.push(call);
    return gate.open;
  });
  const clock = { nowMs: 0 };
  const now = () => clock.nowMs;
  const memory = new MemoryCache({ maxBytes: options.maxBytes ?? 10_000_000, now });
  const slow = new KvCache(kv, { now });
  const onHit = (tier: string) => void hits.push(tier);
  const cache = new TieredCache([memory, slow], { onHit, now, ...options });
  /** Lets no call through until the function that it gives is called. */
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate.open = promise;
    return resolve;
  };
  return { cache, memory, slow, hits, calls, clock, hold };
}

Deno.test("TieredCache get() takes the first tier that has a value and fills the one before", async () => {
  const { cache, memory, slow, hits, clock } = await open();
  const value = randomBytes(100);
  await slow.set(["a"], value, { ttlMs: 1_000 });
  clock.nowMs = 400;
  assertEquals(await cache.get(["a"]), { value, diesAtMs: 1_000 });
  assertEquals(await memory.get(["a"]), { value, diesAtMs: 1_000 });
  await cache.get(["a"]);
  await cache.get(["b"]);
  assertEquals(hits, ["kv", "memory"]);
  clock.nowMs = 1_000;
  assert(await cache.get(["a"]) === null);
  await cache.close();
});

Deno.test("TieredCache get() reads the slow tier once for all who ask at once", async () => {
  const { cache, slow, calls } = await open();
  await slow.set(["a"], randomBytes(100), { ttlMs });
  calls.length = 0;
  const entries = await Promise.all(Array.from({ length: 50 }, () => cache.get(["a"])));
  assert(entries.every((entry) => entry !== null));
  assertEquals(calls, ["get"]);
  await cache.close();
});

Deno.test("TieredCache set() does not wait for the slow tier, settled() does", async () => {
  const { cache, slow, memory, hold } = await open();
  const release = hold();
  await cache.set(["a"], randomBytes(100), { ttlMs });
  assert(await memory.get(["a"]) !== null);
  release();
  await cache.settled();
  assert(await slow.get(["a"]) !== null);
  await cache.close();
});

Deno.test("TieredCache close() writes what still waits", async () => {
  const folder = await Deno.makeTempDir();
  const cache = new TieredCache([
    new MemoryCache({ maxBytes: 10_000_000 }),
    new KvCache(await Deno.openKv(`${folder}/kv`)),
  ]);
  for (let i = 0; i < 30; i++) await cache.set([`${i}`], randomBytes(70_000), { ttlMs });
  await cache.close();
  const kept = new KvCache(await Deno.openKv(`${folder}/kv`));
  for (let i = 0; i < 30; i++) assert(await kept.get([`${i}`]) !== null, `${i}`);
  await kept.close();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("TieredCache get() gives what was set last while it waits to be written", async () => {
  const { cache, hold, slow } = await open({ maxBytes: 0 });
  await slow.set(["a"], randomBytes(100), { ttlMs });
  await slow.set(["b"], randomBytes(100), { ttlMs });
  const release = hold();
  const values = [100, 200, 300].map(randomBytes);
  for (const value of values) await cache.set(["a"], value, { ttlMs });
  await cache.set(["b"], randomBytes(1), { ttlMs: 0 });
  assertEquals((await cache.get(["a"]))?.value, values[2]);
  assert(await cache.get(["b"]) === null);
  release();
  await cache.settled();
  assertEquals((await slow.get(["a"]))?.value, values[2]);
  assert(await slow.get(["b"]) === null);
  await cache.close();
});

Deno.test("TieredCache get() does not put an older value over one that was set meanwhile", async () => {
  const { cache, hold, slow, memory } = await open();
  await slow.set(["a"], randomBytes(100), { ttlMs });
  await slow.set(["b"], randomBytes(100), { ttlMs });
  const release = hold();
  const reads = [cache.get(["a"]), cache.get(["b"])];
  const value = randomBytes(200);
  await Promise.resolve();
  await cache.set(["a"], value, { ttlMs });
  await cache.set(["b"], randomBytes(1), { ttlMs: 0 });
  release();
  await Promise.all([...reads, cache.settled()]);
  assertEquals((await memory.get(["a"]))?.value, value);
  assert(await memory.get(["b"]) === null);
  assertEquals((await cache.get(["a"]))?.value, value);
  assert(await cache.get(["b"]) === null);
  await cache.close();
});

Deno.test("TieredCache set() keeps no more than maxWaitingBytes for the slow tier", async () => {
  const { cache, hold, slow } = await open({ maxWaitingBytes: 1_000 });
  await slow.set(["3"], randomBytes(10), { ttlMs });
  const release = hold();
  for (let i = 0; i < 4; i++) await cache.set([`${i}`], randomBytes(400), { ttlMs });
  for (let i = 0; i < 4; i++) assert(await cache.get([`${i}`]) !== null);
  release();
  await cache.settled();
  const kept = await Promise.all([0, 1, 2, 3].map((i) => slow.get([`${i}`])));
  assertEquals(kept.map((entry) => entry?.value.length), [400, 400, undefined, undefined]);
  await cache.set(["3"], randomBytes(400), { ttlMs });
  await cache.settled();
  assert(await slow.get(["3"]) !== null, "room again once all is written");
  await cache.close();
});

Deno.test("TieredCache set() gives the slow tier the rest of the life, not the whole", async () => {
  const { cache, hold, slow, clock } = await open();
  const release = hold();
  await cache.set(["a"], randomBytes(10), { ttlMs: 1_000 });
  await cache.set(["b"], randomBytes(10), { ttlMs: 100 });
  clock.nowMs = 500;
  release();
  await cache.settled();
  assertEquals((await slow.get(["a"]))?.diesAtMs, 1_000);
  assert(await slow.get(["b"]) === null);
  await cache.close();
});

Deno.test("TieredCache takes a tier that throws as a miss", async () => {
  const throws = () => Promise.reject(new Error("broken"));
  const broken: Cache = { name: "broken", get: throws, set: throws, close: throws };
  const value = randomBytes(10);
  for (const isFast of [true, false]) {
    const memory = new MemoryCache({ maxBytes: 10_000 });
    const cache = new TieredCache(isFast ? [broken, memory] : [memory, broken]);
    assert(await cache.get(["a"]) === null);
    await cache.set(["a"], value, { ttlMs });
    await cache.settled();
    assertEquals((await cache.get(["a"]))?.value, value);
    await cache.set(["a"], value, { ttlMs: 0 });
    await cache.settled();
    assert(await cache.get(["a"]) === null);
    await cache.close();
  }
});
