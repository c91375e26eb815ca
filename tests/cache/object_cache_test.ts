import { assert, assertEquals } from "@std/assert";
import { KvTier } from "../../lib/cache/kv_tier.ts";
import { ObjectCache, type ObjectKind } from "../../lib/cache/object_cache.ts";
import { startService } from "../service.ts";
import { TestClock } from "../test_clock.ts";
import { type KvCall, randomBytes, watchedKv } from "./watched_kv.ts";

const encoder = new TextEncoder();
const TEXT: ObjectKind<string> = {
  name: "text",
  sizeOf: (value) => value.length,
  codec: {
    encode: (value) => encoder.encode(value),
    decode(bytes, id) {
      if (id === "throws") throw new Error("not decodable");
      return id === "damaged" ? null : new TextDecoder().decode(bytes);
    },
  },
};
/** Does not fit into a value of the store. */
const large = randomBytes(100_000).toHex();
const FLEETING: ObjectKind<string> = {
  name: "fleeting",
  sizeOf: (value) => value.length,
};

async function open({ maxBytes = 1e6 } = {}) {
  const calls: KvCall[] = [];
  const hits: string[] = [];
  const clock = new TestClock();
  const watched = watchedKv(
    await Deno.openKv(":memory:"),
    (call) => void calls.push(call),
  );
  const options = { clock, scope: "s", maxBytesPerHour: 1e9 };
  const kv = new KvTier(() => Promise.resolve(watched), options);
  const cache = new ObjectCache({
    maxBytes,
    kv,
    onHit: (tier) => hits.push(tier),
  });
  /** As another process sees the store. */
  const second = async () => {
    await kv.flush();
    return new ObjectCache({ maxBytes, kv });
  };
  return {
    cache,
    calls,
    hits,
    clock,
    second,
    [Symbol.asyncDispose]: () => kv.close(),
  };
}

Deno.test("ObjectCache reads memory first and the store with one call", async () => {
  await using opened = await open();
  const { cache, calls, hits } = opened;
  for (const id of ["1", "2", "3"]) cache.set(TEXT, "a/b", id, `value ${id}`);
  assertEquals(await cache.get(TEXT, "a/b", "1"), "value 1");
  assertEquals([calls, hits], [[], ["memory"]]);

  const second = await opened.second();
  calls.length = 0;
  const memoryOnly = { memoryOnly: true };
  const none = await second.getMany(TEXT, "a/b", ["1"], memoryOnly);
  assertEquals([none.size, calls], [0, []]);
  assertEquals(
    await second.getMany(TEXT, "a/b", ["1", "absent", "3", "1"]),
    new Map([["1", "value 1"], ["3", "value 3"]]),
  );
  assertEquals(calls, ["getMany"]);
  assertEquals(second.peek(TEXT, "a/b", "3"), "value 3");
});

Deno.test("ObjectCache tells kinds, repositories and ids apart", async () => {
  await using opened = await open();
  opened.cache.set(TEXT, "a/b", "1", "one");
  for (const cache of [opened.cache, await opened.second()]) {
    assertEquals(await cache.get(TEXT, "a/c", "1"), undefined);
    assertEquals(
      await cache.get({ ...TEXT, name: "other" }, "a/b", "1"),
      undefined,
    );
    assertEquals(await cache.get(TEXT, "a/b", "1"), "one");
  }
});

Deno.test("ObjectCache stores what has a codec and fits for a day", async () => {
  await using opened = await open();
  const { cache, clock, calls } = opened;
  cache.set(FLEETING, "a/b", "1", "one");
  assertEquals(
    await (await opened.second()).get(FLEETING, "a/b", "1"),
    undefined,
  );
  assertEquals(calls, []);
  const ids = ["throws", "damaged", "large", "good"];
  for (const id of ids) cache.set(TEXT, "a/b", id, id === "large" ? large : id);
  assertEquals(await cache.get(TEXT, "a/b", "large"), large);
  const stored =
    async () => [...await (await opened.second()).getMany(TEXT, "a/b", ids)];
  assertEquals(await stored(), [["good", "good"]]);
  clock.advance(24 * 3_600_000 - 1);
  assertEquals((await stored()).length, 1);
  clock.advance(1);
  assertEquals(await stored(), []);
});

Deno.test("ObjectCache counts bytes and drops the least recently used", async () => {
  const size = 100 + "fleeting\na/b\n1".length + 512;
  await using opened = await open({ maxBytes: 2 * size });
  const { cache } = opened;
  const value = "x".repeat(100);
  const has = (id: string) => cache.peek(FLEETING, "a/b", id) !== undefined;
  for (const id of ["1", "2"]) cache.set(FLEETING, "a/b", id, value);
  assert(has("1"));
  cache.set(FLEETING, "a/b", "3", value);
  assertEquals(["1", "2", "3"].map(has), [true, false, true]);
  assertEquals(cache.bytes, 2 * size);
});

Deno.test("ObjectCache gives what was set while the store was read", async () => {
  await using opened = await open();
  opened.cache.set(TEXT, "a/b", "1", "marker");
  const second = await opened.second();
  const reading = second.get(TEXT, "a/b", "1");
  second.set(TEXT, "a/b", "1", "whole");
  assertEquals([await reading, second.peek(TEXT, "a/b", "1")], [
    "whole",
    "whole",
  ]);
});

Deno.test("openServices() gives objects 70 % of CACHE_MEMORY_MB", async () => {
  await using service = await startService({ env: { CACHE_MEMORY_MB: "1" } });
  const { objects } = service.services;
  const isKept = (share: number) => {
    objects.set(FLEETING, "a/b", "1", "x".repeat(share * (1 << 20)));
    return objects.peek(FLEETING, "a/b", "1") !== undefined;
  };
  assertEquals([isKept(0.69), isKept(0.71)], [true, false]);
});
