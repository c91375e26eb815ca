import { assertEquals } from "@std/assert";
import { DataError, lineAt } from "../../lib/collections/data_error.ts";

Deno.test("new DataError() keeps its message to one short, printable line", () => {
  const { message, line } = new DataError("Bad\u0000\u001b[31m \u202etext: \n\n1: secret\n", 3);
  assertEquals([message, line], ["Bad [31m text:", 3]);
  const long = new DataError("😀".repeat(1_000), 1).message;
  assertEquals(long, "😀".repeat(159) + "…");
});

Deno.test("lineAt() counts from 1, and no further than the text", () => {
  const text = "a\nb\r\nc\n";
  assertEquals([0, 1, 2, 5, 6, 7, 99].map((offset) => lineAt(text, offset)), [1, 1, 2, 3, 3, 4, 4]);
});
