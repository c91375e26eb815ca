import { assertEquals } from "@std/assert";
import { SoakExcuse } from "../../bench/soak_excuse.ts";

const S = 1_000;
const fault = (fromS: number, toS = fromS + 3) => ({ fromMs: fromS * S, toMs: toS * S });

function excused(
  failing: ReturnType<typeof fault>[],
  { startedS = 0, atS }: { startedS?: number; atS: readonly number[] },
): number[] {
  const excuse = new SoakExcuse({ failing, onItsWayMs: 4 * S, startedMs: () => startedS * S });
  return atS.filter((second) => excuse.covers(second * S, second * S));
}

Deno.test("SoakExcuse allows a problem in a fault and for the first rest after it, no longer", () => {
  assertEquals(excused([fault(10)], { atS: [9, 10, 13, 22, 23] }), [10, 13, 22]);
  assertEquals(excused([fault(10, Infinity)], { atS: [9, 1_000] }), [1_000]);
  assertEquals(excused([], { atS: [0, 10] }), []);
});

Deno.test("SoakExcuse doubles the rest with each fault that the process saw, up to 60 s", () => {
  const two = [fault(10), fault(40)];
  assertEquals(excused(two, { atS: [23, 39, 57, 58] }), [57]);
  assertEquals(excused(two, { startedS: 20, atS: [12, 22, 52, 53] }), [52]);
  const many = Array.from({ length: 9 }, (_, index) => fault(10 * index));
  assertEquals(excused(many, { atS: [147, 148] }), [147]);
});

Deno.test("SoakExcuse takes an answer that was asked for or came in that time", () => {
  const excuse = new SoakExcuse({ failing: [fault(10)], onItsWayMs: 0, startedMs: () => 0 });
  const covers = (from: number, to: number) => excuse.covers(from * S, to * S);
  assertEquals([covers(9, 11), covers(17, 30), covers(19, 30), covers(1, 9)], [
    true,
    true,
    false,
    false,
  ]);
});
