// Letters with very many marks.

import { assert, assertEquals } from "@std/assert";
import { decompose } from "../../lib/content/decompose.ts";

Deno.test("decompose() is NFD up to 30 marks in a row", () => {
  const marks = "\u0315\u0301\u0323".repeat(10);
  for (const text of ["", "é", "한국 ẛ̣", `a${marks}b${marks}`, marks]) {
    assertEquals(decompose(text), text.normalize("NFD"));
  }
  assertEquals(decompose(`é${marks}${marks}z`), `é${marks}z`.normalize("NFD"));
});

Deno.test("decompose() sorts no long run of marks", () => {
  // Pairs in the wrong order, which a sort has to swap.
  const marks = "\u{1d167}\u0301\u0323".repeat(1 << 18);
  const sorted = decompose(`a${marks}`);
  assertEquals(sorted.length, 1 + 40);
  assert(sorted.startsWith("a\u{1d167}"));
});
