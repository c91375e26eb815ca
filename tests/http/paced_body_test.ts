import { assertEquals } from "@std/assert";
import { pacedBody } from "../../lib/http/paced_body.ts";
import { randomBytes } from "../cache/random_bytes.ts";

const MIB = 1 << 20;

/** Runs a test with a clock and timers that it moves itself. */
async function withTime(test: (pass: (ms: number) => Promise<void>) => Promise<void>) {
  const { setTimeout, clearTimeout } = globalThis;
  const { now } = performance;
  const timers = new Map<number, { atMs: number; run: () => void }>();
  let nowMs = 0;
  let id = 0;
  Object.assign(globalThis, {
    setTimeout: (run: () => void, ms = 0) => {
      timers.set(++id, { atMs: nowMs + ms, run });
      return id;
    },
    clearTimeout: (id: number) => void timers.delete(id),
  });
  performance.now = () => nowMs;
  try {
    await test(async (ms) => {
      nowMs += ms;
      for (const [id, { atMs, run }] of [...timers]) {
        if (atMs <= nowMs && timers.delete(id)) run();
      }
      await Promise.resolve();
    });
    assertEquals(timers.size, 0, "a timer is left");
  } finally {
    Object.assign(globalThis, { setTimeout, clearTimeout });
    performance.now = now;
  }
}

function opened(bytes: Uint8Array<ArrayBuffer>) {
  const state = { ended: 0 };
  const reader = pacedBody(bytes, () => state.ended++).getReader();
  return { reader, state };
}

async function readAll(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<number> {
  let length = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    length += part.value.length;
  }
  return length;
}

Deno.test("pacedBody() gives all bytes, and ends once", async () => {
  const bytes = randomBytes(3 * MIB + 5);
  let ended = 0;
  const read = await new Response(pacedBody(bytes, () => ended++)).bytes();

  assertEquals(read, bytes);
  assertEquals(ended, 1);
});

Deno.test("pacedBody() ends for a reader who stands still, takes nothing, or has gone", async () => {
  await withTime(async (pass) => {
    const never = opened(new Uint8Array(MIB));
    const still = opened(new Uint8Array(MIB));
    const gone = opened(new Uint8Array(MIB));
    await still.reader.read();
    await gone.reader.read();
    await gone.reader.cancel();
    assertEquals([never.state.ended, still.state.ended, gone.state.ended], [0, 0, 1]);

    await pass(19_999);
    assertEquals([never.state.ended, still.state.ended], [0, 0]);
    await pass(1);
    assertEquals([never.state.ended, still.state.ended, gone.state.ended], [1, 1, 1]);
    assertEquals((await still.reader.read()).done, true);
  });
});

Deno.test("pacedBody() goes on for a slow reader, and ends for one who is too slow", async () => {
  await withTime(async (pass) => {
    // 64 KiB each time: just 4 kB a second on average, and a little less.
    for (const [pauseMs, whole] of [[16_384, true], [17_000, false]] as const) {
      const { reader, state } = opened(new Uint8Array(4 * MIB));
      let length = 0;
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        length += part.value.length;
        await pass(pauseMs);
      }
      assertEquals([length === 4 * MIB, state.ended], [whole, 1]);
    }
  });
});

Deno.test("pacedBody() lets a quick reader take as much as there is", async () => {
  await withTime(async () => {
    const { reader, state } = opened(new Uint8Array(5 * MIB));
    assertEquals(await readAll(reader), 5 * MIB);
    assertEquals(state.ended, 1);
  });
});
