// Processes that tell each other what changed, by one key of a store that they share.

import { assertEquals } from "@std/assert";
import { KvTier } from "../../lib/cache/kv_tier.ts";
import { ChangeFeed } from "../../lib/source/change_feed.ts";
import {
  openFile,
  type SharedStore,
  testOnEachStore,
} from "../kv_connect/shared_stores.ts";
import { TestClock } from "../test_clock.ts";

const KEY = ["rc3", "changes", "s"];
const pause = () => new Promise((resume) => setTimeout(resume, 2));

/** One process: a feed, the names it received, and the passing of time for it. */
async function startProcess(store: SharedStore, { scope = "s" } = {}) {
  const clock = new TestClock();
  const kv = await store.open();
  const reads = { begun: 0, ended: 0, failFrom: Infinity };
  const get = kv.get.bind(kv);
  kv.get = async (...args: Parameters<typeof get>) => {
    try {
      if (++reads.begun > reads.failFrom) throw new Error("disk full");
      return await get(...args);
    } finally {
      reads.ended++;
    }
  };
  const heard: string[] = [];
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const options = { clock, scope, maxBytesPerHour: 0, onError };
  const tier = new KvTier(() => Promise.resolve(kv), options);
  const isRemote = store.path.startsWith("http");
  const onChange = (name: string) => void heard.push(name);
  const feed = new ChangeFeed({ tier, clock, scope, isRemote, onChange });
  await feed.start();
  const second = async () => {
    clock.advance(1_000);
    // A read that is not over would be taken for one that takes too long.
    do await pause(); while (reads.ended < reads.begun);
  };
  return {
    ...{ kv, heard, errors, reads, second },
    publish: (...names: string[]) =>
      names.forEach((name) => feed.publish(name)),
    /** Waits until so many names were received, while seconds pass; fails by never ending. */
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

/** The ring, once this name is its last one. */
async function ringOf({ kv }: { kv: Deno.Kv }, last: string) {
  while (true) {
    const { value } = await kv.get<[name: string, id: string][]>(KEY);
    if (Array.isArray(value) && value.at(-1)?.[0] === last) return value;
    await pause();
  }
}

testOnEachStore(
  "ChangeFeed tells others each name once, nothing from before",
  async (store) => {
    await using one = await startProcess(store);
    one.publish("octo/before");
    await ringOf(one, "octo/before");
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
  "ChangeFeed of processes that publish at once loses no name",
  async (store) => {
    await using listener = await startProcess(store);
    await using one = await startProcess(store);
    await using two = await startProcess(store);
    const names = Array.from({ length: 80 }, (_, n) => `octo/${n}`);
    for (const [n, name] of names.entries()) {
      (n % 2 === 0 ? one : two).publish(
        name,
      );
    }
    assertEquals((await listener.hears(80)).toSorted(), names.toSorted());
  },
);

testOnEachStore(
  "ChangeFeed stores the last 100 names, and replaces damage",
  async (store) => {
    await using one = await startProcess(store);
    for (let n = 0; n < 150; n++) {
      one.publish(`octo/${n}`);
      if (n % 50 === 49) await ringOf(one, `octo/${n}`);
    }
    assertEquals((await ringOf(one, "octo/149")).length, 100);
    await using two = await startProcess(store);
    await one.kv.set(KEY, "damaged");
    one.publish("octo/again");
    await ringOf(one, "octo/again");
    assertEquals(await two.hears(1), ["octo/again"]);
  },
);

Deno.test("ChangeFeed polls a file once a second, and does without one that fails", async () => {
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
