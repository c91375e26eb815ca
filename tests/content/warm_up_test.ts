import { assertEquals } from "@std/assert";
import { warmUp } from "../../lib/content/warm_up.ts";

Deno.test("warmUp() sorts files whose front matter it has derived", () => {
  const selection = warmUp();
  assertEquals("missing" in selection ? 0 : selection.indices.length, 100);
});
