import { assert, assertEquals, assertRejects } from "@std/assert";
import { readBounded } from "../../lib/source/read_bounded.ts";

const PIECE = 1000;

/** A body whose end nobody should see, and how many pieces of it were asked for. */
function endless() {
  const asked = { pieces: 0, cancelled: false };
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(new Uint8Array(PIECE));
      if (++asked.pieces === 1000) controller.close();
    },
    cancel() {
      asked.cancelled = true;
    },
  }, { highWaterMark: 0 });
  return { body, asked };
}

Deno.test("readBounded() stops at the first piece past its bound, and lets go of the rest", async () => {
  const { body, asked } = endless();
  await assertRejects(() => readBounded(new Response(body), 10 * PIECE), RangeError);
  assertEquals(asked, { pieces: 11, cancelled: true });
});

Deno.test("readBounded() reads nothing of a body that is announced as too long", async () => {
  const { body, asked } = endless();
  const response = new Response(body, { headers: { "content-length": `${10 * PIECE + 1}` } });
  await assertRejects(() => readBounded(response, 10 * PIECE), RangeError);
  assertEquals(asked, { pieces: 0, cancelled: true });
});

Deno.test("readBounded() gives a body of just the bound whole, and one that is empty", async () => {
  const bytes = crypto.getRandomValues(new Uint8Array(5 * PIECE));
  assertEquals(await readBounded(new Response(bytes), bytes.length), bytes);
  assertEquals(await readBounded(new Response(null), 0), new Uint8Array(0));
  assert((await readBounded(new Response(""), 0)).length === 0);
});
