import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  systemClock,
  turnToSend,
  turnToStart,
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

Deno.test("yieldToEventLoop() lets short work share a slice", async () => {
  using ticks = useTicks();
  const events: string[] = [];
  using _others = onTurns(() => events.at(-1) !== "-" && events.push("-"));
  await yieldToEventLoop();
  ticks.pass(3);
  await Promise.all(Array.from({ length: 20 }, async () => {
    await yieldToEventLoop();
    ticks.pass(0.25);
    events.push("a");
  }));
  const slices = events.join("").split("-").filter((slice) => slice !== "");
  assertEquals(slices.map((slice) => slice.length), [12, 8]);
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

Deno.test("yieldToEventLoop() starts a slice after a turn of others", async () => {
  using ticks = useTicks();
  let turns = 0;
  using _others = onTurns(() => turns++);
  await yieldToEventLoop();
  const before = turns;
  ticks.pass(3);
  await yieldToEventLoop();
  assert(turns > before);
  while (turns < before + 5) await systemClock.sleep(0);
  const later = turns;
  ticks.pass(3);
  await yieldToEventLoop();
  assertEquals(turns, later);
});

Deno.test("turnToSend() counts what comes after the slice", async () => {
  using ticks = useTicks();
  let turns = 0;
  using _others = onTurns(() => turns++);
  await yieldToEventLoop();
  const before = turns;
  await turnToSend(1);
  ticks.pass(1);
  await turnToSend(1);
  assertEquals(turns, before);
  await turnToSend(1);
  assert(turns > before);
});

Deno.test("requests, work and bodies wait in queues of their own", async () => {
  using ticks = useTicks();
  const events: string[] = [];
  const work = async (name: string, turn: () => Promise<void>) => {
    await turn();
    ticks.pass(3);
    events.push(name);
  };
  const rows = {
    start: turnToStart,
    yield: yieldToEventLoop,
    send: () => turnToSend(0),
  };
  for (const [name, many] of Object.entries(rows)) {
    events.length = 0;
    const all = Array.from({ length: 20 }, () => work(name, many));
    const others = Object.entries(rows).filter(([other]) => other !== name);
    await Promise.all([...all, ...others.map((other) => work(...other))]);
    for (const [other] of others) {
      assert(events.indexOf(other) <= 3, events.join());
    }
  }
});

Deno.test("yieldToEventLoop() ends with an aborted signal", async () => {
  const signal = AbortSignal.abort(new Error("stop"));
  await assertRejects(() => yieldToEventLoop(signal), Error, "stop");
});
