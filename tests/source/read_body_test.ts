import { assert, assertEquals, assertRejects } from "@std/assert";
import { BodyReader } from "../../lib/read_body.ts";
import { TestClock } from "../test_clock.ts";

const MIB = 1 << 20;
const PIECE = 64 << 10;

/** A body of so many pieces, and how many of them were read. */
function pieces(count: number) {
  const seen = { pieces: 0, isCanceled: false };
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(new Uint8Array(PIECE).fill(seen.pieces));
      if (++seen.pieces === count) controller.close();
    },
    cancel() {
      seen.isCanceled = true;
    },
  }, { highWaterMark: 0 });
  return { body, seen };
}

function open() {
  const clock = new TestClock();
  const reader = new BodyReader({ maxWaitMs: 10_000, clock });
  const waits: boolean[] = [];
  const read = (
    body: BodyInit | null,
    maxBytes: number,
    { signal = new AbortController().signal, isEnough, ...init }: ResponseInit & {
      signal?: AbortSignal;
      isEnough?: () => boolean;
    } = {},
  ) =>
    reader.read(new Response(body, init), {
      maxBytes,
      ...isEnough && { isEnough },
      signal,
      onWait: (isWaiting) => waits.push(isWaiting),
    });
  const reserved = () => reader["medium"].bytes + reader["large"].bytes;
  return { clock, read, reserved, waits };
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 2_000; turn++) await Promise.resolve();
}

Deno.test("BodyReader stops at the first piece past its bound, or at once where it is announced", async () => {
  const { read, reserved } = open();
  const cases: [maxPieces: number, headers: HeadersInit, pieces: number][] = [
    [10, {}, 11],
    [20, {}, 21],
    [10, { "content-length": `${10 * PIECE + 1}` }, 0],
  ];
  for (const [maxPieces, headers, expected] of cases) {
    const { body, seen } = pieces(1000);
    await assertRejects(() => read(body, maxPieces * PIECE, { headers }), RangeError);
    assertEquals([seen, reserved()], [{ pieces: expected, isCanceled: true }, 0]);
  }
  // A body that may be left early may be announced longer.
  const headers = { "content-length": `${11 * PIECE}` };
  const left = await read(pieces(11).body, 10 * PIECE, { headers, isEnough: () => true });
  assertEquals(left.bytes.length, 0);
});

Deno.test("BodyReader gives a body of just the bound whole, in a buffer of its own", async () => {
  const { read } = open();
  const bytes = crypto.getRandomValues(new Uint8Array(5_000));
  const body = await read(bytes, bytes.length);
  assertEquals(body.bytes, bytes);
  assertEquals(body.bytes.buffer.byteLength, bytes.length);
  assertEquals((await read(null, 0)).bytes, new Uint8Array(0));
  assertEquals((await read("", 0)).bytes, new Uint8Array(0));
});

Deno.test("BodyReader reserves memory for bodies over 1 MiB until they are released", async () => {
  const { read, reserved, waits } = open();
  const small = await read(pieces(16).body, 64 * MIB);
  assertEquals([small.bytes.length, reserved(), waits], [MIB, 0, []]);
  const medium = await read(pieces(17).body, 64 * MIB);
  assertEquals([medium.bytes.length, reserved(), waits], [MIB + PIECE, 8 * MIB, [true, false]]);
  const large = await read(pieces(129).body, 64 * MIB);
  assertEquals([large.bytes.length, reserved()], [8 * MIB + PIECE, (8 + 8 + 56) * MIB]);
  assertEquals(large.bytes.at(-1), 128);
  for (const body of [medium, large, large]) body.release();
  assertEquals(reserved(), 0);
});

Deno.test("BodyReader never reserves more than 128 MiB, and reads all bodies", async () => {
  const { read, reserved } = open();
  let most = 0;
  let longest = 0;
  await Promise.all(Array.from({ length: 24 }, async (_, index) => {
    const body = await read(pieces(index % 2 === 0 ? 40 : 160).body, 64 * MIB);
    most = Math.max(most, reserved());
    longest = Math.max(longest, body.bytes.length);
    await turns();
    body.release();
  }));
  assert(most <= 128 * MIB && most > 64 * MIB, `${most}`);
  assertEquals([longest, reserved()], [160 * PIECE, 0]);
});

Deno.test("BodyReader rejects a body that has waited too long for memory, or is not wanted any more", async () => {
  const { clock, read, reserved } = open();
  const bodies = await Promise.all(
    Array.from({ length: 8 }, () => read(pieces(17).body, 64 * MIB)),
  );
  const late = assertRejects(() => read(pieces(17).body, 64 * MIB), Error, "waiting already");
  const leaving = new AbortController();
  const { signal } = leaving;
  const left = assertRejects(() => read(pieces(17).body, 64 * MIB, { signal }), Error, "left");
  await turns();
  leaving.abort(new Error("left"));
  await left;
  clock.advance(10_000);
  await late;
  for (const body of bodies) body.release();
  assertEquals(reserved(), 0);
});

Deno.test("a decompressed body takes little more memory than its bytes", async () => {
  const length = 32 * MIB;
  const spaces = new Blob([new Uint8Array(length).fill(0x20)]).stream();
  const gzip = await new Response(spaces.pipeThrough(new CompressionStream("gzip"))).bytes();
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(gzip, { headers: { "content-encoding": "gzip" } }),
  );
  const before = Deno.memoryUsage().external;
  let most = 0;
  const watch = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      most = Math.max(most, Deno.memoryUsage().external - before);
      controller.enqueue(chunk);
    },
  });
  const response = await fetch(`http://127.0.0.1:${server.addr.port}`);
  const body = await open().read(response.body!.pipeThrough(watch), 64 * MIB);
  assertEquals(body.bytes.length, length);
  // Uncopied pieces would take 16 times the memory of the body.
  assert(most < 5 * length, `${Math.round(most / MIB)} MiB`);
});

Deno.test("BodyReader lets timers run while it reads a long body that is all there", async () => {
  let isRead = false;
  const timer = new Promise<boolean>((resolve) => setTimeout(() => resolve(isRead), 0));
  await open().read(pieces(1_000).body, 64 * MIB);
  isRead = true;
  assertEquals(await timer, false);
});
