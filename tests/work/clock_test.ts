import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  sortYielding,
  systemClock,
  yieldToEventLoop,
} from "../../lib/work/clock.ts";

Deno.test("systemClock cancels timers, and signals end sleep()", async () => {
  let calls = 0;
  systemClock.setTimer(0, () => calls++)();
  systemClock.setTimer(0, () => calls++);
  await systemClock.sleep(5);
  assertEquals(calls, 1);
  const leaving = new AbortController();
  const sleeping = systemClock.sleep(60_000, leaving.signal);
  leaving.abort(new Error("left"));
  await assertRejects(() => sleeping, Error, "left");
  await assertRejects(
    () => systemClock.sleep(60_000, leaving.signal),
    Error,
    "left",
  );
});

let latestMs = 0;

/**
 * Replaces `performance.now()`, which each reading advances by `perLookMs`; it
 * never goes back, between tests neither.
 */
function useTicks({ perLookMs = 0 } = {}) {
  const real = performance.now;
  latestMs = Math.max(latestMs, performance.now()) + 60_000;
  performance.now = () => latestMs += perLookMs;
  return {
    pass: (ms: number) => void (latestMs += ms),
    [Symbol.dispose]: () => void (performance.now = real),
  };
}

/** Calls `turn` whenever other tasks of this thread continue. */
function onTurns(turn: () => void): Disposable {
  let timer = setTimeout(function next() {
    turn();
    timer = setTimeout(next, 0);
  }, 0);
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}

Deno.test("yieldToEventLoop() lets one work go on at a time", async () => {
  using ticks = useTicks();
  const events: string[] = [];
  using _others = onTurns(() => events.at(-1) !== "-" && events.push("-"));
  const work = async (name: string) => {
    for (let step = 0; step < 3; step++) {
      await yieldToEventLoop();
      ticks.pass(8);
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
  for (let ms = 0; ms < 7; ms++) {
    ticks.pass(1);
    await yieldToEventLoop();
  }
  assertEquals(turns, before);
  ticks.pass(1);
  await yieldToEventLoop();
  assert(turns > before);
});

Deno.test("sortYielding() sorts as the engine does and yields", async () => {
  const byKey = (a: { key: number }, b: { key: number }) => a.key - b.key;
  for (const count of [0, 2_048, 2_049, 9_000]) {
    const keys = Array.from(
      { length: count },
      (_, place) => place * 7919 % 500,
    );
    const items = keys.map((key, place) => ({ key, place }));
    const copy = [...items];
    assertEquals(await sortYielding(items, byKey), items.toSorted(byKey));
    assertEquals(items, copy, "not in place");
  }
  using _ticks = useTicks({ perLookMs: 1 });
  let turns = 0;
  using _others = onTurns(() => turns++);
  const numbers = Array.from(
    { length: 60_000 },
    (_, index) => index * 7919 % 60_000,
  );
  await sortYielding(numbers, (a, b) => a - b);
  // It looks at the clock for each of 30 runs, and for every 256 of the steps
  // that merge them: a turn after 8 looks.
  assert(turns > 100, `${turns} turns`);
});

Deno.test("yielding ends with an aborted signal", async () => {
  const signal = AbortSignal.abort(new Error("stop"));
  await assertRejects(() => yieldToEventLoop(signal), Error, "stop");
  await assertRejects(
    () => sortYielding([2, 1], (a, b) => a - b, signal),
    Error,
    "stop",
  );
});
