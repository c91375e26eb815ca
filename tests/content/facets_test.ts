import { assert } from "@std/assert";
import { greatest } from "../../lib/content/facets.ts";

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
