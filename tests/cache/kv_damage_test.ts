import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { KvCache } from "../../lib/cache/kv.ts";
import { equalBytes } from "./cache_suite.ts";
import { randomBytes } from "./random_bytes.ts";
import { allEntries } from "./watched_kv.ts";

// Keys that lie below one another, so that parts could be mistaken for another key's.
const KEYS = [["a"], ["a", "b"], ["b"]];
const SIZES = [0, 1, 300, 59_990, 60_000, 130_000, 200_000];
const ttlMs = 60_000;

const writes = fc.array(fc.record({ key: fc.nat(2), size: fc.constantFrom(...SIZES) }), {
  minLength: 2,
  maxLength: 6,
});
const at = fc.nat();
const damages = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("delete" as const), entry: at }),
    fc.record({ kind: fc.constant("cut" as const), entry: at, at }),
    fc.record({ kind: fc.constant("flip" as const), entry: at, at }),
    fc.record({ kind: fc.constant("overwrite" as const), entry: at, with: fc.nat(65_000) }),
    fc.record({ kind: fc.constant("retype" as const), entry: at, with: fc.jsonValue() }),
    fc.record({ kind: fc.constant("swap" as const), entry: at, with: at }),
    // Puts back, under its own key or another, what was there at any time before.
    fc.record({ kind: fc.constant("restore" as const), entry: at, under: fc.option(at) }),
  ),
  { maxLength: 8 },
);
type Damage = ReturnType<typeof damages.generate>["value"][number];
type Entry = Pick<Deno.KvEntry<unknown>, "key" | "value">;

Deno.test("KvCache get() gives a value as it was written under its key, or null, whatever the damage", async () => {
  let values = 0;
  let misses = 0;
  const kv = await Deno.openKv(":memory:");
  const cache = new KvCache(kv);
  await fc.assert(
    fc.asyncProperty(writes, damages, async (writes, damages) => {
      for (const { key } of await allEntries(kv)) await kv.delete(key);
      const written = KEYS.map((): Uint8Array[] => []);
      const history: Entry[] = [];
      for (const { key, size } of writes) {
        const value = randomBytes(size);
        await cache.set(KEYS[key]!, value, { ttlMs });
        written[key]!.push(value);
        history.push(...await allEntries(kv));
      }
      for (const [i, key] of KEYS.entries()) {
        const entry = await cache.get(key);
        const last = written[i]!.at(-1);
        assert(last === undefined ? entry === null : entry && equalBytes(entry.value, last));
      }
      for (const damage of damages) await apply(kv, damage, history);
      for (const [i, key] of KEYS.entries()) {
        const entry = await cache.get(key);
        if (entry === null) misses++;
        else {
          values++;
          assert(written[i]!.some((value) => equalBytes(entry.value, value)));
        }
      }
    }),
    { numRuns: 150 },
  );
  await cache.close();
  assert(values > 30 && misses > 30, `${values} values, ${misses} misses`);
});

Deno.test("KvCache set() mends what was damaged", async () => {
  const kv = await Deno.openKv(":memory:");
  const cache = new KvCache(kv);
  for (const size of [10, 200_000]) {
    const value = randomBytes(size);
    await cache.set(["a"], value, { ttlMs });
    for (const { key } of await allEntries(kv)) await kv.set(key, "damaged");
    assert(await cache.get(["a"]) === null);
    await cache.set(["a"], value, { ttlMs });
    assertEquals((await cache.get(["a"]))?.value, value);
  }
  await cache.close();
});

async function apply(kv: Deno.Kv, damage: Damage, history: readonly Entry[]): Promise<void> {
  const entries = await allEntries(kv);
  if (entries.length === 0) return;
  const entry = entries[damage.entry % entries.length]!;
  const bytes = entry.value instanceof Uint8Array ? entry.value : new Uint8Array(1);
  switch (damage.kind) {
    case "delete":
      await kv.delete(entry.key);
      break;
    case "cut":
      await kv.set(entry.key, bytes.slice(0, damage.at % (bytes.length + 1)));
      break;
    case "flip":
      if (bytes.length > 0) bytes[damage.at % bytes.length]! ^= 1;
      await kv.set(entry.key, bytes);
      break;
    case "overwrite":
      await kv.set(entry.key, randomBytes(damage.with));
      break;
    case "retype":
      await kv.set(entry.key, damage.with);
      break;
    case "swap": {
      const other = entries[damage.with % entries.length]!;
      await kv.atomic().set(entry.key, other.value).set(other.key, entry.value).commit();
      break;
    }
    case "restore": {
      const old = history[damage.entry % history.length]!;
      const under = damage.under === null ? old : history[damage.under % history.length]!;
      await kv.set(under.key, old.value);
    }
  }
}
