import { assertEquals } from "@std/assert";
import { jsonBytes } from "../../lib/http/json_bytes.ts";

Deno.test("jsonBytes() gives the bytes of JSON.stringify()", async () => {
  const long = '\u4e2d\ud83d\ude00\n"x'.repeat(20_000);
  for (
    const value of [
      {},
      { a: undefined },
      { a: [] },
      { a: null, '\u4e2d"': [1, "x", { b: [undefined, 2] }], c: undefined, d: "e" },
      { items: Array.from({ length: 50 }, (_, n) => ({ n, long })), lone: "\ud83d" },
    ]
  ) {
    assertEquals(
      new TextDecoder().decode(await jsonBytes(value)),
      JSON.stringify(value),
    );
  }
});
