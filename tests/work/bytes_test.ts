import { assert, assertEquals } from "@std/assert";
import { joinBytes } from "../../lib/work/bytes.ts";
import { yieldToEventLoop } from "../../lib/work/clock.ts";

Deno.test("joinBytes() joins texts and bytes of any length", async () => {
  const long = Uint8Array.from({ length: (2 << 20) + 5 }, (_, at) => at % 251);
  const joined = await joinBytes(["é{", long, "", "}"]);
  assertEquals(joined.length, long.length + 4);
  assertEquals(joined.subarray(3, -1), long);
  const [start, end] = [joined.subarray(0, 3), joined.subarray(-1)];
  const decoder = new TextDecoder();
  assertEquals([decoder.decode(start), decoder.decode(end)], ["é{", "}"]);
});

Deno.test("joinBytes() yields after each MiB", async () => {
  let [isDone, turns] = [false, 0];
  const joined = joinBytes([new Uint8Array(8 << 20)])
    .then(() => isDone = true);
  for (; !isDone; turns++) await yieldToEventLoop();
  await joined;
  assert(turns >= 7, `${turns} turns`);
});
