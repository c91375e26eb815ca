import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import fc from "fast-check";
import { WriteBudget } from "../../lib/cache/write_budget.ts";

const HOUR_MS = 3_600_000;

Deno.test("WriteBudget take() gives what it has and no more", () => {
  const budget = new WriteBudget({ maxBytesPerHour: 100, now: () => 0 });
  assertEquals([60, 41, 40, 1].map((bytes) => budget.take(bytes)), [true, false, true, false]);
});

Deno.test("WriteBudget take() gives nothing of a budget of 0", () => {
  const budget = new WriteBudget({ maxBytesPerHour: 0, now: () => 0 });
  assert(!budget.take(1));
});

Deno.test("WriteBudget take() has everything again an hour and a minute later", () => {
  let nowMs = 90_000_000;
  const budget = new WriteBudget({ maxBytesPerHour: 100, now: () => nowMs });
  assert(budget.take(100));
  nowMs += HOUR_MS - 1;
  assert(!budget.take(1));
  nowMs += 60_001;
  assert(budget.take(100));
  nowMs += 10 * HOUR_MS;
  assert(budget.take(100));
});

Deno.test("WriteBudget take() frees nothing when the clock is set back", () => {
  let nowMs = 2 * HOUR_MS;
  const budget = new WriteBudget({ maxBytesPerHour: 100, now: () => nowMs });
  assert(budget.take(100));
  nowMs = 0;
  assert(!budget.take(1));
  nowMs = 2 * HOUR_MS + 30 * 60_000;
  assert(!budget.take(1));
});

Deno.test("WriteBudget take() never gives more than maxBytesPerHour within any hour", () => {
  const steps = fc.array(
    fc.record({ waitMs: fc.nat(20 * 60_000), bytes: fc.nat(40) }),
    { minLength: 5, maxLength: 80 },
  );
  fc.assert(fc.property(steps, (steps) => {
    let nowMs = 12_345;
    const budget = new WriteBudget({ maxBytesPerHour: 100, now: () => nowMs });
    const taken: { atMs: number; bytes: number }[] = [];
    for (const { waitMs, bytes } of steps) {
      nowMs += waitMs;
      if (budget.take(bytes)) taken.push({ atMs: nowMs, bytes });
      const within = taken.filter(({ atMs }) => atMs > nowMs - HOUR_MS);
      assertLessOrEqual(within.reduce((sum, { bytes }) => sum + bytes, 0), 100);
    }
  }));
});
