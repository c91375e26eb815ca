import { createHash } from "node:crypto";
import { assert, assertEquals, assertLessOrEqual, assertMatch } from "@std/assert";
import fc from "fast-check";
import { type CacheKey, KvTier, type KvTierOptions } from "../../lib/cache/kv_tier.ts";
import { encodeValue } from "../../lib/cache/kv_value.ts";
import { systemClock } from "../../lib/clock.ts";
import { openFile, type SharedStore, testOnEachStore } from "../kv_connect/shared_stores.ts";
import { TestClock } from "../test_clock.ts";
import { pattern } from "./kv_writer.ts";
import { allEntries, equalBytes, type KvCall, randomBytes, watchedKv } from "./watched_kv.ts";

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
  const tier = new KvTier(watched, {
    ...{ clock, scope: "s", maxBytesPerHour: 1e9 },
    onError: (error) => errors.push(error),
    ...options,
  });
  /** One value, from the store: what waits to be written is written first. */
  const stored = async (key: CacheKey) => {
    await tier.flush();
    return (await tier.get([key]))[0]!;
  };
  return { tier, kv, clock, calls, errors, stored, [Symbol.asyncDispose]: () => tier.close() };
}

const text = (size: number) => new Uint8Array(size).map((_, i) => 97 + (i * i) % 7);

testOnEachStore("KvTier gives bytes of every size back, deflated where large", async (store) => {
  await using opened = await open(store);
  const { tier, kv, stored, errors } = opened;
  for (const size of [0, 1, 64_000, 64_001, 262_145, 2_000_000, 3]) {
    for (const value of [randomBytes(size), text(size)]) {
      tier.set(["a", "b"], value, { ttlMs });
      assert(equalBytes(await stored(["a", "b"]), value), `${size}`);
    }
  }
  assertEquals(await tier.get([["a"], ["never set"]]), [null, null]);
  for (const { key, value } of await allEntries(kv)) {
    assertLessOrEqual((value as Uint8Array).buffer.byteLength, 65_536);
    await kv.delete(key);
  }
  tier.set(["a"], text(1_000_000), { ttlMs });
  await tier.flush();
  assertEquals([(await allEntries(kv)).length, errors], [1, []]);
});

testOnEachStore("KvTier reads ten keys a call, at once, and parts in one more", async (store) => {
  let [running, most] = [0, 0];
  await using opened = await open(store, {
    async before() {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 0));
      running--;
    },
  });
  const { tier, calls } = opened;
  const keys = Array.from({ length: 25 }, (_, index) => [`${index}`]);
  for (const key of keys) tier.set(key, randomBytes(10), { ttlMs });
  tier.set(["large"], randomBytes(2_000_000), { ttlMs });
  await tier.flush();
  calls.length = 0;
  assertEquals((await tier.get(keys)).filter((value) => value?.length === 10).length, 25);
  assertEquals(most, 3);
  await tier.get([["large"]]);
  assertEquals(calls, ["getMany", "getMany", "getMany", "getMany", "list"]);
});

testOnEachStore("KvTier gathers writes into few commits and reads nothing first", async (store) => {
  await using opened = await open(store);
  const { tier, clock, calls, kv, errors, stored } = opened;
  for (let index = 0; index < 20; index++) tier.set([`${index}`], randomBytes(1_000), { ttlMs });
  tier.set(["0"], randomBytes(500), { ttlMs });
  assertEquals((await tier.get([["0"]]))[0]!.length, 500, "the last write, not yet committed");
  assertEquals(calls, []);
  clock.advance(500);
  await tier.flush();
  assertEquals([calls, (await allEntries(kv)).length], [["commit"], 20]);

  // More than the store takes in one commit, by bytes and by bytes of keys.
  const keys = Array.from({ length: 60 }, (_, index) => [`${"é".repeat(900)}${index}`]);
  for (const key of keys) tier.set(key, randomBytes(60_000), { ttlMs });
  assertEquals((await stored(keys[59]!))?.length, 60_000);
  assertEquals(errors, []);
  assertLessOrEqual(calls.length, 9);
});

testOnEachStore("KvTier gives a value until its time and not from then on", async (store) => {
  await using opened = await open(store);
  const { tier, clock } = opened;
  tier.set(["small"], randomBytes(10), { ttlMs: 500 });
  tier.set(["large"], randomBytes(200_000), { ttlMs: 500 });
  await tier.flush();
  const found = async () => (await tier.get([["small"], ["large"]])).map((value) => value !== null);
  clock.advance(499);
  assertEquals(await found(), [true, true]);
  clock.advance(1);
  assertEquals(await found(), [false, false]);
});

testOnEachStore("KvTier tells keys and scopes apart, and drops keys too long", async (store) => {
  await using opened = await open(store);
  const { tier, kv, clock, stored, errors } = opened;
  const keys: CacheKey[] = [
    ...[["a"], ["a", "b"], ["b", "a"], ["a/b"], ["a", ""], ["", "a"], ["a,b"], [`a","b`], ["A"]],
    ...[["é"], ["e\u0301"], ["a\0b"], ["a\0", "b"], ["1"], ["\ud800"], ["\udfff"]],
    ["é".repeat(940)],
  ];
  const values = keys.map((_, i) => randomBytes(i % 2 === 0 ? 10 : 70_000));
  keys.forEach((key, i) => tier.set(key, values[i]!, { ttlMs }));
  for (const [i, key] of keys.entries()) {
    assert(equalBytes(await stored(key), values[i]!), JSON.stringify(key));
  }
  const other = new KvTier(kv, { clock, scope: "other", maxBytesPerHour: 0 });
  assertEquals(await other.get(keys), keys.map(() => null));
  for (const key of [["a".repeat(2_000)], ["\0".repeat(1_000)]]) {
    tier.set(key, randomBytes(10), { ttlMs });
    assertEquals(await stored(key), null);
  }
  assertEquals(errors, []);
});

testOnEachStore("KvTier retries a locked database, and reports what fails once", async (store) => {
  let [error, failures] = ["database is locked", 19];
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
  failures = 20;
  assert(!await isStored("b"));
  [error, failures] = ["disk full", 1];
  assert(!await isStored("c"));
  assertEquals(errors.map(String), [
    "TypeError: database is locked",
    "TypeError: disk full",
  ]);
});

testOnEachStore("KvTier does not call a store for 30 s after 2 s without answer", async (store) => {
  let hangs = true;
  await using opened = await open(store, {
    before: () => hangs ? new Promise(() => {}) : Promise.resolve(),
  });
  const { tier, clock, stored, errors, calls } = opened;
  const read = tier.get([["a"]]);
  clock.advance(2_000);
  assertEquals(await read, [null]);
  assertMatch(String(errors), /^Error: Cannot reach the key-value store: no answer in 2000 ms$/);
  hangs = false;
  clock.setWallClock(clock.now() - 3_600_000);
  clock.advance(29_999);
  tier.set(["a"], randomBytes(10), { ttlMs });
  assertEquals([await stored(["a"]), calls.length, errors.length], [null, 1, 1]);
  clock.advance(1);
  tier.set(["a"], randomBytes(10), { ttlMs });
  assert(await stored(["a"]) !== null);
});

testOnEachStore("KvTier writes its budget in each hour, essential values aside", async (store) => {
  await using opened = await open(store, { maxBytesPerHour: 10_000 });
  const { tier, clock, stored } = opened;
  let id = 0;
  const writes = async (bytes: number, isEssential = false) => {
    const key = [`${id++}`];
    tier.set(key, randomBytes(bytes), { ttlMs: 24 * HOUR_MS, isEssential });
    return await stored(key) !== null;
  };
  assertEquals([await writes(6_000), await writes(6_000), await writes(3_000)], [
    true,
    false,
    true,
  ]);
  assertEquals(await writes(50_000, true), true);
  clock.advance(HOUR_MS - 1);
  clock.setWallClock(clock.now() - 2 * HOUR_MS);
  assertEquals(await writes(3_000), false, "by the clock that never goes back");
  clock.advance(1);
  assertEquals([await writes(9_000), await writes(3_000)], [true, false]);
});

Deno.test("KvTier close() writes what is pending, and later calls answer as empty", async () => {
  await using store = await openFile();
  const { tier, clock } = await open(store);
  const keys = Array.from({ length: 30 }, (_, i) => [`${i}`]);
  for (const key of keys) tier.set(key, randomBytes(70_000), { ttlMs });
  await Promise.all([tier.close(), tier.close()]);
  tier.set(["late"], randomBytes(1), { ttlMs });
  assertEquals(await tier.get([["late"], ["0"]]), [null, null]);
  await using again = await open(store, { clock });
  assert((await again.tier.get(keys)).every((value) => value !== null));
});

Deno.test("KvTier of two processes on one file share values and never see half of one", async () => {
  await using store = await openFile();
  await using opened = await open(store, { clock: systemClock });
  const { tier, errors } = opened;
  let isRunning = true;
  const other = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--unstable-kv", `${import.meta.dirname}/kv_writer.ts`, store.path],
  }).output().finally(() => isRunning = false);
  let found = 0;
  for (let i = 0; isRunning; i++) {
    if (i % 10 === 0) tier.set(["both"], pattern(i % 128), { ttlMs });
    await tier.flush();
    const [value] = await tier.get([["both"]]);
    if (!value) continue;
    found++;
    assert(equalBytes(value, pattern(value[0]!)));
  }
  const { code, stderr } = await other;
  assertEquals([code, new TextDecoder().decode(stderr), errors], [0, "", []]);
  assert(equalBytes((await tier.get([["theirs"]]))[0]!, pattern(7)));
  assert(found > 0);
});

testOnEachStore(
  "KvTier takes no record of another key, nor one with a changed byte",
  async (store) => {
    await using opened = await open(store);
    const { tier, kv } = opened;
    const keys = [["a"], ["b"]];
    for (const key of keys) tier.set(key, randomBytes(10), { ttlMs });
    await tier.flush();
    const [one, other] = await allEntries(kv) as Deno.KvEntry<Uint8Array>[];
    for (let at = 0; at < one!.value.length; at++) {
      const changed = one!.value.map((byte, index) => index === at ? byte ^ 1 : byte);
      await kv.set(one!.key, changed);
      assertEquals([at, (await tier.get(keys)).filter((value) => value !== null).length], [at, 1]);
    }
    await kv.atomic().set(one!.key, other!.value).set(other!.key, one!.value).commit();
    assertEquals(await tier.get(keys), [null, null]);
  },
);

testOnEachStore("KvTier takes no content that does not inflate, or past 64 MiB", async (store) => {
  await using opened = await open(store);
  const { tier, kv, clock, errors } = opened;
  const [key, id] = [["a"], 's\n["a"]'];
  const write = async (size: number, change: (record: Uint8Array) => void = () => {}) => {
    const value = new Uint8Array(size);
    const { record, parts, partsId } = await encodeValue(id, value, clock.now() + ttlMs);
    change(record);
    await kv.set(["rc2", "value", "s", '["a"]'], record);
    for (const [n, part] of parts.entries()) await kv.set(["rc2", "parts", "s", partsId, n], part);
    return (await tier.get([key]))[0]?.length;
  };
  assertEquals(await write(1 << 20), 1 << 20);
  assertEquals(await write((64 << 20) + 1), undefined);
  const asDeflated = (record: Uint8Array) => {
    record[15] = 1;
    const [fields, content] = [record.subarray(0, 16), record.subarray(48)];
    record.set(createHash("sha256").update(id).update(fields).update(content).digest(), 16);
  };
  assertEquals(await write(100, asDeflated), undefined);
  assertEquals(errors, []);
});

// Keys that lie below one another, so that parts could be mistaken for another key's.
const KEYS = [["a"], ["a", "b"], ["b"]];
const at = fc.nat();
const damages = fc.array(
  fc.record({ kind: fc.constantFrom("delete", "cut", "flip", "retype", "swap"), at, to: at }),
  { minLength: 1, maxLength: 8 },
);
const writes = fc.array(
  fc.record({ key: fc.nat(2), size: fc.constantFrom(0, 300, 64_000, 130_000, 200_000) }),
  { minLength: 2, maxLength: 6 },
);

testOnEachStore(
  "KvTier gives a value as it was written under its key, or null, whatever the damage",
  async (store) => {
    let values = 0;
    let misses = 0;
    await using opened = await open(store);
    const { tier, kv } = opened;
    await fc.assert(
      fc.asyncProperty(writes, damages, async (writes, damages) => {
        for (const { key } of await allEntries(kv)) await kv.delete(key);
        const written = KEYS.map((): Uint8Array[] => []);
        for (const { key, size } of writes) {
          const value = randomBytes(size);
          tier.set(KEYS[key]!, value, { ttlMs });
          await tier.flush();
          written[key]!.push(value);
        }
        for (const damage of damages) await apply(kv, damage);
        for (const [i, value] of (await tier.get(KEYS)).entries()) {
          if (value === null) misses++;
          else {
            values++;
            assert(written[i]!.some((one) => equalBytes(value, one)));
          }
        }
      }),
      { numRuns: 25 },
    );
    assert(values > 0 && misses > 0, `${values} values, ${misses} misses`);
  },
);

type Damage = ReturnType<typeof damages.generate>["value"][number];

async function apply(kv: Deno.Kv, { kind, at, to }: Damage): Promise<void> {
  const entries = await allEntries(kv);
  if (entries.length === 0) return;
  const { key, value } = entries[at % entries.length]!;
  const bytes = value instanceof Uint8Array ? value : new Uint8Array(1);
  if (kind === "delete") await kv.delete(key);
  else if (kind === "cut") await kv.set(key, bytes.slice(0, to % (bytes.length + 1)));
  else if (kind === "retype") await kv.set(key, "another type");
  else if (kind === "swap") {
    const other = entries[to % entries.length]!;
    await kv.atomic().set(key, other.value).set(other.key, value).commit();
  } else {
    if (bytes.length > 0) bytes[to % bytes.length]! ^= 1;
    await kv.set(key, bytes);
  }
}
