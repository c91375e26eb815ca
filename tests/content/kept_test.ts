import { assertEquals } from "@std/assert";
import { forgetUnused, Kept } from "../../lib/content/kept.ts";

Deno.test("forgetUnused() drops what was not used for so long", () => {
  let nowMs = 0;
  const disposed: string[] = [];
  const kept = new Kept<string>({
    maxBytes: 10,
    sizeOf: (value) => value.length,
    dispose: (value) => void disposed.push(value),
    now: () => nowMs,
  });
  for (const key of ["a", "b", "c"]) kept.set(key, `of ${key}`.slice(-2));
  nowMs = 20;
  assertEquals(kept.get("b"), " b");
  nowMs = 29;
  assertEquals([forgetUnused(30), kept.bytes], [0, 6]);
  nowMs = 40;
  // What is old is there until it is forgotten, and then counts as used.
  assertEquals(kept.get("c"), " c");
  assertEquals([forgetUnused(30), disposed, kept.bytes], [2, [" a"], 4]);
  nowMs = 50;
  assertEquals([forgetUnused(30), disposed], [2, [" a", " b"]]);
  assertEquals([kept.get("b"), kept.get("c")], [undefined, " c"]);
  assertEquals([forgetUnused(0), kept.bytes], [2, 0]);
});
