import { assert, assertEquals, assertRejects } from "@std/assert";
import { sortYielding, yieldToEventLoop } from "../lib/clock.ts";
import { countTurns, Ticks } from "./ticks.ts";

Deno.test("yieldToEventLoop() lets one work go on at a time, in turn, and everything else between", async () => {
  using ticks = new Ticks();
  const events: string[] = [];
  const work = async (name: string) => {
    for (let step = 0; step < 3; step++) {
      await yieldToEventLoop();
      ticks.pass(8);
      events.push(name);
    }
  };
  let other = setTimeout(function turn() {
    if (events.at(-1) !== "-") events.push("-");
    other = setTimeout(turn, 0);
  }, 0);
  await Promise.all([work("a"), work("b"), work("c")]);
  clearTimeout(other);
  const slices = events.join("").split("-").filter((slice) => slice !== "");
  assertEquals(slices.join(""), "abcabcabc");
  assert(slices.every((slice) => slice.length <= 2), slices.join());
});

Deno.test("yieldToEventLoop() goes on at once while the slice of 8 ms lasts", async () => {
  using ticks = new Ticks();
  using others = countTurns();
  await yieldToEventLoop();
  const { turns } = others;
  for (let ms = 0; ms < 7; ms++) {
    ticks.pass(1);
    await yieldToEventLoop();
  }
  assertEquals(others.turns, turns);
  ticks.pass(1);
  await yieldToEventLoop();
  assert(others.turns > turns);
});

Deno.test("yieldToEventLoop() and sortYielding() end with an aborted signal", async () => {
  const signal = AbortSignal.abort(new Error("stop"));
  await assertRejects(() => yieldToEventLoop(signal), Error, "stop");
  await assertRejects(() => sortYielding([2, 1], (a, b) => a - b, signal), Error, "stop");
});

Deno.test("sortYielding() sorts as the engine does, equal items in their order", async () => {
  const byKey = (a: { key: number }, b: { key: number }) => a.key - b.key;
  for (const count of [0, 1, 2_047, 2_048, 2_049, 4_096, 9_000]) {
    const items = Array.from({ length: count }, (_, place) => ({
      ...{ key: Math.abs(Math.imul(place, 2_654_435_761)) % 500, place },
    }));
    const expected = items.toSorted(byKey).map(({ place }) => place);
    assertEquals((await sortYielding(items, byKey)).map(({ place }) => place), expected);
    assertEquals(items.map(({ place }) => place), items.map((_, place) => place), "not in place");
  }
});

Deno.test("sortYielding() lets others run in between", async () => {
  using _ticks = new Ticks({ perLookMs: 1 });
  using others = countTurns();
  const items = Array.from({ length: 60_000 }, (_, index) => index * 7919 % 60_000);
  await sortYielding(items, (a, b) => a - b);
  // A look at the clock for each of 30 runs, and for every 256 of the steps that merge them: a turn after each 8 of these looks.
  assert(others.turns > 100, `${others.turns} turns`);
});
