import { assertEquals } from "@std/assert";
import { warmUp } from "../../lib/content/warm_up.ts";

Deno.test("warmUp() sorts files whose front matter it has derived", () => {
  // The second run has their front matter already.
  for (const _ of [1, 2]) {
    const selection = warmUp();
    assertEquals("missing" in selection ? 0 : selection.indices.length, 100);
  }
});
