import { assertEquals } from "@std/assert";
import { derivedText, keepDerived } from "../../lib/content/derived.ts";

Deno.test("keepDerived() keeps 42 MiB at two bytes a character", () => {
  const text = "a".repeat(2 << 20);
  const ids = Array.from({ length: 15 }, (_, n) => `${n}`);
  for (const id of ids) keepDerived("octo/site", id, text);
  const kept = ids.filter((id) => derivedText("octo/site", id) === text);
  assertEquals(kept, ids.slice(5));
});
