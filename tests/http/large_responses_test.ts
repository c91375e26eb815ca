// Memory of large responses, while they are made and sent: bounded for all together, released in every case, and not
// reserved for a response without a body.

import { assert, assertEquals } from "@std/assert";
import { ByteSemaphore } from "../../lib/byte_semaphore.ts";
import { pacedBody } from "../../lib/http/paced_body.ts";
import { HttpContext } from "../../lib/http/state.ts";
import { randomBytes } from "../cache/watched_kv.ts";
import { itemPath, listPath, type RequestOptions } from "../service.ts";
import { startSite } from "../site.ts";
import { TestClock } from "../test_clock.ts";
import { gzipReady } from "./freshness_of.ts";

const MIB = 1 << 20;
/** Control characters become six bytes each in JSON. */
const SWELLING = "\u0001".repeat(2 * MIB);
const FILES = {
  "posts/a.md": SWELLING,
  "posts/b.md": `${SWELLING}b`,
  "small/c.md": "c",
  "plain/d.md": "d".repeat(1.5 * MIB),
  "cached/e.md": "e".repeat(3 * MIB),
  "cached/f.md": "f".repeat(3 * MIB),
};
const LARGE = [
  itemPath({ path: "posts/a.md" }),
  itemPath({ path: "posts/a.md", format: "raw" }),
  itemPath({ path: "plain/d.md" }),
  listPath({ includeContent: true }),
];

/** A service whose large responses share this much memory; two requests may wait for it. */
async function start(
  { maxBytes = 70 * MIB, maxWaiting = 2, files = FILES as Record<string, string>, memoryMb = 64 } =
    {},
) {
  let memory!: ByteSemaphore;
  const site = await startSite(files, {
    env: { MISSES_PER_MINUTE: "0", CACHE_MEMORY_MB: String(memoryMb) },
    change(services) {
      const { clock } = services;
      memory = new ByteSemaphore({ maxBytes, maxWaiting, maxWaitMs: 1_000, clock });
      return Object.assign(services, { responseMemory: memory });
    },
  });
  /** The response, its body unread. */
  const send = (path: string, options?: RequestOptions) => site.service.send(path, options);
  return Object.assign(site, { memory, send });
}

async function read(response: Response): Promise<number> {
  return (await response.bytes()).length;
}

Deno.test("a response reserves its body's memory while it is sent, and nothing after", async () => {
  await using site = await start();
  for (const path of LARGE) {
    // The second time the response may be cached.
    for (const turn of ["first", "again"]) {
      const response = await site.send(path);
      const length = Number(response.headers.get("content-length"));
      assert(length > MIB, path);
      assertEquals([path, turn, site.memory.bytes], [path, turn, length]);
      assertEquals([path, await read(response)], [path, length]);
      assertEquals([path, turn, site.memory.bytes], [path, turn, 0]);
    }
  }
});

Deno.test("a response releases its memory when it has no body, fails, or loses its reader", async () => {
  await using site = await start();
  const { gh, memory } = site;
  for (const path of LARGE) {
    const first = await site.send(path);
    await first.body?.cancel();
    assertEquals([path, memory.bytes], [path, 0]);
    await site.send(path, { method: "HEAD" });
    assertEquals([path, "HEAD", memory.bytes], [path, "HEAD", 0]);
    const headers = { "if-none-match": first.headers.get("etag")! };
    const unchanged = await site.send(path, { headers });
    assertEquals([path, unchanged.status, memory.bytes], [path, 304, 0]);
  }
  for (const owner of ["second", "third"]) gh.add(`${owner}/site`, site.repository);
  gh.fault = { kind: "wrong-bytes" };
  const second = itemPath({ owner: "second", path: "posts/b.md" });
  assertEquals((await site.send(second)).status, 502);
  assertEquals(memory.bytes, 0);

  const disconnect = new AbortController();
  gh.fault = { kind: "hang", only: ["blob", "raw"] };
  const path = itemPath({ owner: "third", path: "posts/a.md" });
  const left = site.send(path, { signal: disconnect.signal });
  await gh.log.until(() => gh.pauses.waiting > 0);
  assert(memory.bytes > 2 * MIB);
  disconnect.abort();
  await left;
  assertEquals(memory.bytes, 0);
});

Deno.test("responses that find no memory are busy; small ones are sent, and later ones too", async () => {
  await using site = await start({ maxWaiting: 1 });
  const { memory } = site;
  const path = itemPath({ path: "posts/a.md" });
  // Four fit while they are made, one waits for them, and the others are refused.
  const first = await Promise.all(
    Array.from({ length: 12 }, (_, index) => site.send(`${path}&unknown=${index}`)),
  );
  const sent = first.filter(({ status }) => status === 200);
  const busy = first.filter(({ status }) => status === 503);
  assert(sent.length > 0 && busy.length > 0);
  assertEquals(sent.length + busy.length, first.length);
  for (const response of busy) {
    assertEquals((await response.json()).code, "service-busy");
    assert(Number(response.headers.get("retry-after")) > 0);
  }
  assert(memory.bytes <= 70 * MIB);

  const small = { collection: "small" };
  assertEquals((await site.send(listPath(small))).status, 200);
  assertEquals((await site.send(listPath({ ...small, includeContent: 1 }))).status, 200);
  for (const response of sent) await read(response);
  assertEquals(memory.bytes, 0);
  assertEquals(await read(await site.send(path)) > 10 * MIB, true);
});

Deno.test("a large response that is cached needs memory as soon as it is sent", async () => {
  await using site = await start({ maxBytes: 5 * MIB, maxWaiting: 0 });
  const [first, second] = ["cached/e.md", "cached/f.md"].map((path) =>
    itemPath({ path, format: "raw" })
  );
  for (const path of [first!, second!]) assertEquals(await read(await site.send(path)), 3 * MIB);

  const sent = await site.send(first!);
  assertEquals([sent.status, site.memory.bytes], [200, 3 * MIB]);
  assertEquals((await site.send(second!)).status, 503);
  await read(sent);
  assertEquals(await read(await site.send(second!)), 3 * MIB);
});

const NOISE_PATH = itemPath({ path: "noise.txt" });
const FULL = 64 * MIB;

/** A service that has one large response cached in both codings, and `fill`, which takes all memory that is left. */
async function startLarge(text = randomBytes(3 * MIB).toHex()) {
  const site = await start({ maxBytes: FULL, files: { "noise.txt": text }, memoryMb: 256 });
  await (await site.send(NOISE_PATH)).body!.cancel();
  await gzipReady(site.service, NOISE_PATH);
  return Object.assign(site, { fill: () => site.memory.acquire(FULL - site.memory.bytes) });
}

for (const coding of ["identity", "gzip"]) {
  Deno.test(`a body in ${coding} that many clients read, or that need not be sent, takes no more memory`, async () => {
    await using site = await startLarge();
    const headers = { "accept-encoding": coding };
    const first = await site.send(NOISE_PATH, { headers });
    const length = Number(first.headers.get("content-length"));
    assertEquals(site.memory.bytes, length);
    const filled = await site.fill();

    const others = await Promise.all(
      Array.from({ length: 20 }, () => site.send(NOISE_PATH, { headers })),
    );
    const etag = first.headers.get("etag")!;
    const known = await site.send(NOISE_PATH, { headers: { ...headers, "if-none-match": etag } });
    const head = await site.send(NOISE_PATH, { method: "HEAD", headers });

    assertEquals([known.status, known.headers.get("etag")], [304, etag]);
    assertEquals([head.status, head.headers.get("etag")], [200, etag]);
    assertEquals(Number(head.headers.get("content-length")), length);
    for (const response of [first, ...others]) {
      assertEquals([response.status, await read(response)], [200, length]);
    }
    filled.release();
    assertEquals(site.memory.bytes, 0);
  });
}

Deno.test("a response that waited for memory is as old as it is when it leaves, and checked again when it is too old", async () => {
  for (const [waitMs, age, counts] of [[7_000, "7", {}], [60_000, "0", { commit: 1 }]] as const) {
    await using site = await startLarge();
    const { memory, service: { clock } } = site;
    const acquire = memory.acquire.bind(memory);
    memory.acquire = (bytes, signal) => {
      clock.advance(waitMs);
      return acquire(bytes, signal);
    };
    site.gh.resetCounts();

    const response = await site.send(NOISE_PATH);

    assertEquals([response.status, response.headers.get("age")], [200, age]);
    assertEquals(site.gh.counts(), counts);
    await response.body!.cancel();
  }
});

Deno.test("reserveBytes() grows a request's first reservation without a wait", async () => {
  await using site = await start({ maxBytes: 4 * MIB });
  const info: Deno.ServeHandlerInfo = {
    remoteAddr: { transport: "tcp", hostname: "192.0.2.1", port: 50_000 },
    completed: Promise.resolve(),
  };
  const context = new HttpContext(new Request("http://localhost"), info, site.service.services);

  await context.reserveBytes(3 * MIB);
  await context.reserveBytes(3 * MIB);

  assertEquals(site.memory.bytes, 6 * MIB);
  (await context.takeReservation(MIB)).release();
  assertEquals([site.memory.bytes, context.reservation], [0, null]);
});

/** The reader of a body, and how often it has ended. */
function openPaced(bytes: Uint8Array<ArrayBuffer>, clock: TestClock) {
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
  const never = openPaced(new Uint8Array(MIB), clock);
  const stopped = openPaced(new Uint8Array(MIB), clock);
  const disconnected = openPaced(new Uint8Array(MIB), clock);
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
    const { reader, state } = openPaced(new Uint8Array(4 * MIB), clock);
    let length = 0;
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      length += part.value.length;
      clock.advance(pauseMs);
    }
    assertEquals([length === 4 * MIB, state.ended, clock.timerCount], [isWhole, 1, 0]);
  }
});
