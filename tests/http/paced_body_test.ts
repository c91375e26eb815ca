import { assertEquals } from "@std/assert";
import { pacedBody } from "../../lib/http/paced_body.ts";
import { randomBytes } from "../cache/watched_kv.ts";
import { TestClock } from "../test_clock.ts";

const MIB = 1 << 20;

function open(bytes: Uint8Array<ArrayBuffer>, clock: TestClock) {
  const state = { ended: 0 };
  const reader = pacedBody(bytes, { clock, onEnd: () => state.ended++ }).getReader();
  return { reader, state };
}

Deno.test("pacedBody() sends all bytes, and ends once", async () => {
  const clock = new TestClock();
  const bytes = randomBytes(3 * MIB + 5);
  let ended = 0;

  const body = pacedBody(bytes, { clock, onEnd: () => ended++ });

  assertEquals(await new Response(body).bytes(), bytes);
  assertEquals([ended, clock.timerCount], [1, 0]);
});

Deno.test("pacedBody() ends for a client that stops reading, never reads, or disconnects", async () => {
  const clock = new TestClock();
  const never = open(new Uint8Array(MIB), clock);
  const stopped = open(new Uint8Array(MIB), clock);
  const disconnected = open(new Uint8Array(MIB), clock);
  await stopped.reader.read();
  await disconnected.reader.read();
  await disconnected.reader.cancel();
  assertEquals([never.state.ended, stopped.state.ended, disconnected.state.ended], [0, 0, 1]);

  clock.advance(19_999);
  assertEquals([never.state.ended, stopped.state.ended], [0, 0]);
  clock.advance(1);
  assertEquals([never.state.ended, stopped.state.ended, disconnected.state.ended], [1, 1, 1]);
  assertEquals((await stopped.reader.read()).done, true);
  assertEquals(clock.timerCount, 0);
});

Deno.test("pacedBody() goes on for a slow client, and ends for one that is too slow", async () => {
  // 64 KiB each time: just 4 kB a second on average, and a little less.
  for (const [pauseMs, isWhole] of [[16_384, true], [17_000, false]] as const) {
    const clock = new TestClock();
    const { reader, state } = open(new Uint8Array(4 * MIB), clock);
    let length = 0;
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      length += part.value.length;
      clock.advance(pauseMs);
    }
    assertEquals([length === 4 * MIB, state.ended, clock.timerCount], [isWhole, 1, 0]);
  }
});
