import { assertEquals } from "@std/assert";
import { areTextsOver } from "../../lib/content/json_size.ts";

Deno.test("areTextsOver() counts texts as JSON has them", () => {
  const texts = [
    "plain",
    "\u20ac and \u{1f35e}",
    `quotes " and \\`,
    Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).join(""),
  ];
  for (const text of texts) {
    const bytes = new TextEncoder().encode(JSON.stringify(text)).length - 2;
    for (const value of [text, [1, [text]], { [text]: null }]) {
      assertEquals(areTextsOver(value, bytes), false, text);
      assertEquals(areTextsOver(value, bytes - 1), true, text);
    }
  }
});

Deno.test("areTextsOver() reads no text after the limit", () => {
  const texts = new Proxy(Array(1_000).fill("\u0001".repeat(100)), {
    get(target, key, receiver) {
      reads += Number(/^\d/.test(String(key)));
      return Reflect.get(target, key, receiver);
    },
  });
  let reads = 0;
  assertEquals(areTextsOver(texts, 6_000), true);
  // It reads 12 for their lengths, and as many for their bytes.
  assertEquals(reads, 24);
});
