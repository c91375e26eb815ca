import { assert, assertEquals, assertRejects } from "@std/assert";
import { BodyReader } from "../../lib/read_body.ts";
import { TestClock } from "../test_clock.ts";

const MIB = 1 << 20;
const PIECE = 64 << 10;
const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

/** A body of so many pieces, and how many of them were read. */
function pieces(count: number) {
  const seen = { pieces: 0, isCanceled: false };
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(new Uint8Array(PIECE).fill(seen.pieces));
      if (++seen.pieces === count) controller.close();
    },
    cancel: () => void (seen.isCanceled = true),
  }, { highWaterMark: 0 });
  return { body, seen };
}

type Options = Partial<Parameters<BodyReader["read"]>[1]> & { headers?: HeadersInit };

function open() {
  const clock = new TestClock();
  const reader = new BodyReader({ maxWaitMs: 10_000, clock });
  const waits: boolean[] = [];
  const onWait = (isWaiting: boolean) => waits.push(isWaiting);
  const { signal } = new AbortController();
  /** Reads a body, or one of so many pieces. */
  const read = (given: BodyInit | number | null, { headers = {}, ...options }: Options = {}) => {
    const body = typeof given === "number" ? pieces(given).body : given;
    const response = new Response(body, { headers });
    return reader.read(response, { maxBytes: 64 * MIB, signal, onWait, ...options });
  };
  const reserved = () => reader["medium"].bytes + reader["large"].bytes;
  return { clock, read, reserved, waits };
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
    const maxBytes = maxPieces * PIECE;
    await assertRejects(() => read(body, { maxBytes, headers }), RangeError);
    assertEquals([seen, reserved()], [{ pieces: expected, isCanceled: true }, 0]);
  }
  // A body that may be left early may be announced longer.
  const headers = { "content-length": `${11 * PIECE}` };
  const { body, seen } = pieces(11);
  const left = await read(body, { maxBytes: 10 * PIECE, headers, isEnough: () => true });
  // What follows is not waited for: it may never come.
  assertEquals([left.bytes.length, seen.pieces], [PIECE, 1]);
});

Deno.test("BodyReader gives a body of just the bound whole, in a buffer of its own", async () => {
  const { read } = open();
  const given = crypto.getRandomValues(new Uint8Array(5_000));
  const { bytes } = await read(given, { maxBytes: 5_000 });
  assertEquals([bytes, bytes.buffer.byteLength], [given, 5_000]);
  for (const empty of [null, ""]) {
    assertEquals((await read(empty, { maxBytes: 0 })).bytes.length, 0);
  }
});

Deno.test("BodyReader reserves memory for bodies over 1 MiB until they are released", async () => {
  const { read, reserved, waits } = open();
  const small = await read(16);
  assertEquals([small.bytes.length, reserved(), waits], [MIB, 0, []]);
  const medium = await read(17);
  assertEquals([medium.bytes.length, reserved(), waits], [MIB + PIECE, 8 * MIB, [true, false]]);
  const large = await read(129);
  assertEquals([large.bytes.length, reserved()], [8 * MIB + PIECE, (8 + 8 + 56) * MIB]);
  assertEquals(large.bytes.at(-1), 128);
  for (const body of [medium, large, large]) body.release();
  assertEquals(reserved(), 0);
});

Deno.test("BodyReader never reserves more than 128 MiB, and reads all bodies", async () => {
  const { read, reserved } = open();
  let most = 0;
  const lengths = await Promise.all(Array.from({ length: 24 }, async (_, index) => {
    const body = await read(index % 2 === 0 ? 40 : 160);
    most = Math.max(most, reserved());
    await turn();
    body.release();
    return body.bytes.length;
  }));
  assert(most <= 128 * MIB && most > 64 * MIB, `${most}`);
  assertEquals([lengths.at(-2), lengths.at(-1), reserved()], [40 * PIECE, 160 * PIECE, 0]);
});

Deno.test("BodyReader rejects a body that has waited too long for memory, or is not wanted any more", async () => {
  const { clock, read, reserved } = open();
  const bodies = await Promise.all(Array.from({ length: 8 }, () => read(17)));
  const late = assertRejects(() => read(17), Error, "waiting already");
  const leaving = new AbortController();
  const left = assertRejects(() => read(17, { signal: leaving.signal }), Error, "left");
  await turn();
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
  const body = await open().read(response.body!.pipeThrough(watch));
  assertEquals(body.bytes.length, length);
  // Uncopied pieces would take 16 times the memory of the body.
  assert(most < 5 * length, `${Math.round(most / MIB)} MiB`);
});

Deno.test("BodyReader lets timers run while it reads a long body that is all there", async () => {
  let isRead = false;
  const timer = new Promise<boolean>((resolve) => setTimeout(() => resolve(isRead), 0));
  await open().read(1_000);
  isRead = true;
  assertEquals(await timer, false);
});
