import { assertEquals, assertRejects } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import {
  FairQueue,
  type FairQueueOptions,
  type Permit,
} from "../../lib/work/fair_queue.ts";
import { TestClock, turns } from "../test_clock.ts";

/** A queue, and permits by name in the order in which they were granted. */
function open(options: Partial<FairQueueOptions> = {}) {
  const clock = new TestClock();
  const queue = new FairQueue({
    capacity: 1,
    maxWaiting: 100,
    maxWaitMs: 1_000,
    clock,
    ...options,
  });
  const granted = new Map<string, Permit>();
  /** The client is the first letter of the name. */
  const acquire = async (
    name: string,
    given: Omit<Parameters<FairQueue["acquire"]>[0], "client"> = {},
  ) => {
    granted.set(
      name,
      await queue.acquire({ client: name.slice(0, 1), ...given }),
    );
  };
  const release = async (...names: string[]) => {
    for (const name of names) {
      granted.get(name)!.release();
      await turns();
    }
  };
  const names = async () => {
    await turns();
    return [...granted.keys()].join(" ");
  };
  return { acquire, clock, granted, names, queue, release };
}

function assertBusy(work: Promise<unknown>) {
  return assertRejects(() => work, CollectionsError, "Cannot wait");
}

Deno.test("FairQueue grants its capacity to clients in turn", async () => {
  const { acquire, names, queue, release } = open({ capacity: 2 });
  const all = ["a1", "a2", "a3", "a4", "b1", "b2", "c1"].map((name) =>
    acquire(name)
  );
  assertEquals([await names(), queue.used, queue.waiting], ["a1 a2", 2, 5]);
  await release("a1", "a2", "a3", "b1", "c1", "a4", "b2");
  assertEquals([await names(), queue.used], ["a1 a2 a3 b1 c1 a4 b2", 0]);
  await Promise.all(all);
});

Deno.test("FairQueue serves the client that has used least", async () => {
  const { acquire, granted, names, release } = open();
  await acquire("a1");
  const all = ["a2", "b1"].map((name) => acquire(name));
  granted.get("a1")!.release(10);
  all.push(...["b2", "b3"].map((name) => acquire(name)));
  assertEquals(await names(), "a1 b1");
  await release("b1", "b2", "b3", "a2");
  assertEquals(await names(), "a1 b1 b2 b3 a2");
  await Promise.all(all);
});

Deno.test("FairQueue lets small requests before a large one, once", async () => {
  const { acquire, names, release } = open({ capacity: 10 });
  await acquire("a", { weight: 10 });
  const all = [acquire("large", { weight: 8 })];
  for (const name of ["b", "c", "d"]) all.push(acquire(name, { weight: 6 }));
  await release("a");
  assertEquals(await names(), "a b");
  for (const name of ["e", "f"]) all.push(acquire(name, { weight: 3 }));
  await release("b", "c", "d");
  assertEquals(await names(), "a b c d large");
  await release("large");
  assertEquals(await names(), "a b c d large e f");
  await Promise.all(all);
});

Deno.test("FairQueue delays a request behind the use of others", async () => {
  const { acquire, names, release } = open();
  await acquire("a1");
  const all = [acquire("b1", { delay: 2 })];
  for (const name of ["c1", "c2", "c3"]) all.push(acquire(name));
  await release("a1", "c1", "c2", "b1");
  assertEquals(await names(), "a1 c1 c2 b1 c3");
});

Deno.test("FairQueue gives a request that needs more all of itself", async () => {
  const { acquire, queue } = open({ capacity: 100, maxPerClient: 50 });
  await acquire("a", { weight: 1_000 });
  assertEquals(queue.used, 100);
});

Deno.test("FairQueue passes over a client that has its share", async () => {
  const { acquire, names, queue, release } = open({
    capacity: 100,
    maxPerClient: 50,
  });
  await acquire("a1", { weight: 30 });
  const waiting = acquire("a2", { weight: 21 });
  await acquire("b1", { weight: 60 });
  assertEquals([await names(), queue.used], ["a1 b1", 90]);
  await release("a1");
  await waiting;
});

Deno.test("FairQueue bounds who waits, of all and of one client", async () => {
  const { acquire } = open({ maxWaiting: 4 });
  await acquire("a1");
  void acquire("a2");
  const { facts } = await assertBusy(acquire("a3"));
  assertEquals(facts.retryAfterSeconds, 5);
  for (const name of ["b1", "c1", "d1"]) void acquire(name);
  await assertBusy(acquire("e1"));
});

Deno.test("FairQueue ends a wait by its time and by its signal", async () => {
  const { acquire, clock, names, release } = open({ maxWaiting: 8 });
  await acquire("a1");
  const late = assertBusy(acquire("b1"));
  const leaving = new AbortController();
  const { signal } = leaving;
  const left = assertRejects(() => acquire("c1", { signal }), Error, "left");
  leaving.abort(new Error("left"));
  await left;
  clock.advance(999);
  void acquire("d1");
  clock.advance(1);
  await late;
  await release("a1");
  assertEquals([await names(), clock.timerCount], ["a1 d1", 0]);
  await assertRejects(() => acquire("e1", { signal }), Error, "left");
});

Deno.test("FairQueue passes on a share whose owner has just left", async () => {
  const { acquire, granted, names } = open();
  const leaving = new AbortController();
  await acquire("a1");
  const { signal } = leaving;
  const left = assertRejects(() => acquire("b1", { signal }), Error, "left");
  void acquire("c1");
  leaving.abort(new Error("left"));
  granted.get("a1")!.release();
  await left;
  assertEquals(await names(), "a1 c1");
});

Deno.test("FairQueue permits change their weight, and end once", async () => {
  const { acquire, granted, names, queue } = open({ capacity: 10 });
  await acquire("a", { weight: 10 });
  void acquire("b", { weight: 4 });
  granted.get("a")!.resize(6);
  assertEquals([await names(), queue.used], ["a b", 10]);
  granted.get("a")!.resize(8);
  assertEquals(queue.used, 12);
  for (let times = 0; times < 2; times++) granted.get("a")!.release();
  assertEquals(queue.used, 4);
});

Deno.test("FairQueue halves its limits while its resource is short", async () => {
  let isShort = true;
  let looks = 0;
  const { acquire, names, release } = open({
    capacity: 8,
    maxPerClient: 6,
    isShort: () => {
      looks++;
      return isShort;
    },
  });
  const weights = { a1: 2, a2: 2, b1: 2, c1: 8 };
  const all = Object.entries(weights).map(([name, weight]) =>
    acquire(name, { weight })
  );
  assertEquals(await names(), "a1 b1");
  // Each look takes some time, however many wait.
  looks = 0;
  await release("b1");
  assertEquals(looks, 1);
  // One client has at most three, and the large one waits for all.
  assertEquals(await names(), "a1 b1");
  await release("a1");
  assertEquals(await names(), "a1 b1 a2");
  await release("a2");
  assertEquals(await names(), "a1 b1 a2 c1");
  const more = ["e1", "e2", "f1"].map((name) => acquire(name, { weight: 3 }));
  isShort = false;
  await release("c1");
  assertEquals(await names(), "a1 b1 a2 c1 e1 f1");
  await release("e1");
  await Promise.all([...all, ...more]);
});

Deno.test("FairQueue looks again whether memory is short", async () => {
  let isShort = true;
  const { acquire, names, queue } = open({
    capacity: 8,
    isShort: () => isShort,
  });
  await acquire("a1", { weight: 4 });
  const waiting = acquire("b1", { weight: 2 });
  queue.admitNext();
  assertEquals(await names(), "a1");
  isShort = false;
  queue.admitNext();
  await waiting;
});
