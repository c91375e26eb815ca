import { assert, assertEquals } from "@std/assert";
import { greatest } from "../../lib/content/facets.ts";

Deno.test("greatest() gives the first 100 as a full sort does", () => {
  const counts = Array.from(
    { length: 1_000 },
    (_, n) => [n, (n * 7919) % 137] as const,
  );
  const compare = (
    a: { value: unknown; count: number },
    b: { value: unknown; count: number },
  ) => b.count - a.count || Number(a.value) - Number(b.value);
  const sorted = counts.map(([value, count]) => ({ value, count })).sort(
    compare,
  ).slice(0, 100);
  assertEquals(greatest(counts, compare), sorted);
});

Deno.test("greatest() compares in one pass", () => {
  const comparisons = (length: number) => {
    let count = 0;
    const counts = Array.from({ length }, (_, n) => [n, 1] as const);
    greatest(counts, (a, b) => {
      count++;
      return Number(a.value) - Number(b.value);
    });
    return count;
  };
  const [once, twice] = [comparisons(10_000), comparisons(20_000)];
  // A sort takes n log n: 2.2 times as many for twice the values.
  assert(twice <= 2 * once && once < 11_000, `${once} ${twice}`);
});
