import {
  assert,
  assertEquals,
  assertLessOrEqual,
  assertMatch,
} from "@std/assert";
import {
  type CacheKey,
  KvTier,
  type KvTierOptions,
} from "../../lib/cache/kv_tier.ts";
import { MAX_VALUE_BYTES } from "../../lib/cache/kv_value.ts";
import {
  openFile,
  type SharedStore,
  testOnEachStore,
} from "../kv_connect/shared_stores.ts";
import { TestClock, turns } from "../test_clock.ts";
import {
  allEntries,
  equalBytes,
  type KvCall,
  letters,
  randomBytes,
  watchedKv,
} from "./watched_kv.ts";

const ttlMs = 60_000;
const HOUR_MS = 3_600_000;

/** A tier on a store, and what reached the store. */
async function open(
  store: SharedStore,
  { before = () => {}, ...options }:
    & Partial<KvTierOptions>
    & { before?: (call: KvCall) => void | Promise<void> } = {},
) {
  const calls: KvCall[] = [];
  const errors: unknown[] = [];
  const clock = new TestClock();
  const kv = await store.open();
  const watched = watchedKv(kv, (call) => {
    calls.push(call);
    return before(call);
  });
  const tier = new KvTier(() => Promise.resolve(watched), {
    clock,
    scope: "s",
    maxBytesPerHour: 1e9,
    onError: (error) => errors.push(error),
    ...options,
  });
  /** One value, from the store: what waits to be written is written first. */
  const stored = async (key: CacheKey) => {
    await tier.flush();
    return (await tier.get([key]))[0]!;
  };
  return {
    tier,
    kv,
    clock,
    calls,
    errors,
    stored,
    [Symbol.asyncDispose]: () => tier.close(),
  };
}

testOnEachStore("KvTier gives the bytes back that fit", async (store) => {
  await using opened = await open(store);
  const { tier, kv, stored, errors } = opened;
  for (const value of [0, 1, 300, 65_000].map(randomBytes)) {
    tier.set(["a", "b"], value, { ttlMs });
    assert(equalBytes(await stored(["a", "b"]), value), `${value.length}`);
  }
  const text = new Uint8Array(MAX_VALUE_BYTES).map((_, i) => 97 + i % 7);
  tier.set(["text"], text, { ttlMs });
  assert(equalBytes(await stored(["text"]), text));
  assertEquals(await tier.get([["a"], ["never set"]]), [null, null]);
  const sizes = (await allEntries(kv)).map(({ value }) =>
    (value as Uint8Array).buffer.byteLength
  );
  assertEquals(sizes.length, 2);
  assertLessOrEqual(Math.max(...sizes), 65_536);
  assertEquals(errors, []);
});

testOnEachStore(
  "KvTier set() drops long values, and writes beyond 8 MiB that wait",
  async (store) => {
    await using opened = await open(store);
    const { tier, kv } = opened;
    const zeros = new Uint8Array(1 << 20);
    for (let n = 0; n < 10; n++) tier.set([`${n}`], zeros, { ttlMs });
    tier.set(["essential"], zeros, { ttlMs, isEssential: true });
    await tier.flush();
    assertEquals((await allEntries(kv)).length, 9);
    tier.set(["later"], zeros, { ttlMs });
    tier.set(["long"], new Uint8Array((1 << 20) + 1), { ttlMs });
    await tier.flush();
    assertEquals((await allEntries(kv)).length, 10);
  },
);

testOnEachStore(
  "KvTier get() reads ten keys a call, all at once",
  async (store) => {
    let [running, most] = [0, 0];
    await using opened = await open(store, {
      async before() {
        most = Math.max(most, ++running);
        await turns();
        running--;
      },
    });
    const { tier, calls } = opened;
    const keys = Array.from({ length: 25 }, (_, index) => [`${index}`]);
    keys.forEach((key, n) => tier.set(key, new Uint8Array(n), { ttlMs }));
    await tier.flush();
    calls.length = 0;
    const lengths = (await tier.get(keys)).map((value) => value?.length);
    assertEquals(lengths, keys.map((_, n) => n));
    assertEquals([most, calls], [3, ["getMany", "getMany", "getMany"]]);
  },
);

testOnEachStore(
  "KvTier gathers writes into few commits, without reading",
  async (store) => {
    await using opened = await open(store);
    const { tier, clock, calls, kv } = opened;
    for (let index = 0; index < 20; index++) {
      tier.set([`${index}`], randomBytes(1_000), { ttlMs });
    }
    tier.set(["0"], randomBytes(500), { ttlMs });
    assertEquals(calls, []);
    clock.advance(500);
    for (let n = 0; n < 200 && calls.length === 0; n++) {
      await turns();
    }
    assertEquals(calls, ["commit"]);
    await tier.flush();
    assertEquals([calls, (await allEntries(kv)).length], [["commit"], 20]);
    assertEquals((await tier.get([["0"]]))[0]!.length, 500, "the last write");
  },
);

for (
  const [of, bytes, commits] of [["bytes", 60_000, 6], [
    "bytes of keys",
    10,
    2,
  ]] as const
) {
  testOnEachStore(
    `KvTier commits at once what a store takes, by ${of}`,
    async (store) => {
      await using opened = await open(store);
      const { tier, calls, errors, stored } = opened;
      const keys = Array.from(
        { length: 60 },
        (_, index) => [`${"é".repeat(900)}${index}`],
      );
      for (const key of keys) tier.set(key, randomBytes(bytes), { ttlMs });
      await tier.flush();
      assertEquals([calls.length, errors], [commits, []]);
      assertEquals((await stored(keys[59]!))?.length, bytes);
    },
  );
}

testOnEachStore("KvTier tells keys and scopes apart", async (store) => {
  await using opened = await open(store);
  const { tier, kv, clock, stored, errors } = opened;
  const keys: CacheKey[] = [
    ["a", "b"],
    ["b", "a"],
    ["a", ""],
    ["a\0b"],
    ["é".repeat(940)],
  ];
  const values = keys.map(() => randomBytes(10));
  keys.forEach((key, i) => tier.set(key, values[i]!, { ttlMs }));
  await tier.flush();
  assertEquals(await tier.get(keys), values);
  const options = { clock, scope: "other", maxBytesPerHour: 0 };
  const other = new KvTier(() => Promise.resolve(kv), options);
  assertEquals(await other.get(keys), keys.map(() => null));
  other.set(keys[0]!, randomBytes(10), { ttlMs, isEssential: true });
  await other.flush();
  const value = await stored(keys[0]!);
  assertEquals(value, values[0], "the other scope's value is beside it");
  assertEquals(errors, []);
});

testOnEachStore(
  "KvTier retries a locked database and reports failures once",
  async (store) => {
    let [error, failures] = ["database is locked", 99];
    await using opened = await open(store, {
      before: (call) => {
        if (call === "commit" && failures-- > 0) throw new TypeError(error);
      },
    });
    const { tier, stored, errors } = opened;
    const isStored = async (key: string) => {
      tier.set([key], randomBytes(10), { ttlMs });
      return await stored([key]) !== null;
    };
    assert(await isStored("a"));
    failures = 100;
    assert(!await isStored("b"));
    [error, failures] = ["disk full", 1];
    assert(!await isStored("c"));
    assertEquals(errors.map(String), [
      "TypeError: database is locked",
      "TypeError: disk full",
    ]);
  },
);

testOnEachStore(
  "KvTier retries a locked database until its time-out",
  async (store) => {
    const clock = new TestClock();
    let tries = 0;
    await using opened = await open(store, {
      clock,
      before: () => {
        if (++tries === 10) clock.advance(2_000);
        throw new TypeError("database is locked");
      },
    });
    assertEquals(await opened.tier.get([["a"]]), [null]);
    await turns(2);
    assertEquals(tries, 10);
  },
);

testOnEachStore(
  "KvTier does not call a store for 30 s after three failures",
  async (store) => {
    let fails = true;
    await using opened = await open(store, {
      before: () => {
        if (fails) throw new Error("refused");
      },
    });
    const { tier, clock, calls, errors } = opened;
    for (let n = 0; n < 5; n++) await tier.get([["a"]]);
    assertEquals([calls.length, errors.length], [3, 3]);
    fails = false;
    clock.advance(29_999);
    await tier.get([["a"]]);
    assertEquals(calls.length, 3);
    clock.advance(1);
    await tier.get([["a"]]);
    assertEquals([calls.length, errors.length], [4, 3]);
  },
);

testOnEachStore(
  "KvTier leaves a silent store alone for 30 s",
  async (store) => {
    let hangs = true;
    await using opened = await open(store, {
      before: () => hangs ? new Promise(() => {}) : Promise.resolve(),
    });
    const { tier, clock, stored, errors, calls } = opened;
    const read = tier.get([["a"]]);
    await turns();
    clock.advance(2_000);
    assertEquals(await read, [null]);
    assertMatch(
      String(errors),
      /^Error: Cannot reach the key-value store: no answer in 2000 ms$/,
    );
    hangs = false;
    clock.setWallClock(clock.now() - 3_600_000);
    clock.advance(29_999);
    tier.set(["a"], randomBytes(10), { ttlMs });
    assertEquals([await stored(["a"]), calls.length, errors.length], [
      null,
      1,
      1,
    ]);
    clock.advance(1);
    tier.set(["a"], randomBytes(10), { ttlMs });
    assert(await stored(["a"]) !== null);
  },
);

testOnEachStore(
  "KvTier writes its budget in each hour",
  async (store) => {
    await using opened = await open(store, { maxBytesPerHour: 10_000 });
    const { tier, clock, stored } = opened;
    let id = 0;
    const writes = async (bytes: number, isEssential = false) => {
      const key = [`${id++}`];
      tier.set(key, randomBytes(bytes), { ttlMs: 24 * HOUR_MS, isEssential });
      return await stored(key) !== null;
    };
    assertEquals([await writes(6_000), await writes(6_000)], [true, false]);
    assertEquals(await writes(3_000), true);
    assertEquals(await writes(50_000, true), true);
    clock.advance(HOUR_MS - 1);
    clock.setWallClock(clock.now() - 2 * HOUR_MS);
    assertEquals(
      await writes(3_000),
      false,
      "by the clock that never goes back",
    );
    clock.advance(1);
    assertEquals([await writes(9_000), await writes(3_000)], [true, false]);
  },
);

Deno.test("KvTier close() writes what is pending", async () => {
  await using store = await openFile();
  const { tier, clock } = await open(store);
  const keys = Array.from({ length: 30 }, (_, i) => [`${i}`]);
  for (const key of keys) tier.set(key, randomBytes(50_000), { ttlMs });
  await Promise.all([tier.close(), tier.close()]);
  tier.set(["late"], randomBytes(1), { ttlMs });
  assertEquals(await tier.get([["late"], ["0"]]), [null, null]);
  await using again = await open(store, { clock });
  assert((await again.tier.get(keys)).every((value) => value !== null));
});

Deno.test("KvTier close() reports no reads that it ends", async () => {
  await using store = await openFile();
  const { tier, errors } = await open(store, {
    before: (call) => call === "getMany" ? turns() : undefined,
  });
  const reading = tier.get([["a"]]);
  await tier.close();
  assertEquals([await reading, errors], [[null], []]);
});

testOnEachStore("KvTier flush() yields between values", async (store) => {
  await using opened = await open(store);
  const value = letters().subarray(0, MAX_VALUE_BYTES);
  for (let n = 0; n < 64; n++) {
    opened.tier.set([`${n}`], value, { ttlMs, isEssential: true });
  }
  let isDone = false;
  const flushed = opened.tier.flush().then(() => isDone = true);
  let count = 0;
  while (!isDone) {
    count++;
    await turns();
  }
  await flushed;
  assertEquals(opened.calls, []);
  assert(count > 3, `${count} turns`);
});
