import { Buffer } from "node:buffer";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { bodyMemory, readBody } from "../../lib/work/read_body.ts";
import { TestClock, turns } from "../test_clock.ts";

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
    cancel: () => void (seen.isCanceled = true),
  }, { highWaterMark: 0 });
  return { body, seen };
}

type Options = Partial<Parameters<typeof readBody>[1]> & {
  headers?: HeadersInit;
};

function open() {
  const clock = new TestClock();
  const memory = bodyMemory({
    firstBytes: 8 * MIB,
    first: 24 * MIB,
    rest: 32 * MIB,
    maxWaitMs: 10_000,
    clock,
  });
  const used = () => memory.first.used + memory.rest.used;
  const waits: boolean[] = [];
  const onWait = (isWaiting: boolean) => waits.push(isWaiting);
  const { signal } = new AbortController();
  /** Reads a body, or one of so many pieces. */
  const read = (
    given: BodyInit | number | null,
    { headers = {}, ...options }: Options = {},
  ) => {
    const body = typeof given === "number" ? pieces(given).body : given;
    const all = {
      memory,
      client: "a",
      maxBytes: 64 * MIB,
      signal,
      onWait,
      ...options,
    };
    return readBody(new Response(body, { headers }), all);
  };
  return { clock, memory, read, used, waits };
}

Deno.test("readBody() stops at the first piece past its bound", async () => {
  const { read, used } = open();
  const announced = { "content-length": `${10 * PIECE + 1}` };
  const rows = [
    { maxPieces: 10, headers: {}, read: 11 },
    { maxPieces: 20, headers: {}, read: 21 },
    { maxPieces: 10, headers: announced, read: 0 },
  ];
  for (const { maxPieces, headers, read: expected } of rows) {
    const { body, seen } = pieces(1000);
    const maxBytes = maxPieces * PIECE;
    await assertRejects(() => read(body, { maxBytes, headers }), RangeError);
    assertEquals(seen, { pieces: expected, isCanceled: true });
    assertEquals(used(), 0);
  }
  // A body that may be left early may be announced longer.
  const headers = { "content-length": `${11 * PIECE}` };
  const { body, seen } = pieces(11);
  const left = await read(body, {
    maxBytes: 10 * PIECE,
    headers,
    isEnough: () => true,
  });
  // What follows is not waited for: it may never come.
  assertEquals([left.bytes.length, seen.pieces], [PIECE, 1]);
});

Deno.test("readBody() frees what it has read of a body that fails", async () => {
  const { read } = open();
  const seen: ArrayBuffer[] = [];
  const isEnough = ({ buffer }: Uint8Array) => {
    seen.push(buffer as ArrayBuffer);
    return false;
  };
  await assertRejects(
    () => read(30, { maxBytes: 20 * PIECE, isEnough, isGrowable: true }),
    RangeError,
  );
  assertEquals(seen.every(({ detached }) => detached), true);
  assertEquals(seen.length, 20);
});

Deno.test("readBody() rejects a body that is longer than announced", async () => {
  const { read, used } = open();
  const { body, seen } = pieces(40);
  const headers = { "content-length": `${20 * PIECE}` };
  await assertRejects(() => read(body, { headers }), RangeError);
  assertEquals([seen.pieces, used()], [21, 0]);
});

Deno.test("readBody() gives a body of just the bound whole", async () => {
  const { read } = open();
  const given = crypto.getRandomValues(new Uint8Array(5_000));
  const { bytes } = await read(given, { maxBytes: 5_000 });
  assertEquals([bytes, bytes.buffer.byteLength], [given, 5_000]);
  for (const empty of [null, ""]) {
    assertEquals((await read(empty, { maxBytes: 0 })).bytes.length, 0);
  }
});

Deno.test("readBody() reserves the most that a long body may have", async () => {
  const { memory, read, used, waits } = open();
  const small = await read(16);
  assertEquals([small.bytes.length, used(), waits], [MIB, 0, []]);
  const rows = [
    { mib: 1, first: 8, rest: 0, waited: [true, false] },
    { mib: 9, first: 8, rest: 32, waited: [true, false, true, false] },
  ];
  for (const { mib, first, rest, waited } of rows) {
    const { body } = pieces(16 * mib + 1);
    let most: number[] = [];
    const watch = new TransformStream({
      flush: () => void (most = [memory.first.used, memory.rest.used]),
    });
    const long = await read(body.pipeThrough(watch), { maxBytes: 40 * MIB });
    assertEquals(most, [first * MIB, rest * MIB]);
    assertEquals(waits.splice(0), waited);
    const length = mib * MIB + PIECE;
    assertEquals([long.bytes.length, used()], [length, length]);
    for (let times = 0; times < 2; times++) long.release();
    assertEquals(used(), 0);
  }
});

Deno.test("readBody() lets long bodies pass huge ones", async () => {
  const { memory, read, used } = open();
  const others = await memory.rest.acquire({ client: "b", weight: 32 * MIB });
  const huge = read(9 * 16);
  while (memory.rest.waiting < 1) await turns();
  const long = await read(8 * 16);
  long.release();
  others.release();
  (await huge).release();
  assertEquals(used(), 0);
});

Deno.test("readBody() reserves the announced length of a body", async () => {
  const { memory, read } = open();
  const others = await memory.first.acquire({ client: "b", weight: 22 * MIB });
  const headers = { "content-length": `${2 * MIB}` };
  assertEquals((await read(32, { headers })).bytes.length, 2 * MIB);
  others.release();
});

Deno.test("readBody() reserves the maximum for a compressed body", async () => {
  const { memory, read } = open();
  const most: number[] = [];
  const { body } = pieces(9 * 16);
  const watch = new TransformStream({
    flush: () => void most.push(memory.first.used, memory.rest.used),
  });
  await read(body.pipeThrough(watch), {
    maxBytes: 40 * MIB,
    headers: { "content-encoding": "gzip", "content-length": `${PIECE}` },
  });
  assertEquals(most, [8 * MIB, 32 * MIB]);
});

Deno.test("readBody() rejects a body that waits or is not read", async () => {
  const { clock, memory, read } = open();
  const others = await memory.first.acquire({ client: "b", weight: 24 * MIB });
  const late = assertRejects(() => read(17), Error, "Cannot wait any longer");
  const leaving = new AbortController();
  const { signal } = leaving;
  const left = assertRejects(() => read(17, { signal }), Error, "left");
  while (memory.first.waiting < 2) await turns();
  leaving.abort(new Error("left"));
  await left;
  clock.advance(10_000);
  await late;
  others.release();
  assertEquals(memory.first.used, 0);
});

Deno.test("a decompressed body takes little more memory than its bytes", async () => {
  const length = 32 * MIB;
  const spaces = new Blob([new Uint8Array(length).fill(0x20)]).stream();
  const gzip = await new Response(
    spaces.pipeThrough(new CompressionStream("gzip")),
  ).bytes();
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
  // Uncopied pieces would take 16 times the memory of the body. What V8 has not
  // collected yet counts as well.
  assert(most < 8 * length, `${Math.round(most / MIB)} MiB`);
});

Deno.test("readBody() lets timers run while it reads a long body", async () => {
  let isRead = false;
  const timer = new Promise<boolean>((resolve) =>
    setTimeout(() => resolve(isRead), 0)
  );
  await open().read(1_000);
  isRead = true;
  assertEquals(await timer, false);
});

Deno.test("readBody() lets long bodies grow in place", async () => {
  const { read } = open();
  const { resize } = ArrayBuffer.prototype;
  let cleared = 0;
  using cleanup = new DisposableStack();
  cleanup.defer(() => void (ArrayBuffer.prototype.resize = resize));
  ArrayBuffer.prototype.resize = function (length) {
    cleared = Math.max(cleared, this.byteLength - length!);
    Reflect.apply(resize, this, [length]);
  };
  const rows = [
    { size: MIB, resizable: false },
    { size: 5 * MIB + 7, resizable: true },
  ];
  for (const { size, resizable } of rows) {
    const given = crypto.getRandomValues(new Uint8Array(64 << 10));
    const whole = Uint8Array.from(
      { length: size },
      (_, index) => given[index % given.length]!,
    );
    for (const isBytes of [true, false]) {
      const plain = new Blob([whole]).stream();
      const body = isBytes ? plain : plain.pipeThrough(new TransformStream());
      const { bytes } = await read(body, { isGrowable: true });
      assertEquals(bytes.buffer.resizable, resizable);
      assert(Buffer.compare(bytes, whole) === 0);
    }
  }
  assert(cleared <= MIB, `${cleared} bytes were cleared`);
});

Deno.test("readBody() grows past the length of a compressed body", async () => {
  const { read } = open();
  const { set } = Uint8Array.prototype;
  let copied = 0;
  Uint8Array.prototype.set = function (from, at) {
    copied += from.length;
    Reflect.apply(set, this, [from, at]);
  };
  try {
    const headers = {
      "content-encoding": "gzip",
      "content-length": `${2 * PIECE}`,
    };
    const { bytes } = await read(64, { headers });
    assertEquals(bytes.length, 64 * PIECE);
  } finally {
    Uint8Array.prototype.set = set;
  }
  assert(copied < 4 * 64 * PIECE, `${copied} bytes`);
});
