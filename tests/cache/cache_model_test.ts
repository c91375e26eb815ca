// Every tier against a model: whatever is done to it, in whatever order, it gives what was last set, or nothing.

import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Cache } from "../../lib/cache/cache.ts";
import { KvCache } from "../../lib/cache/kv.ts";
import { MemoryCache } from "../../lib/cache/memory.ts";
import { ScopedCache } from "../../lib/cache/scoped.ts";
import { TieredCache } from "../../lib/cache/tiered.ts";
import { WriteBudget } from "../../lib/cache/write_budget.ts";

type Now = () => number;
type Step =
  | { do: "set"; key: number; length: number; fill: number; ttlMs: number }
  | { do: "get"; key: number }
  | { do: "wait"; ms: number };

const key = fc.nat({ max: 4 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant("set" as const),
    key,
    length: fc.constantFrom(0, 1, 500, 70_000, 200_000),
    fill: fc.nat({ max: 255 }),
    ttlMs: fc.constantFrom(0, 1, 1_000, 60_000, 86_400_000),
  }),
  fc.record({ do: fc.constant("get" as const), key }),
  fc.record({ do: fc.constant("wait" as const), ms: fc.constantFrom(1, 999, 60_000) }),
);

/** Keys that are near each other for whoever joins parts. */
const KEYS = [["a"], ["a", ""], ["a", "b"], ["a\u0000b"], ["ab"]];

/** Ways to open a tier; `mayForget` where what is set may be lost at any time. */
const TIERS: Record<string, { open: (now: Now) => Promise<Cache>; mayForget: boolean }> = {
  "MemoryCache": {
    open: (now) => Promise.resolve(new MemoryCache({ maxBytes: 64 << 20, now })),
    mayForget: false,
  },
  "MemoryCache that is small": {
    open: (now) => Promise.resolve(new MemoryCache({ maxBytes: 100_000, now })),
    mayForget: true,
  },
  "KvCache": {
    open: async (now) => new KvCache(await Deno.openKv(":memory:"), { now }),
    mayForget: false,
  },
  "KvCache with a small budget": {
    open: async (now) =>
      new KvCache(await Deno.openKv(":memory:"), {
        now,
        budget: new WriteBudget({ maxBytesPerHour: 2_000, now }),
      }),
    mayForget: true,
  },
  "TieredCache": {
    open: async (now) =>
      new TieredCache([
        new MemoryCache({ maxBytes: 100_000, now }),
        new ScopedCache(new KvCache(await Deno.openKv(":memory:"), { now }), "scope"),
      ], { now }),
    mayForget: false,
  },
};

for (const [name, { open, mayForget }] of Object.entries(TIERS)) {
  Deno.test(`${name} gives what was last set while it lives, or nothing`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 20, maxLength: 40, size: "max" }),
        async (steps) => {
          let nowMs = 1_000_000;
          const cache = await open(() => nowMs);
          const model = new Map<number, { length: number; fill: number; diesAtMs: number }>();
          try {
            for (const step of steps) {
              if (step.do === "wait") nowMs += step.ms;
              else if (step.do === "set") {
                const { key, length, fill, ttlMs } = step;
                model.set(key, { length, fill, diesAtMs: nowMs + ttlMs });
                await cache.set(KEYS[key]!, new Uint8Array(length).fill(fill), { ttlMs });
              } else {
                const entry = await cache.get(KEYS[step.key]!);
                const expected = model.get(step.key);
                const lives = expected !== undefined && expected.diesAtMs > nowMs;
                if (entry === null && (mayForget || !lives)) continue;
                assertEquals(
                  entry &&
                    [entry.value.length, entry.value.every((byte) => byte === expected?.fill)],
                  lives ? [expected.length, true] : null,
                );
              }
            }
          } finally {
            await cache.close();
          }
        },
      ),
      { numRuns: 100 },
    );
  });
}
