import { assert, assertEquals } from "@std/assert";
import { Slices } from "../lib/give_way.ts";

/** Keeps the thread busy. */
function spend(ms: number): void {
  const since = performance.now();
  while (performance.now() - since < ms);
}

Deno.test("Slices lets one work go on at a time, in turn, and everyone else between", async () => {
  const events: string[] = [];
  const work = async (name: string) => {
    const slices = new Slices();
    for (let step = 0; step < 3; step++) {
      if (slices.isOver({ costly: true })) await slices.giveWay();
      spend(10);
      events.push(name);
    }
  };
  // Whoever else there is: it has a turn after each slice.
  const other = setInterval(() => {
    if (events.at(-1) !== "-") events.push("-");
  }, 0);
  await Promise.all([work("a"), work("b"), work("c")]);
  clearInterval(other);

  const slices = events.join("").split("-").filter((slice) => slice !== "");
  assertEquals(slices.join(""), "abcabcabc");
  assert(slices.every((slice) => slice.length <= 2), slices.join());
});

Deno.test("Slices does not give way before its time", async () => {
  const slices = new Slices();
  await slices.giveWay();

  assertEquals(slices.isOver({ costly: true }), false);
  spend(9);
  assertEquals(slices.isOver({ costly: true }), true);
  for (let step = 1; step < 256; step++) assertEquals(slices.isOver(), false);
  assertEquals(slices.isOver(), true);
});
