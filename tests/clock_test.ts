import { assertEquals, assertRejects } from "@std/assert";
import { systemClock } from "../lib/clock.ts";
import { TestClock } from "./test_clock.ts";

Deno.test("systemClock.setTimer() fires in the order of time, and not what was canceled", async () => {
  const fired: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  systemClock.setTimer(20, () => {
    fired.push("last");
    resolve();
  });
  const cancel = systemClock.setTimer(1, () => fired.push("canceled"));
  systemClock.setTimer(1, () => fired.push("first"));
  cancel();
  await promise;
  assertEquals(fired, ["first", "last"]);
});

Deno.test("systemClock.sleep() ends with the signal", async () => {
  const leaving = new AbortController();
  const sleeping = systemClock.sleep(60_000, leaving.signal);
  leaving.abort(new Error("left"));
  await assertRejects(() => sleeping, Error, "left");
  await assertRejects(() => systemClock.sleep(60_000, leaving.signal), Error, "left");
  await systemClock.sleep(0);
});

Deno.test("TestClock.advance() fires what comes due, also what is set meanwhile, each at its time", () => {
  const clock = new TestClock(1_000);
  const fired: [string, number, number][] = [];
  const note = (name: string) => fired.push([name, clock.now(), clock.monotonicMs()]);
  clock.setTimer(30, () => note("c"));
  clock.setTimer(10, () => {
    note("a");
    clock.setTimer(10, () => note("b"));
    clock.setTimer(100, () => note("late"));
  });
  clock.setTimer(5, () => note("canceled"))();
  clock.advance(29);
  clock.setWallClock(0);
  clock.advance(2);
  assertEquals(fired, [["a", 1_010, 10], ["b", 1_020, 20], ["c", 1, 30]]);
  assertEquals([clock.now(), clock.monotonicMs(), clock.timerCount], [2, 31, 1]);
});
