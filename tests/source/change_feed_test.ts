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
  const delayed: string[] = [];
  const feed = new ChangeFeed({
    tier,
    clock,
    scope,
    isRemote: store.path.startsWith("http"),
    onChange: (name) => void heard.push(name),
    onDelay: (name) => void delayed.push(name),
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

testOnEachStore(
  "ChangeFeed tells others each name once, nothing from before",
  async (store) => {
    await using one = await startProcess(store);
    await using zero = await startProcess(store);
    one.publish("octo/before");
    await zero.hears(1);
    await using two = await startProcess(store);
    await using three = await startProcess(store, { scope: "other" });
    await one.kv.set([...PREFIX, "damaged"], "damaged");
    one.publish("octo/a", "octo/b", "octo/a");
    assertEquals((await two.hears(2)).toSorted(), ["octo/a", "octo/b"]);
    two.publish("octo/c");
    assertEquals(await one.hears(1), ["octo/c"]);
    one.publish("octo/a");
    await two.hears(3);
    assertEquals(two.heard.at(-1), "octo/a");
    assertEquals([one.heard, three.heard], [["octo/c"], []]);
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

Deno.test("ChangeFeed reports each publication that is delayed once", async () => {
  await using store = await openFile();
  await using one = await startProcess(store);
  await using two = await startProcess(store);
  one.publish("octo/a");
  await two.hears(1);
  one.writes.failUntil = one.writes.begun + 5;
  one.publish("octo/b");
  while (one.writes.begun < 4) await one.second();
  assertEquals(one.delayed, ["octo/b"]);
  one.publish("octo/b", "octo/c");
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
  assertEquals([one.reads.begun - begun, one.errors.length], [8, 3]);
});
