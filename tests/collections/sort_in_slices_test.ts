import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { sortInSlices } from "../../lib/collections/sort_in_slices.ts";
import { countTurns, Ticks } from "../ticks.ts";

interface Pair {
  key: number;
  place: number;
}

const byKey = (a: Pair, b: Pair) => a.key - b.key;

Deno.test("sortInSlices() sorts as the engine does, what is equal in its order", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 9_000 }), fc.integer(), async (count, seed) => {
      const items = Array.from({ length: count }, (_, place): Pair => ({
        key: Math.abs(Math.imul(place + seed, 2_654_435_761)) % 500,
        place,
      }));
      const sorted = await sortInSlices(items, byKey);
      assertEquals(
        sorted.map(({ place }) => place),
        items.toSorted(byKey).map(({ place }) => place),
      );
    }),
    { numRuns: 30 },
  );
});

Deno.test("sortInSlices() leaves what it is given as it was", async () => {
  const items = [3, 1, 2];
  assertEquals(await sortInSlices(items, (a, b) => a - b), [1, 2, 3]);
  assertEquals(items, [3, 1, 2]);
  assertEquals(await sortInSlices([], () => 0), []);
});

Deno.test("sortInSlices() lets others run in between", async () => {
  using _ticks = new Ticks({ perLookMs: 1 });
  using others = countTurns();
  const collator = new Intl.Collator("en", { numeric: true });
  const items = Array.from({ length: 60_000 }, (_, index) => `Post ${index * 7919 % 60_000} ä`);
  await sortInSlices(items, collator.compare);
  // A look at the clock for each of 30 runs, and for every 256 of the comparisons that merge them.
  assert(others.turns > 100, `${others.turns} turns`);
});
