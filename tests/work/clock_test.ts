import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  sortYielding,
  systemClock,
  yieldToEventLoop,
} from "../../lib/work/clock.ts";
import { onTurns, useTicks } from "./time_slices.ts";

Deno.test("systemClock sleep() ends with its signal", async () => {
  const leaving = new AbortController();
  const { signal } = leaving;
  const sleeping = systemClock.sleep(60_000, signal);
  leaving.abort(new Error("left"));
  await assertRejects(() => sleeping, Error, "left");
  await assertRejects(() => systemClock.sleep(60_000, signal), Error, "left");
});

Deno.test("yieldToEventLoop() lets one work go on at a time", async () => {
  using ticks = useTicks();
  const events: string[] = [];
  using _others = onTurns(() => events.at(-1) !== "-" && events.push("-"));
  const work = async (name: string) => {
    for (let step = 0; step < 3; step++) {
      await yieldToEventLoop();
      ticks.pass(3);
      events.push(name);
    }
  };
  await Promise.all([work("a"), work("b"), work("c")]);
  const slices = events.join("").split("-").filter((slice) => slice !== "");
  assertEquals(slices.join(""), "abcabcabc");
  assert(slices.every((slice) => slice.length <= 2), slices.join());
});

Deno.test("yieldToEventLoop() goes on at once within a slice", async () => {
  using ticks = useTicks();
  let turns = 0;
  using _others = onTurns(() => turns++);
  await yieldToEventLoop();
  const before = turns;
  ticks.pass(2);
  await yieldToEventLoop();
  assertEquals(turns, before);
  ticks.pass(1);
  await yieldToEventLoop();
  assert(turns > before);
});

Deno.test("sortYielding() sorts as the engine does and yields", async () => {
  for (const count of [0, 2_049, 60_000]) {
    const items = Array.from(
      { length: count },
      (_, place) => ({ key: place * 7919 % 500, place }),
    );
    const byKey = (a: typeof items[0], b: typeof items[0]) => a.key - b.key;
    const expected = items.toSorted(byKey);
    let turns = 0;
    {
      using _ticks = useTicks({ perLookMs: 1 });
      using _others = onTurns(() => turns++);
      assertEquals(await sortYielding(items, byKey), expected);
    }
    // It looks at the clock for each run of 2,048, and for every 256 of the
    // steps that merge them: a turn after 8 looks.
    assert(count < 60_000 || turns > 100, `${turns} turns`);
  }
});

Deno.test("yielding ends with an aborted signal", async () => {
  const signal = AbortSignal.abort(new Error("stop"));
  for (
    const yielding of [
      () => yieldToEventLoop(signal),
      () => sortYielding([2, 1], (a, b) => a - b, signal),
    ]
  ) {
    await assertRejects(yielding, Error, "stop");
  }
});
