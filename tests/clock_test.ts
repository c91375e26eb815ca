import { assertEquals } from "@std/assert";
import { systemClock } from "../lib/clock.ts";

Deno.test("systemClock.alarm() rings in the order of time, and not what was called off", async () => {
  const rung: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  systemClock.alarm(20, () => {
    rung.push("last");
    resolve();
  });
  const callOff = systemClock.alarm(1, () => rung.push("called off"));
  systemClock.alarm(1, () => rung.push("first"));
  callOff();
  await promise;
  assertEquals(rung, ["first", "last"]);
});
