// What the service does while the process has little memory left.

import { assert, assertEquals } from "@std/assert";
import { ObjectCache, type ObjectKind } from "../../lib/cache/object_cache.ts";
import { renderTask } from "../../lib/content/tasks.ts";
import { openServices } from "../../lib/services.ts";
import { parseSettings } from "../../lib/settings.ts";
import { LocalSource } from "../../lib/source/local/local_source.ts";
import { MAX_HEAP_MB } from "../../lib/thread/compute.ts";
import { startSite } from "../site.ts";
import { TestClock, turns } from "../test_clock.ts";

const MIB = 1 << 20;
const CACHE_MIB = 16;
/** Beside its cache the process has this much without being short. */
const ENOUGH_BYTES = (192 + CACHE_MIB) * MIB;
/**
 * With this much the heap of a thread and some requests still have room below
 * 448 MiB.
 */
const ENOUGH_FOR_LONG_BYTES = (224 + CACHE_MIB) * MIB;
/** With this much no queue for memory halves its limits. */
const ENOUGH_FOR_ALL_BYTES = (320 + CACHE_MIB) * MIB;
const HEAP_BYTES = MAX_HEAP_MB * MIB;
const BLOCK: ObjectKind<number> = { name: "block", sizeOf: (size) => size };

/** Has the process take this many bytes. */
function taking(rss: number) {
  const { memoryUsage } = Deno;
  Deno.memoryUsage = () => ({ ...memoryUsage(), rss });
  return {
    set: (bytes: number) => void (rss = bytes),
    [Symbol.dispose]: () => void (Deno.memoryUsage = memoryUsage),
  };
}

/** Counts the blocks of a size that are made. V8 is asked to collect by one. */
function countingBlocks(size: number) {
  const { ArrayBuffer } = globalThis;
  const counted = {
    count: 0,
    [Symbol.dispose]: () => void Object.assign(globalThis, { ArrayBuffer }),
  };
  globalThis.ArrayBuffer = new Proxy(ArrayBuffer, {
    construct(target, args) {
      if (args[0] === size) counted.count++;
      return Reflect.construct(target, args);
    },
  });
  return counted;
}

Deno.test("caches give up half while memory is short", async () => {
  const files = Array.from(
    { length: 30 },
    (_, number) => [`posts/${number}.txt`, `${number}`.repeat(MIB / 16)],
  );
  await using site = await startSite(Object.fromEntries(files), {
    env: { CACHE_MEMORY_MB: `${CACHE_MIB}`, MISSES_PER_MINUTE: "0" },
  });
  const { service } = site;
  const { objects, responses } = service.services;
  for (let page = 1; page <= 10; page++) {
    await service.list({ limit: 3, page, includeContent: true });
  }
  for (let id = 0; id < 10; id++) objects.set(BLOCK, "r", `${id}`, MIB);
  const before = [objects.bytes, responses.bytes];
  // Objects have 70 % of the cache and responses 30 %.
  const halves = [0.35 * CACHE_MIB * MIB, 0.15 * CACHE_MIB * MIB];
  assert(before.every((bytes, index) => bytes > halves[index]!), `${before}`);

  using memory = taking(ENOUGH_BYTES);
  using collections = countingBlocks(16 * MIB);
  await service.services.everySecond();
  assertEquals(collections.count, 0);
  // Responses may get their gzip coding meanwhile.
  assertEquals(objects.bytes, before[0]);
  assert(responses.bytes >= before[1]!, `${responses.bytes}`);
  memory.set(ENOUGH_BYTES + 1);
  await service.services.everySecond();
  assertEquals(collections.count, 1);
  const after = [objects.bytes, responses.bytes];
  assert(after.every((bytes, index) => bytes <= halves[index]!), `${after}`);
  assertEquals(after.map((bytes) => bytes > MIB), [true, true]);
  assertEquals(objects.peek(BLOCK, "r", "9"), MIB);
});

Deno.test("trim() drops at most 10,000 objects at once", () => {
  const fill = (maxBytes: number) => {
    const cache = new ObjectCache({ maxBytes, kv: null });
    for (let id = 10_000; id < 40_000; id++) cache.set(BLOCK, "r", `${id}`, 1);
    return cache;
  };
  const full = fill(1 << 30).bytes;
  const cache = fill(full);
  for (const left of [2 / 3, 1 / 2, 1 / 2]) {
    cache.trim();
    assertEquals(cache.bytes, left * full);
  }
});

Deno.test("long work and large things wait while memory is short", async () => {
  const clock = new TestClock();
  const env: Record<string, string> = {
    CACHE_MEMORY_MB: `${CACHE_MIB}`,
    LOCAL_REPOS_DIR: "examples",
    LOG_LEVEL: "error",
  };
  const config = parseSettings((name) => env[name]);
  const kv = await Deno.openKv(":memory:");
  const services = await openServices(config, { clock, kv });
  const render = (
    client: string,
    isLong: boolean,
    moveInput: () => [] = () => [],
  ) =>
    services.compute.run({ ...renderTask, moveInput }, {
      repository: "octo/site",
      files: [{ id: client, bytes: new TextEncoder().encode(client) }],
    }, { client, isLong });
  try {
    await services.startThreads();
    using memory = taking(ENOUGH_FOR_LONG_BYTES + 1);
    const ended: string[] = [];
    const long = render("long", true).then(() => ended.push("long"));
    await render("short", false).then(() => ended.push("short"));
    assertEquals(ended, ["short"]);
    memory.set(ENOUGH_FOR_LONG_BYTES);
    await long;
    assertEquals(ended, ["short", "long"]);

    let forgets = 0;
    let trims = 0;
    Object.assign(services.compute, { forget: () => void forgets++ });
    const { trim } = LocalSource.prototype;
    using patched = new DisposableStack();
    patched.defer(() => void (LocalSource.prototype.trim = trim));
    LocalSource.prototype.trim = () => void trims++;
    for (const bytes of [ENOUGH_BYTES, ENOUGH_BYTES + 1]) {
      memory.set(bytes);
      await services.everySecond();
    }
    assertEquals([forgets, trims], [1, 1]);

    /** Returns whether each queue grants only one of two large things. */
    const areHalved = () =>
      [services.responseMemory, services.fileMemory].map((queue) => {
        const weight = 12 * MIB;
        const permits = ["a", "b"].map((client) =>
          queue.acquire({ client, weight })
        );
        const isHalved = queue.waiting > 0;
        for (const permit of permits) permit.then((permit) => permit.release());
        return isHalved;
      });
    for (const isShort of [false, true]) {
      memory.set(ENOUGH_FOR_ALL_BYTES + Number(isShort));
      assertEquals(areHalved(), [isShort, isShort]);
      memory.set(ENOUGH_BYTES);
      await turns();

      // What long work may still take is not left for others.
      let halved: boolean[] | null = null;
      const startLong = (): [] => {
        memory.set(ENOUGH_FOR_ALL_BYTES - HEAP_BYTES + Number(isShort));
        halved ??= areHalved();
        return [];
      };
      await render(`long ${isShort}`, true, startLong);
      assertEquals(halved, [isShort, isShort]);
    }

    // What waited gets its memory once there is enough again.
    for (
      const queue of [
        services.responseMemory,
        services.fileMemory,
        services.htmlMemory,
      ]
    ) {
      memory.set(ENOUGH_FOR_ALL_BYTES + 1);
      const held = await queue.acquire({ client: "a", weight: 20 * MIB });
      const waiting = queue.acquire({ client: "b" });
      memory.set(ENOUGH_BYTES);
      assertEquals(queue.waiting, 1);
      await services.everySecond();
      assertEquals(queue.waiting, 0);
      held.release();
      (await waiting).release();
    }
  } finally {
    await services.close();
  }
});
