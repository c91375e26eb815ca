import { assertEquals, assertThrows } from "@std/assert";
import { z } from "zod";
import { CollectionsError } from "../../../lib/errors.ts";
import { parseAnswer } from "../../../lib/source/github/host.ts";

/**
 * Parses a list of so many values, and returns how many of them the schema saw.
 */
function countSeen(values: number, value: string) {
  let seen = 0;
  const one = z.custom(() => {
    seen++;
    return false;
  });
  const text = `{"list":[${Array(values).fill(value).join()}]}`;
  const bytes = new TextEncoder().encode(text);
  assertThrows(
    () => parseAnswer(z.object({ list: z.array(one) }), { bytes }),
    CollectionsError,
  );
  return seen;
}

Deno.test("parseAnswer() refuses long answers before their schema", () => {
  assertEquals(countSeen(2_000, "{}"), 2_000);
  for (const value of ["{}", "0", '"a,b"', "[[]]"]) {
    assertEquals(countSeen(200_000, value), 0);
  }
});

Deno.test("parseAnswer() counts no commas of texts", () => {
  const name = `,[{"\\`.repeat(100_000);
  const bytes = new TextEncoder().encode(JSON.stringify({ name }));
  assertEquals(parseAnswer(z.object({ name: z.string() }), { bytes }), {
    name,
  });
});
