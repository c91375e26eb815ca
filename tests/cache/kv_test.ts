import { assert, assertEquals, assertMatch } from "@std/assert";
import { KvCache } from "../../lib/cache/kv.ts";
import { WriteBudget } from "../../lib/cache/write_budget.ts";
import { equalBytes, testCache } from "./cache_suite.ts";
import { randomBytes } from "./random_bytes.ts";
import { allEntries, type KvCall, watchedKv } from "./watched_kv.ts";

const ttlMs = 60_000;

testCache(
  "KvCache in memory",
  async (clock) => new KvCache(await Deno.openKv(":memory:"), { now: () => clock.nowMs }),
);

testCache("KvCache on a file", async (clock) => {
  const folder = await Deno.makeTempDir();
  const cache = new KvCache(await Deno.openKv(`${folder}/kv`), { now: () => clock.nowMs });
  const close = cache.close.bind(cache);
  return Object.assign(cache, {
    close: () =>
      close().then(() => Deno.remove(folder, { recursive: true })).catch((error) => {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      }),
  });
});

Deno.test("KvCache get() gives 20 MB back as they were set", async () => {
  const cache = new KvCache(await Deno.openKv(":memory:"));
  const value = randomBytes(20_000_000);
  await cache.set(["a"], value, { ttlMs });
  const entry = await cache.get(["a"]);
  assert(entry !== null && equalBytes(entry.value, value));
  await cache.close();
});

Deno.test("KvCache get() asks once for a small value, twice for a large one", async () => {
  const calls: KvCall[] = [];
  const cache = new KvCache(
    watchedKv(await Deno.openKv(":memory:"), (call) => void calls.push(call)),
  );
  await cache.set(["small"], randomBytes(59_000), { ttlMs });
  await cache.set(["large"], randomBytes(2_000_000), { ttlMs });
  calls.length = 0;
  assert(await cache.get(["small"]) !== null);
  assertEquals(calls, ["get"]);
  assert(await cache.get(["large"]) !== null);
  assertEquals(calls, ["get", "get", "list"]);
  await cache.close();
});

Deno.test("KvCache set() leaves no parts of what they replace", async () => {
  const kv = await Deno.openKv(":memory:");
  const cache = new KvCache(kv);
  for (const size of [2_900_000, 100_000, 10]) {
    await cache.set(["a"], randomBytes(size), { ttlMs });
    assertEquals((await allEntries(kv)).length, 1 + (size > 60_000 ? Math.ceil(size / 60_000) : 0));
  }
  await cache.set(["a"], randomBytes(200_000), { ttlMs });
  await cache.set(["a"], randomBytes(1), { ttlMs: 0 });
  assertEquals(await allEntries(kv), []);
  await cache.close();
});

Deno.test("KvCache set() by several handles at once leaves one whole value and no other parts", async () => {
  const folder = await Deno.makeTempDir();
  const kvs = await Promise.all([1, 2, 3].map(() => Deno.openKv(`${folder}/kv`)));
  const errors: unknown[] = [];
  const caches = kvs.map((kv) => new KvCache(kv, { onError: (error) => errors.push(error) }));
  const values = kvs.map(() => randomBytes(130_000));
  await Promise.all(caches.map((cache, i) => cache.set(["a"], values[i]!, { ttlMs })));
  assertEquals(errors, []);
  const entries = await Promise.all(caches.map((cache) => cache.get(["a"])));
  for (const entry of entries) {
    assert(entry !== null && values.some((value) => equalBytes(entry.value, value)));
  }
  assertEquals((await allEntries(kvs[0]!)).length, 4);
  await Promise.all(caches.map((cache) => cache.close()));
  await Deno.remove(folder, { recursive: true });
});

Deno.test("KvCache get() gives the value before one that was never written to its end", async () => {
  const kv = await Deno.openKv(":memory:");
  let commits = 0;
  const errors: unknown[] = [];
  const cache = new KvCache(
    watchedKv(kv, (call) => {
      if (call === "commit" && ++commits > 1) throw new Error("disk full");
    }),
    { onError: (error) => errors.push(error) },
  );
  const value = randomBytes(10);
  await cache.set(["a"], value, { ttlMs });
  await cache.set(["a"], randomBytes(2_000_000), { ttlMs });
  assertEquals(String(errors), "Error: disk full");
  assertEquals((await cache.get(["a"]))?.value, value);
  commits = 0;
  await cache.set(["a"], randomBytes(600_000), { ttlMs });
  assert((await allEntries(kv)).length > 1, "parts without a manifest");
  assertEquals((await cache.get(["a"]))?.value, value);
  await cache.close();
});

Deno.test("KvCache set() gives way where the key is written all the time", async () => {
  const kv = await Deno.openKv(":memory:");
  const others = new KvCache(kv);
  const theirs = randomBytes(100_000);
  const cache = new KvCache(watchedKv(kv, async (call) => {
    if (call === "commit") await others.set(["a"], theirs, { ttlMs });
  }));
  await cache.set(["a"], randomBytes(200_000), { ttlMs });
  assertEquals((await cache.get(["a"]))?.value, theirs);
  assertEquals((await allEntries(kv)).length, 3);
  await cache.close();
});

Deno.test("KvCache asks a locked database again, and reports one that stays locked once", async () => {
  let locks = 19;
  let pauses = 0;
  const errors: unknown[] = [];
  const kv = watchedKv(await Deno.openKv(":memory:"), (call) => {
    if (call === "commit" && locks-- > 0) throw new TypeError("database is locked");
  });
  const cache = new KvCache(kv, {
    onError: (error) => errors.push(error),
    sleep: (ms) => {
      pauses++;
      assert(ms >= 0 && ms <= 50, `${ms}`);
      return Promise.resolve();
    },
  });
  await cache.set(["a"], randomBytes(10), { ttlMs });
  assert(await cache.get(["a"]) !== null);
  assertEquals([errors, pauses], [[], 19]);
  locks = 20;
  await cache.set(["b"], randomBytes(10), { ttlMs });
  assert(await cache.get(["b"]) === null);
  assertEquals([String(errors), pauses], ["TypeError: database is locked", 38]);
  await cache.close();
});

Deno.test("KvCache gives up a store that does not answer and lets it rest", async () => {
  let calls = 0;
  let hangs = true;
  let nowMs = 0;
  const errors: unknown[] = [];
  const kv = watchedKv(await Deno.openKv(":memory:"), () => {
    calls++;
    return hangs ? new Promise(() => {}) : Promise.resolve();
  });
  let alarms = 0;
  const cache = new KvCache(kv, {
    ...{ timeoutMs: 300, restMs: 1_000, now: () => nowMs },
    alarm: (ms, ring) => {
      assertEquals(ms, 300);
      alarms++;
      if (hangs) ring();
      return () => void alarms--;
    },
    onError: (error) => errors.push(error),
  });
  assert(await cache.get(["a"]) === null);
  assertMatch(String(errors), /^Error: Cannot reach the key-value store: no answer in 300 ms$/);
  hangs = false;
  nowMs = 999;
  await cache.set(["a"], randomBytes(10), { ttlMs });
  assertEquals([await cache.get(["a"]), calls, errors.length], [null, 1, 1]);
  nowMs = 1_000;
  await cache.set(["a"], randomBytes(10), { ttlMs });
  assert(await cache.get(["a"]) !== null);
  assertEquals(alarms, 0);
  await cache.close();
});

Deno.test("KvCache gives up a store that is locked for as long as one call may take", async () => {
  const rings: (() => void)[] = [];
  let calls = 0;
  let pauses = 0;
  const errors: unknown[] = [];
  const kv = watchedKv(await Deno.openKv(":memory:"), () => {
    calls++;
    throw new TypeError("database is locked");
  });
  const cache = new KvCache(kv, {
    ...{ timeoutMs: 300, now: () => 0 },
    alarm: (_ms, ring) => {
      rings.push(ring);
      return () => {};
    },
    sleep: () => {
      if (++pauses === 3) rings[0]!();
      return Promise.resolve();
    },
    onError: (error) => errors.push(error),
  });
  assert(await cache.get(["a"]) === null);
  // Whatever still asks in the background would have done so by then.
  await new Promise((resolve) => setTimeout(resolve, 0));
  assertEquals([calls, rings.length], [3, 1]);
  assertMatch(String(errors), /^Error: Cannot reach the key-value store: no answer in 300 ms$/);
  await cache.close();
});

Deno.test("KvCache close() lets a write under way end", async () => {
  const folder = await Deno.makeTempDir();
  const errors: unknown[] = [];
  const cache = new KvCache(await Deno.openKv(`${folder}/kv`), {
    onError: (error) => errors.push(error),
  });
  const written = cache.set(["a"], randomBytes(3_000_000), { ttlMs });
  await Promise.all([cache.close(), written]);
  assertEquals(errors, []);
  const kept = new KvCache(await Deno.openKv(`${folder}/kv`));
  assert(await kept.get(["a"]) !== null);
  await kept.close();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("KvCache set() lets the store remove what has been dead for a minute", async () => {
  const kv = await Deno.openKv(":memory:");
  const lives: unknown[] = [];
  const atomic = kv.atomic.bind(kv);
  kv.atomic = () => {
    const operation = atomic();
    const set = operation.set.bind(operation);
    operation.set = (key, value, options) => {
      lives.push(options?.expireIn);
      return set(key, value, options);
    };
    return operation;
  };
  const cache = new KvCache(kv, { now: () => 0 });
  for (const ttlMs of [1_000, 0.5]) await cache.set(["a"], randomBytes(70_000), { ttlMs });
  assertEquals(lives, [61_000, 61_000, 61_000, 60_001, 60_001, 60_001]);
  await cache.close();
});

Deno.test("KvCache answers as empty and reports when its store fails", async () => {
  const kv = await Deno.openKv(":memory:");
  const errors: unknown[] = [];
  const cache = new KvCache(kv, { onError: (error) => errors.push(error) });
  kv.close();
  assert(await cache.get(["a"]) === null);
  await cache.set(["a"], randomBytes(10), { ttlMs });
  await cache.set(["a"], randomBytes(1), { ttlMs: 0 });
  assertEquals(errors.length, 3);
  await cache.close();
});

Deno.test("KvCache has nothing under a key that KV cannot hold, and no error", async () => {
  const errors: unknown[] = [];
  const kv = await Deno.openKv(":memory:");
  const cache = new KvCache(kv, { onError: (error) => errors.push(error) });
  for (const key of [["a".repeat(2_000)], ["\0".repeat(1_000)], ["\ud800"], ["a", "b\udfff"]]) {
    await cache.set(key, randomBytes(10), { ttlMs });
    assert(await cache.get(key) === null);
    await cache.set(key, randomBytes(1), { ttlMs: 0 });
  }
  // As large as it may be, on each way there is.
  for (const key of [["\0".repeat(949)], ["é".repeat(949)], Array<string>(950).fill("")]) {
    for (const size of [0, 700_000, 3_000_000]) {
      await cache.set(key, randomBytes(size), { ttlMs });
      assertEquals((await cache.get(key))?.value.length, size);
    }
    await cache.set(key, randomBytes(1), { ttlMs: 0 });
  }
  assertEquals(errors, []);
  assertEquals(await allEntries(kv), []);
  await cache.close();
});

Deno.test("KvCache set() past its budget writes nothing and forgets what was there", async () => {
  const kv = await Deno.openKv(":memory:");
  const budget = new WriteBudget({ maxBytesPerHour: 250_000, now: () => 0 });
  const cache = new KvCache(kv, { budget });
  await cache.set(["a"], randomBytes(100_000), { ttlMs });
  await cache.set(["text"], new Uint8Array(1_000_000), { ttlMs });
  await cache.set(["b"], randomBytes(100_000), { ttlMs });
  await cache.set(["a"], randomBytes(100_000), { ttlMs });
  assert(await cache.get(["a"]) === null);
  assert(await cache.get(["b"]) !== null && await cache.get(["text"]) !== null);
  assertEquals((await allEntries(kv)).length, 4);
  await cache.close();
});

Deno.test("KvCache set() with a budget of 0 writes nothing", async () => {
  const calls: KvCall[] = [];
  const cache = new KvCache(
    watchedKv(await Deno.openKv(":memory:"), (call) => void calls.push(call)),
    { budget: new WriteBudget({ maxBytesPerHour: 0 }) },
  );
  await cache.set(["a"], new Uint8Array(0), { ttlMs });
  assertEquals(calls.includes("commit"), false);
  await cache.close();
});

Deno.test("KvCache set() of a value over maxValueBytes forgets what was there", async () => {
  const kv = await Deno.openKv(":memory:");
  const cache = new KvCache(kv, { maxValueBytes: 1_000 });
  await cache.set(["a"], new Uint8Array(1_000), { ttlMs });
  assert(await cache.get(["a"]) !== null);
  await cache.set(["a"], new Uint8Array(1_001), { ttlMs });
  assertEquals(await allEntries(kv), []);
  await cache.close();
});
