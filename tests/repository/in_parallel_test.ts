import { assertEquals, assertRejects } from "@std/assert";
import { inParallel } from "../../lib/repository/in_parallel.ts";

Deno.test("inParallel() works through all items, at most limit at once", async () => {
  let running = 0;
  let most = 0;
  const seen: number[] = [];
  await inParallel(Array.from({ length: 20 }, (_, index) => index), async (item) => {
    most = Math.max(most, ++running);
    await Promise.resolve();
    running--;
    seen.push(item);
  }, { limit: 3 });
  assertEquals([most, seen.toSorted((a, b) => a - b).length, new Set(seen).size], [3, 20, 20]);
});

Deno.test("inParallel() begins nothing after the first failure", async () => {
  const begun: number[] = [];
  const run = inParallel([1, 2, 3, 4, 5, 6], async (item) => {
    begun.push(item);
    await Promise.resolve();
    if (item === 1) throw new Error("first");
    await new Promise((done) => setTimeout(done));
  }, { limit: 2 });
  await assertRejects(() => run, Error, "first");
  await new Promise((done) => setTimeout(done));
  assertEquals(begun, [1, 2]);
});
