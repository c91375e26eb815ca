import { assert, assertEquals } from "@std/assert";
import { Slices } from "../lib/give_way.ts";
import { Ticks } from "./ticks.ts";

Deno.test("Slices lets one work go on at a time, in turn, and everyone else between", async () => {
  using ticks = new Ticks();
  const events: string[] = [];
  const work = async (name: string) => {
    const slices = new Slices();
    for (let step = 0; step < 3; step++) {
      if (slices.isOver({ costly: true })) await slices.giveWay();
      ticks.pass(8);
      events.push(name);
    }
  };
  // Whoever else there is: it has a turn after each slice.
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

Deno.test("Slices does not give way before its time", async () => {
  using ticks = new Ticks();
  const slices = new Slices();
  await slices.giveWay();

  ticks.pass(7);
  assertEquals(slices.isOver({ costly: true }), false);
  ticks.pass(1);
  assertEquals(slices.isOver({ costly: true }), true);
  for (let step = 1; step < 256; step++) assertEquals(slices.isOver(), false);
  assertEquals(slices.isOver(), true);
});
