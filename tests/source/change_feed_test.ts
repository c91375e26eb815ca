// Processes that tell each other what changed, by one key of a store that they share.

import { assertEquals } from "@std/assert";
import { KvTier } from "../../lib/cache/kv_tier.ts";
import { ChangeFeed } from "../../lib/source/change_feed.ts";
import { openFile, type SharedStore, testOnEachStore } from "../kv_connect/shared_stores.ts";
import { TestClock } from "../test_clock.ts";

/** One process: a feed, the names it received, and the passing of time for it. */
async function startProcess(store: SharedStore, { scope = "s" } = {}) {
  const clock = new TestClock();
  const kv = await store.open();
  const reads = { begun: 0, ended: 0 };
  const get = kv.get.bind(kv);
  kv.get = async (...args: Parameters<typeof get>) => {
    reads.begun++;
    try {
      return await get(...args);
    } finally {
      reads.ended++;
    }
  };
  const heard: string[] = [];
  const errors: unknown[] = [];
  const tier = new KvTier(kv, {
    ...{ clock, scope, maxBytesPerHour: 0 },
    onError: (error) => errors.push(error),
  });
  const isRemote = store.path.startsWith("http");
  const onChange = (name: string) => void heard.push(name);
  const feed = new ChangeFeed({ tier, clock, scope, isRemote, onChange });
  await feed.start();
  return {
    kv,
    feed,
    heard,
    errors,
    clock,
    /** Waits until so many names were received, while seconds pass; fails by never ending. */
    async hears(count: number) {
      while (heard.length < count) {
        clock.advance(1_000);
        // A read that is not over would be taken for one that takes too long.
        do await pause(); while (reads.ended < reads.begun);
      }
      return heard;
    },
    async [Symbol.asyncDispose]() {
      await feed.close();
      await tier.close();
    },
  };
}

const pause = () => new Promise((resume) => setTimeout(resume, 2));

/** The ring, once it has so many names. */
async function ringOf({ kv }: { kv: Deno.Kv }, last: number) {
  while (true) {
    const { value } = await kv.get<{ last: number; names: unknown[] }>(["rc2", "changes", "s"]);
    if (value !== null && value.last >= last) return value;
    await pause();
  }
}

testOnEachStore(
  "ChangeFeed tells others each name once, and not the process itself",
  async (store) => {
    await using one = await startProcess(store);
    await using two = await startProcess(store);
    await using three = await startProcess(store, { scope: "other" });
    one.feed.publish("octo/a");
    one.feed.publish("octo/b");
    one.feed.publish("octo/a");
    assertEquals((await two.hears(2)).toSorted(), ["octo/a", "octo/b"]);
    two.feed.publish("octo/c");
    assertEquals(await one.hears(1), ["octo/c"]);
    one.feed.publish("octo/a");
    await two.hears(3);
    assertEquals([two.heard.at(-1), one.heard, three.heard], ["octo/a", ["octo/c"], []]);
    assertEquals([...one.errors, ...two.errors], []);
  },
);

testOnEachStore("ChangeFeed does not tell what was before its start", async (store) => {
  await using one = await startProcess(store);
  one.feed.publish("octo/before");
  await ringOf(one, 1);
  await using two = await startProcess(store);
  one.feed.publish("octo/after");
  assertEquals(await two.hears(1), ["octo/after"]);
});

testOnEachStore("ChangeFeed of processes that publish at once loses no name", async (store) => {
  await using listener = await startProcess(store);
  await using one = await startProcess(store);
  await using two = await startProcess(store);
  for (let n = 0; n < 40; n++) {
    one.feed.publish(`one/${n}`);
    two.feed.publish(`two/${n}`);
  }
  const names = [0, 1].flatMap((of) =>
    Array.from({ length: 40 }, (_, n) => `${["one", "two"][of]}/${n}`)
  );
  assertEquals((await listener.hears(80)).toSorted(), names.toSorted());
});

testOnEachStore(
  "ChangeFeed holds the last 100 names, and begins anew over what is no ring",
  async (store) => {
    await using one = await startProcess(store);
    for (let n = 0; n < 150; n++) {
      one.feed.publish(`octo/${n}`);
      if (n % 50 === 49) await ringOf(one, n + 1);
    }
    assertEquals((await ringOf(one, 150)).names.length, 100);
    await using two = await startProcess(store);
    await one.kv.set(["rc2", "changes", "s"], "damaged");
    await two.hears(0);
    one.feed.publish("octo/again");
    assertEquals(await two.hears(1), ["octo/again"]);
  },
);
Deno.test("ChangeFeed polls a file once a second, and does without one that fails", async () => {
  await using store = await openFile();
  await using one = await startProcess(store);
  let reads = 0;
  let ended = 0;
  const { get } = one.kv;
  one.kv.get = async (...args: Parameters<typeof get>) => {
    try {
      if (++reads > 5) throw new Error("disk full");
      return await get(...args);
    } finally {
      ended++;
    }
  };
  for (let second = 1; second <= 20; second++) {
    one.clock.advance(1_000);
    do await pause(); while (ended < Math.min(second, 8));
  }
  // After three failures the store is not called for 30 s.
  assertEquals([reads, one.errors.length, one.heard], [8, 3, []]);
});
