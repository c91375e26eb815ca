// Memory of large responses, while they are made and sent: bounded for all
// together, released in every case, and not reserved for a response without a
// body.

import { assert, assertEquals } from "@std/assert";
import { likelyBytes } from "../../lib/collections/describe_items.ts";
import { LargeBodies, pacedBody } from "../../lib/http/paced_body.ts";
import { turnToSend } from "../../lib/work/clock.ts";
import { FairQueue } from "../../lib/work/fair_queue.ts";
import { equalBytes, randomBytes } from "../cache/watched_kv.ts";
import { itemPath, listPath, type RequestOptions } from "../service.ts";
import { startSite } from "../site.ts";
import { TestClock, turns } from "../test_clock.ts";
import { onTurns, useTicks } from "../work/time_slices.ts";
import { gzipReady } from "./freshness_of.ts";

const MIB = 1 << 20;
/** Control characters become six bytes each in JSON. */
const SWELLING = "\u0001".repeat(2 * MIB);
const FILES = {
  "posts/a.md": SWELLING,
  "posts/b.md": `${SWELLING}b`,
  "small/c.md": "c",
  "plain/d.md": "d".repeat(1.5 * MIB),
};
const LARGE = [
  itemPath({ path: "posts/a.md" }),
  itemPath({ path: "posts/a.md", format: "raw" }),
  itemPath({ path: "plain/d.md" }),
  listPath({ includeContent: true }),
];

const MAX_BYTES = 70 * MIB;

/**
 * A service whose large responses share {@linkcode MAX_BYTES}; none waits for
 * them.
 */
async function start(files: Record<string, string> = FILES) {
  let memory!: FairQueue;
  const site = await startSite(files, {
    env: { MISSES_PER_MINUTE: "0", CACHE_MEMORY_MB: "256" },
    change(services) {
      const { clock } = services;
      const bounds = { capacity: MAX_BYTES, maxPerClient: MAX_BYTES / 2 };
      memory = new FairQueue({
        ...bounds,
        maxWaiting: 1,
        maxWaitMs: 1_000,
        clock,
      });
      const largeBodies = new LargeBodies(memory);
      return Object.assign(services, { responseMemory: memory, largeBodies });
    },
  });
  /**
   * The response, its body unread. The memory that it was made in is released
   * when the others are.
   */
  const send = async (path: string, options?: RequestOptions) => {
    const response = await site.service.send(path, options);
    await turns();
    return response;
  };
  return Object.assign(site, { memory, send });
}

async function read(response: Response): Promise<number> {
  return (await response.bytes()).length;
}

Deno.test("a response reserves its memory until it is sent", async () => {
  await using site = await start();
  const { gh, memory, send, service: { clock } } = site;
  for (const path of LARGE) {
    // The second time the response may be cached.
    for (const turn of ["first", "again"]) {
      const response = await send(path);
      const length = Number(response.headers.get("content-length"));
      assert(length > MIB, path);
      assertEquals([path, turn, memory.used], [path, turn, length]);
      assertEquals([path, await read(response)], [path, length]);
      assertEquals([path, turn, memory.used], [path, turn, 0]);
    }
    const { body, headers } = await send(path);
    await body!.cancel();
    assertEquals([path, memory.used], [path, 0]);
    const unread = await send(path);
    clock.advance(19_999);
    assert(memory.used > 0, path);
    clock.advance(1);
    assertEquals([path, memory.used], [path, 0]);
    await unread.body!.cancel();
    await send(path, { method: "HEAD" });
    assertEquals([path, "HEAD", memory.used], [path, "HEAD", 0]);
    const known = await send(path, {
      headers: { "if-none-match": headers.get("etag")! },
    });
    assertEquals([path, known.status, memory.used], [path, 304, 0]);
  }
  for (const owner of ["second", "third"]) {
    gh.add(`${owner}/site`, site.repository);
  }
  gh.fault = { kind: "wrong-bytes" };
  const failed = await send(itemPath({ owner: "second", path: "posts/b.md" }));
  assertEquals([failed.status, memory.used], [502, 0]);
});

Deno.test("a file and its JSON reserve their memory once", async () => {
  await using site = await start();
  const { memory } = site;
  const weights: unknown[] = [];
  const acquire = memory.acquire.bind(memory);
  memory.acquire = (request) => {
    weights.push(request.weight);
    return acquire(request);
  };
  const size = 1.5 * MIB;
  await read(await site.send(itemPath({ path: "plain/d.md" })));
  assertEquals(weights, [size + likelyBytes("plain/d.md", size)]);
});

Deno.test("small responses do not wait for memory", async () => {
  await using site = await start({
    ...FILES,
    ...Object.fromEntries(
      Array.from({ length: 30 }, (_, n) => [`many/${n}.md`, `# ${n}`]),
    ),
  });
  const { memory } = site;
  using _all = await memory.acquire({ client: "b", weight: MAX_BYTES });
  for (
    const path of [
      listPath({ collection: "many" }),
      listPath({ collection: "many", sort: "-frontMatter.date" }),
      itemPath({ path: "many/1.md" }),
    ]
  ) assertEquals([path, (await site.send(path)).status], [path, 200]);
  const large = await site.send(itemPath({ path: "posts/a.md" }));
  assertEquals(large.status, 503);
});

Deno.test("responses that find no memory are busy, small ones not", async () => {
  await using site = await start();
  const { memory } = site;
  // Some fit, and the others are refused.
  const path = itemPath({ path: "posts/a.md", includeHtml: true });
  const addresses = Array.from(
    { length: 20 },
    (_, index) => `${path}&linkTemplate=/${index}/{slug}`,
  );
  const first = await Promise.all(addresses.map((path) => site.send(path)));
  const sent = first.filter(({ status }) => status === 200);
  const busy = first.filter(({ status }) => status === 503);
  assert(sent.length > 0 && busy.length > 0);
  assertEquals(sent.length + busy.length, first.length);
  for (const response of busy) {
    assertEquals((await response.json()).code, "service-busy");
    assertEquals(response.headers.get("retry-after"), "5");
  }
  assert(memory.used <= MAX_BYTES);

  const small = listPath({ collection: "small", includeContent: true });
  assertEquals((await site.send(small)).status, 200);
  for (const response of sent) await read(response);
  await turns();
  assertEquals(memory.used, 0);
});

const NOISE_PATH = itemPath({ path: "noise.txt" });

/** A service that has one large response cached in both codings. */
async function startLarge() {
  const site = await start({ "noise.txt": randomBytes(3 * MIB).toHex() });
  await (await site.send(NOISE_PATH)).body!.cancel();
  await gzipReady(site.service, NOISE_PATH);
  return site;
}

Deno.test("a body that many clients read takes its memory once", async () => {
  await using site = await startLarge();
  const { memory, send } = site;
  for (const coding of ["identity", "gzip"]) {
    const headers = { "accept-encoding": coding };
    const first = await send(NOISE_PATH, { headers });
    const length = Number(first.headers.get("content-length"));
    assertEquals(memory.used, length);
    const others = memory.take("others", MAX_BYTES - length);

    const more = Array.from(
      { length: 20 },
      () => send(NOISE_PATH, { headers }),
    );
    const readers = [first, ...await Promise.all(more)];
    for (const response of readers) {
      assertEquals(memory.used, MAX_BYTES, "until the last has read it");
      assertEquals([coding, response.status, await read(response)], [
        coding,
        200,
        length,
      ]);
    }
    others.release();
    assertEquals(memory.used, 0);
  }
});

Deno.test("a cached body is sent while no other can be made", async () => {
  await using site = await startLarge();
  const { memory, send } = site;
  memory.take("others", MAX_BYTES);
  assert(await read(await send(NOISE_PATH)) > 6 * MIB);
});

Deno.test("a client that has its share gets no more cached bodies", async () => {
  await using site = await startLarge();
  const { memory, send } = site;
  const share = memory.take("192.0.2.1", MAX_BYTES / 2);
  const { status, headers } = await send(NOISE_PATH);
  assertEquals([status, headers.get("retry-after")], [503, "5"]);
  share.release();
  assertEquals((await send(NOISE_PATH)).status, 200);
});

Deno.test("a response that waited for memory is checked once it is old", async () => {
  const path = itemPath({ path: "noise.txt", format: "raw" });
  const rows = [
    { waitMs: 7_000, age: "7", counts: {} },
    { waitMs: 60_000, age: "0", counts: { commit: 1 } },
  ];
  for (const { waitMs, age, counts } of rows) {
    await using site = await startLarge();
    const { memory, send, service: { clock } } = site;
    const acquire = memory.acquire.bind(memory);
    memory.acquire = (of) => {
      clock.advance(waitMs);
      return acquire(of);
    };
    site.gh.resetCounts();

    const response = await send(path);

    assertEquals([response.status, response.headers.get("age")], [200, age]);
    assertEquals(site.gh.counts(), counts);
    await response.body!.cancel();
  }
});

/** The reader of a body, and how often it has ended. */
function openPaced(bytes: Uint8Array<ArrayBuffer>, clock: TestClock) {
  const state = { ended: 0 };
  const reader = pacedBody(bytes, { clock, onEnd: () => state.ended++ })
    .getReader();
  return { reader, state };
}

Deno.test("pacedBody() ends for a client that is too slow", async () => {
  const bytes = randomBytes(4 * MIB + 5);
  // 64 KiB each time: just 4 kB a second on average, and a little less.
  for (const [pauseMs, isWhole] of [[16_384, true], [17_000, false]] as const) {
    const clock = new TestClock();
    const { reader, state } = openPaced(bytes, clock);
    const parts: Uint8Array<ArrayBuffer>[] = [];
    for await (const part of readAll(reader)) {
      parts.push(part);
      clock.advance(pauseMs);
    }
    const sent = await new Blob(parts).bytes();
    assertEquals([equalBytes(sent, bytes), state.ended, clock.timerCount], [
      isWhole,
      1,
      0,
    ]);
  }
});

Deno.test("pacedBody() ends for a slow client if others wait", async () => {
  const bytes = randomBytes(4 * MIB);
  const rows = [
    { waiting: null, isWhole: true },
    { waiting: { client: "slow", weight: MIB }, isWhole: true },
    // It waits for what it holds itself.
    { waiting: { client: "third", weight: 5 * MIB }, isWhole: true },
    { waiting: { client: "other", weight: MIB }, isWhole: false },
  ];
  for (const { waiting, isWhole } of rows) {
    const clock = new TestClock();
    const memory = new FairQueue({
      capacity: 8 * MIB,
      maxPerClient: 8 * MIB,
      maxWaiting: 4,
      maxWaitMs: 60_000,
      clock,
    });
    const third = memory.take("third", 4 * MIB);
    const held = new LargeBodies(memory).hold(bytes, "slow");
    const granted = waiting && memory.acquire(waiting);
    const reader = pacedBody(bytes, { clock, ...held }).getReader();
    let length = 0;
    for await (const part of readAll(reader)) {
      length += part.length;
      clock.advance(500);
    }
    assertEquals([waiting?.client, length === bytes.length], [
      waiting?.client,
      isWhole,
    ]);
    third.release();
    (await granted)?.release();
    assertEquals([memory.used, clock.timerCount], [0, 0]);
  }
});

Deno.test("pacedBody() is watched while the client reads nothing", async () => {
  const clock = new TestClock();
  let isWanted = false;
  let ended = 0;
  const held = { isWanted: () => isWanted, onEnd: () => void ended++ };
  const reader = pacedBody(randomBytes(MIB), { clock, ...held }).getReader();
  await reader.read();
  clock.advance(8_000);
  assertEquals(ended, 0);
  isWanted = true;
  clock.advance(2_000);
  assertEquals([ended, (await reader.read()).done], [1, true]);
});

Deno.test("pacedBody() sends a short body before long ones that wait", async () => {
  // The second call starts a slice, which is used up.
  await turnToSend(60_000);
  await turnToSend(60_000);
  const ended: string[] = [];
  const waiting = Array.from(
    { length: 10 },
    () => turnToSend(0).then(() => ended.push("long")),
  );
  const bytes = randomBytes(100);
  const reader = pacedBody(bytes, { clock: new TestClock() }).getReader();
  await reader.read();
  assertEquals((await reader.read()).done, true);
  ended.push("short");
  await Promise.all(waiting);
  assertEquals(ended.indexOf("short"), 0);
});

Deno.test("pacedBody() sends 1 MiB of all bodies at once", async () => {
  // No time passes while the pieces are made.
  using _ticks = useTicks();
  const bytes = randomBytes(MIB);
  const sent: number[] = [0];
  using _others = onTurns(() => sent.at(-1)! > 0 && sent.push(0));
  await Promise.all(Array.from({ length: 8 }, async () => {
    const { reader } = openPaced(bytes, new TestClock());
    for await (const piece of readAll(reader)) {
      sent[sent.length - 1]! += piece.length;
    }
  }));
  assertEquals(sent.reduce((sum, length) => sum + length), 8 * MIB);
  // The first pieces, 0.5 MiB together, do not wait.
  assert(sent.every((length) => length <= 1.5 * MIB), sent.join());
});

Deno.test("pacedBody() copies what a connection may keep", async () => {
  const bytes = randomBytes(3 * MIB);
  const { reader } = openPaced(bytes, new TestClock());
  let [shared, copied] = [0, 0];
  for await (const piece of readAll(reader)) {
    if (piece.buffer === bytes.buffer) shared += piece.length;
    else copied += piece.length;
  }
  assertEquals([shared, copied], [2 * MIB, MIB]);
});

Deno.test("pacedBody() ends for a client that leaves during a read", async () => {
  const clock = new TestClock();
  const { reader, state } = openPaced(randomBytes(MIB), clock);
  const reading = reader.read();
  await reader.cancel();
  assertEquals((await reading).done, true);
  clock.advance(60_000);
  assertEquals([state.ended, clock.timerCount], [1, 0]);
});

async function* readAll(
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>,
) {
  for (
    let part = await reader.read();
    !part.done;
    part = await reader.read()
  ) yield part.value;
}
