import { assertEquals, assertRejects } from "@std/assert";
import { ByteSemaphore } from "../lib/byte_semaphore.ts";
import { CollectionsError } from "../lib/errors.ts";
import { TestClock } from "./test_clock.ts";

function open() {
  const clock = new TestClock();
  const semaphore = new ByteSemaphore({ maxBytes: 100, maxWaiting: 2, maxWaitMs: 60_000, clock });
  const acquired: string[] = [];
  /** Adds a name to `acquired` when its bytes are reserved. */
  const acquire = async (name: string, bytes: number, signal?: AbortSignal) => {
    const reservation = await semaphore.acquire(bytes, signal ? { signal } : {});
    acquired.push(name);
    return reservation;
  };
  const state = async () => {
    await new Promise((resolve) => setTimeout(resolve, 0));
    return [acquired.join(), semaphore.bytes];
  };
  return { semaphore, clock, acquire, state };
}

async function rejectsBusy(work: Promise<unknown>): Promise<void> {
  const error = await assertRejects(() => work, CollectionsError);
  assertEquals([error.code, error.facts.retryAfterSeconds], ["service-busy", 5]);
}

Deno.test("ByteSemaphore admits what fits, first come first served, and lets a request leave", async () => {
  const { semaphore, acquire, state } = open();
  const a = await acquire("a", 60);
  const b = await acquire("b", 40);
  const leaving = new AbortController();
  const c = acquire("c", 50, leaving.signal);
  b.release();
  const d = acquire("d", 10);
  a.resize(55);
  assertEquals(await state(), ["a,b", 55], "d would fit, but never overtakes c");
  leaving.abort(new Error("left"));
  await assertRejects(() => c, Error, "left");
  await d;
  assertEquals(await state(), ["a,b,d", 65]);
  await assertRejects(() => semaphore.acquire(0, leaving), Error, "left");
});

Deno.test("ByteSemaphore gives all of itself to a larger request, and counts growth at once", async () => {
  const { semaphore, acquire, state } = open();
  const large = await semaphore.acquire(1_000);
  assertEquals([large.bytes, semaphore.bytes], [100, 100]);
  large.resize(150);
  assertEquals([large.bytes, semaphore.bytes], [150, 150]);
  const b = acquire("b", 10);
  large.resize(95);
  assertEquals(await state(), ["", 95]);
  large.release();
  large.release();
  await b;
  assertEquals([large.bytes, await state()], [0, ["b", 10]]);
});

Deno.test("ByteSemaphore refuses a request when the queue is full or the wait too long", async () => {
  const { semaphore, clock } = open();
  await semaphore.acquire(100);
  const waiting = [semaphore.acquire(1), semaphore.acquire(1)].map(rejectsBusy);
  await rejectsBusy(semaphore.acquire(1));
  clock.advance(59_999);
  assertEquals(clock.timerCount, 2);
  clock.advance(1);
  await Promise.all(waiting);
  assertEquals([semaphore.bytes, clock.timerCount], [100, 0]);
  void semaphore.acquire(1);
  assertEquals(clock.timerCount, 1, "it waits, since the others have left");
});

Deno.test("ByteSemaphore leaves half of itself, and most of its queue, to other clients", async () => {
  const clock = new TestClock();
  const semaphore = new ByteSemaphore({ maxBytes: 100, maxWaiting: 8, maxWaitMs: 1, clock });
  const [greedy, other] = [{ client: "greedy" }, { client: "other" }];
  const first = await semaphore.acquire(30, greedy);
  await semaphore.acquire(20, greedy);
  const waiting = [semaphore.acquire(1, greedy), semaphore.acquire(1, greedy)];
  await rejectsBusy(semaphore.acquire(1, greedy));
  assertEquals((await semaphore.acquire(50, other)).bytes, 50);
  // One that has nothing yet may have all.
  const large = semaphore.acquire(100, { client: "third" });
  first.release();
  assertEquals((await Promise.all(waiting)).map(({ bytes }) => bytes), [1, 1]);
  clock.advance(1);
  await rejectsBusy(large);
});
