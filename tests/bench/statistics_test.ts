import { assertEquals } from "@std/assert";
import { median, percentile, ratios, spreadOf } from "../../bench/statistics.ts";

Deno.test("median() is the middle value, or the mean of both, whatever their order", () => {
  assertEquals(median([10, 2, 9]), 9);
  assertEquals(median([10, 2, 9, 100]), 9.5);
  assertEquals(median([]), NaN);
});

Deno.test("percentile() is a value that was measured", () => {
  const values = Array.from({ length: 200 }, (_, index) => 200 - index);
  assertEquals(
    [0, 0.5, 0.99, 0.995, 1].map((share) => percentile(values, share)),
    [1, 100, 198, 199, 200],
  );
  assertEquals(percentile([], 0.5), NaN);
});

Deno.test("ratios() and spreadOf() compare round by round", () => {
  const spread = spreadOf(ratios([5, 30, 12], [10, 10, 10, 99]));
  assertEquals(spread, { median: 1.2, min: 0.5, max: 3 });
});
