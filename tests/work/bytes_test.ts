import { assert, assertEquals } from "@std/assert";
import { joinBytes } from "../../lib/work/bytes.ts";
import { onTurns, useTicks } from "./time_slices.ts";

Deno.test("joinBytes() joins texts and bytes of any length", async () => {
  const long = Uint8Array.from({ length: (2 << 20) + 5 }, (_, at) => at % 251);
  const joined = await joinBytes(["é{", long, "", "}"]);
  assertEquals(joined.length, long.length + 4);
  assertEquals(joined.subarray(3, -1), long);
  const [start, end] = [joined.subarray(0, 3), joined.subarray(-1)];
  const decoder = new TextDecoder();
  assertEquals([decoder.decode(start), decoder.decode(end)], ["é{", "}"]);
});

Deno.test("joinBytes() yields after some 256 KiB, and not before", async () => {
  using _ticks = useTicks({ perLookMs: 9 });
  let turns = 0;
  using _turns = onTurns(() => turns++);
  await joinBytes([new Uint8Array(8 << 20)]);
  assert(turns >= 6, `${turns} turns`);
  turns = 0;
  await joinBytes(Array(40).fill(new Uint8Array(200 << 10)));
  assert(turns >= 6, `${turns} turns`);
  turns = 0;
  await joinBytes(["a", new Uint8Array(200 << 10), "b"]);
  assertEquals(turns, 0);
});
