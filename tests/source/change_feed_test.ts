// Processes that tell each other what changed, by one key of a store that they
// share.

import { assertEquals } from "@std/assert";
import { KvTier } from "../../lib/cache/kv_tier.ts";
import { ChangeFeed } from "../../lib/source/change_feed.ts";
import {
  openFile,
  type SharedStore,
  testOnEachStore,
} from "../kv_connect/shared_stores.ts";
import { TestClock } from "../test_clock.ts";

const PREFIX = ["rc4", "changes", "s"];
const pause = () => new Promise((resume) => setTimeout(resume, 2));

/**
 * One process: a feed, the names it received, and the passing of time for it.
 */
async function startProcess(store: SharedStore, { scope = "s" } = {}) {
  const clock = new TestClock();
  const kv = await store.open();
  const reads = { begun: 0, failFrom: Infinity };
  const list = kv.list.bind(kv);
  kv.list = (...args) => {
    if (++reads.begun > reads.failFrom) throw new Error("disk full");
    return list(...args);
  };
  const writes = { begun: 0, failUntil: 0 };
  const atomic = kv.atomic.bind(kv);
  kv.atomic = () => {
    if (++writes.begun <= writes.failUntil) throw new Error("disk full");
    return atomic();
  };
  const heard: string[] = [];
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const options = { clock, scope, maxBytesPerHour: 0, onError };
  const tier = new KvTier(() => Promise.resolve(kv), options);
  const isRemote = store.path.startsWith("http");
  const onChange = (name: string) => void heard.push(name);
  const delayed: string[] = [];
  const onDelay = (name: string) => void delayed.push(name);
  const feed = new ChangeFeed({
    tier,
    clock,
    scope,
    isRemote,
    onChange,
    onDelay,
  });
  await feed.start();
  const second = async () => {
    clock.advance(1_000);
    // Time stands still while a call of the store is under way.
    await kv.get(["none"]);
    await pause();
  };
  return {
    kv,
    delayed,
    heard,
    errors,
    reads,
    writes,
    second,
    publish: (...names: string[]) =>
      names.forEach((name) => feed.publish(name)),
    /**
     * Waits until so many names were received, while seconds pass; fails by
     * never ending.
     */
    async hears(count: number) {
      while (heard.length < count) await second();
      return heard;
    },
    async [Symbol.asyncDispose]() {
      await feed.close();
      await tier.close();
    },
  };
}

/** Waits until a name is in the store. */
async function isStored({ kv }: { kv: Deno.Kv }, name: string) {
  for (;; await pause()) {
    for await (const { value } of kv.list<string[]>({ prefix: PREFIX })) {
      if (value.includes(name)) return;
    }
  }
}

testOnEachStore(
  "ChangeFeed tells others each name once, nothing from before",
  async (store) => {
    await using one = await startProcess(store);
    one.publish("octo/before");
    await isStored(one, "octo/before");
    await using two = await startProcess(store);
    await using three = await startProcess(store, { scope: "other" });
    one.publish("octo/a", "octo/b", "octo/a");
    assertEquals((await two.hears(2)).toSorted(), ["octo/a", "octo/b"]);
    two.publish("octo/c");
    assertEquals(await one.hears(1), ["octo/c"]);
    one.publish("octo/a");
    await two.hears(3);
    assertEquals([two.heard.at(-1), one.heard, three.heard], ["octo/a", [
      "octo/c",
    ], []]);
    assertEquals([...one.errors, ...two.errors], []);
  },
);

testOnEachStore(
  "ChangeFeed loses no name of two that publish at once",
  async (store) => {
    await using listener = await startProcess(store);
    await using one = await startProcess(store);
    await using two = await startProcess(store);
    const rounds = store.path.startsWith("http") ? 3 : 20;
    for (let round = 1; round <= rounds; round++) {
      for (let n = 0; n < 80; n++) {
        one.publish(`octo/one-${round}-${n}`);
        two.publish(`octo/two-${round}-${n}`);
      }
      await listener.hears(round * 160);
    }
    assertEquals(new Set(listener.heard).size, rounds * 160);
    assertEquals(listener.errors, []);
  },
);

testOnEachStore("ChangeFeed skips a damaged publication", async (store) => {
  await using one = await startProcess(store);
  await using two = await startProcess(store);
  await one.kv.set([...PREFIX, "damaged"], "damaged");
  one.publish("octo/a");
  assertEquals(await two.hears(1), ["octo/a"]);
});

Deno.test("ChangeFeed tries again until the store takes a name", async () => {
  await using store = await openFile();
  await using one = await startProcess(store);
  await using two = await startProcess(store);
  one.writes.failUntil = 5;
  one.publish("octo/a");
  while (one.writes.begun < 5) await one.second();
  assertEquals(await one.second().then(() => two.hears(1)), ["octo/a"]);
});

Deno.test("ChangeFeed reports each publication that is delayed once", async () => {
  await using store = await openFile();
  await using one = await startProcess(store);
  await using two = await startProcess(store);
  one.publish("octo/a");
  await two.hears(1);
  assertEquals(one.delayed, []);
  one.writes.failUntil = one.writes.begun + 5;
  one.publish("octo/b");
  while (one.writes.begun < 4) await one.second();
  assertEquals(one.delayed, ["octo/b"]);
  one.publish("octo/b", "octo/c");
  await one.second();
  while (two.heard.length < 3) await Promise.all([one.second(), two.second()]);
  assertEquals(one.delayed, ["octo/b", "octo/b", "octo/c"]);
});

Deno.test("ChangeFeed polls a file once a second", async () => {
  await using store = await openFile();
  await using one = await startProcess(store);
  const { begun } = one.reads;
  one.reads.failFrom = begun + 5;
  for (let second = 1; second <= 20; second++) await one.second();
  // After three failures the store is not called for 30 s.
  assertEquals([one.reads.begun - begun, one.errors.length, one.heard], [
    8,
    3,
    [],
  ]);
});
