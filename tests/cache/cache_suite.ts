// What every implementation of the cache port must do, whatever it keeps its bytes in.

import { assert, assertEquals } from "@std/assert";
import type { Cache, CacheKey } from "../../lib/cache/cache.ts";
import { randomBytes } from "./random_bytes.ts";

/** The time, as a test sets it. */
export interface Clock {
  nowMs: number;
}

/** Registers the tests of the port; `open` gives an empty cache that goes by the clock. */
export function testCache(name: string, open: (clock: Clock) => Promise<Cache>): void {
  const test = (behaviour: string, run: (cache: Cache, clock: Clock) => Promise<void>) =>
    Deno.test(`${name} ${behaviour}`, async () => {
      const clock = { nowMs: 1_000_000 };
      const cache = await open(clock);
      try {
        await run(cache, clock);
      } finally {
        await cache.close();
      }
    });
  const ttlMs = 60_000;

  test("get() gives null for a key that was never set", async (cache) => {
    assert(await cache.get(["a"]) === null);
  });

  for (const size of [0, 1, 199, 200, 59_990, 60_000, 65_535, 65_536, 65_537, 300_000]) {
    test(`get() gives ${size} bytes back as they were set`, async (cache) => {
      for (const value of [randomBytes(size), new Uint8Array(size).fill(97)]) {
        await cache.set(["a", "b"], value, { ttlMs });
        assertEquals(await cache.get(["a", "b"]), { value, diesAtMs: 1_060_000 });
      }
    });
  }

  test("get() gives 5 MB back as they were set", async (cache) => {
    const value = randomBytes(5_000_000);
    await cache.set(["a"], value, { ttlMs });
    const entry = await cache.get(["a"]);
    assert(entry !== null && equalBytes(entry.value, value));
  });

  test("set() replaces a value, by a larger and a smaller one", async (cache) => {
    for (const size of [10, 200_000, 500_000, 70_000, 3]) {
      const value = randomBytes(size);
      await cache.set(["a"], value, { ttlMs });
      assertEquals((await cache.get(["a"]))?.value, value);
    }
  });

  test("set() of a view keeps the view alone", async (cache) => {
    const view = randomBytes(1_000).subarray(100, 200);
    await cache.set(["a"], view, { ttlMs });
    const entry = await cache.get(["a"]);
    assertEquals(entry?.value, view);
    assertEquals(entry?.value.buffer.byteLength, 100);
  });

  test("get() gives a value until its time and not from then on", async (cache, clock) => {
    await cache.set(["small"], randomBytes(10), { ttlMs: 500 });
    await cache.set(["large"], randomBytes(200_000), { ttlMs: 500 });
    clock.nowMs += 499;
    assert(await cache.get(["small"]) !== null && await cache.get(["large"]) !== null);
    clock.nowMs += 1;
    assert(await cache.get(["small"]) === null);
    assert(await cache.get(["large"]) === null);
  });

  test("set() takes a life without end", async (cache, clock) => {
    await cache.set(["a"], randomBytes(10), { ttlMs: Infinity });
    clock.nowMs += 1e12;
    assertEquals((await cache.get(["a"]))?.diesAtMs, Infinity);
  });

  for (const deadMs of [0, -1, NaN, -Infinity]) {
    test(`set() with a life of ${deadMs} ms forgets one key`, async (cache) => {
      for (const key of [["a"], ["a", "b"], ["b"]]) {
        await cache.set(key, randomBytes(100_000), { ttlMs });
      }
      await cache.set(["a"], randomBytes(10), { ttlMs: deadMs });
      await cache.set(["never set"], randomBytes(10), { ttlMs: deadMs });
      assert(await cache.get(["a"]) === null);
      assert(await cache.get(["a", "b"]) !== null && await cache.get(["b"]) !== null);
    });
  }

  test("get() tells keys apart by their parts", async (cache) => {
    const keys: CacheKey[] = [
      ...[["a"], ["a", "b"], ["b", "a"], ["a/b"], ["a", ""], ["", "a"], ["a,b"], [`a","b`], ["A"]],
      ...[["p", "a"], ["a", "p"], ["a", "m"], ["é"], ["e\u0301"], ["a\0b"], ["a\0", "b"], ["1"]],
    ];
    const values = keys.map((_, i) => randomBytes(i % 2 === 0 ? 10 : 70_000));
    await Promise.all(keys.map((key, i) => cache.set(key, values[i]!, { ttlMs })));
    for (const [i, key] of keys.entries()) {
      assertEquals((await cache.get(key))?.value, values[i], JSON.stringify(key));
    }
  });

  test("set() takes a key of 1,500 bytes", async (cache) => {
    const key = ["é".repeat(500), ...Array.from({ length: 50 }, () => "a".repeat(10))];
    const value = randomBytes(100_000);
    await cache.set(key, value, { ttlMs });
    assertEquals((await cache.get(key))?.value, value);
  });

  test("get() gives one of the values of sets at once, whole", async (cache) => {
    const values = [10, 70_000, 150_000, 150_000, 20, 90_000].map(randomBytes);
    await Promise.all(values.map((value) => cache.set(["a"], value, { ttlMs })));
    const entry = await cache.get(["a"]);
    assert(values.some((value) => entry !== null && equalBytes(entry.value, value)));
  });

  test("close() lets calls under way end and answers as empty after", async (cache) => {
    await cache.set(["a"], randomBytes(200_000), { ttlMs });
    const calls = [
      ...[cache.get(["a"]), cache.get(["b"])],
      ...[
        cache.set(["b"], randomBytes(500_000), { ttlMs }),
        cache.set(["a"], randomBytes(0), { ttlMs: 0 }),
      ],
    ];
    const closed = cache.close();
    assert(await cache.get(["a"]) === null);
    await cache.set(["a"], randomBytes(10), { ttlMs });
    await Promise.all([...calls, closed, cache.close()]);
    assert(await cache.get(["a"]) === null);
  });
}

/** Byte by byte; `assertEquals` takes long over megabytes. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
