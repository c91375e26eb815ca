import { assertEquals, assertRejects } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import { RequestQueue } from "../../lib/source/request_queue.ts";
import { TestClock } from "../test_clock.ts";

/** A queue, and tasks that the test ends, by name in the order in which they started. */
function open(options: { concurrency?: number; maxQueued?: number; maxQueuedPerClient?: number }) {
  const clock = new TestClock();
  const bounds = { concurrency: 1, maxQueued: 9, maxQueuedPerClient: 9, ...options };
  const queue = new RequestQueue({ ...bounds, maxWaitMs: 1_000, clock });
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const run = (name: string, client = "a", signal?: AbortSignal) =>
    queue.run(() => {
      started.push(name);
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.set(name, resolve);
      return promise;
    }, { client, signal });
  const end = async (...names: string[]) => {
    for (const name of names) {
      ends.get(name)!();
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  };
  return { clock, queue, started, run, end };
}

async function isBusy(run: Promise<unknown>): Promise<void> {
  const { code, facts } = await assertRejects(() => run, CollectionsError);
  assertEquals([code, facts.retryAfterSeconds], ["service-busy", 1]);
}

Deno.test("RequestQueue bounds the tasks that run, that wait, and that wait for one client", async () => {
  const { started, run, end } = open({ concurrency: 2, maxQueued: 3, maxQueuedPerClient: 2 });
  const all = [run("1"), run("2"), run("3"), run("4")];
  await isBusy(run("5"));
  all.push(run("6", "b"));
  await isBusy(run("7", "c"));
  assertEquals(started, ["1", "2"]);
  await end("1", "2", "3", "6", "4");
  await Promise.all(all);
  const last = run("8");
  assertEquals(started, ["1", "2", "3", "6", "4", "8"], "all slots are free again");
  await end("8");
  await last;
});

Deno.test("RequestQueue lets clients start in turn", async () => {
  const { started, run, end } = open({});
  const names = ["a1", "a2", "a3", "a4", "b1", "b2", "c1"];
  const all = names.map((name) => run(name, name.slice(0, 1)));
  const order = ["a1", "a2", "b1", "c1", "a3", "b2", "a4"];
  await end(...order);
  assertEquals(started, order);
  await Promise.all(all);
});

Deno.test("RequestQueue rejects at once what waited too long, and what was aborted", async () => {
  const { clock, started, run, end } = open({ maxQueued: 2 });
  const first = run("first");
  const late = run("late");
  const left = new AbortController();
  const aborted = run("aborted", "a", left.signal);
  left.abort(new Error("left"));
  await assertRejects(() => aborted, Error, "left");
  clock.advance(999);
  // The place of what was aborted is free.
  const later = run("later");
  clock.advance(1);
  await isBusy(late);
  await end("first", "later");
  await Promise.all([first, later]);
  assertEquals([started, clock.timerCount], [["first", "later"], 0]);
});

Deno.test("RequestQueue gives a slot to the next request where its owner left in the same moment", async () => {
  const { started, run, end } = open({});
  const left = new AbortController();
  const first = run("first");
  const aborted = run("aborted", "a", left.signal);
  const next = run("next");
  const rejected = assertRejects(() => aborted, Error, "left");
  left.abort(new Error("left"));
  await end("first");
  await rejected;
  await end("next");
  await Promise.all([first, next]);
  assertEquals(started, ["first", "next"]);
});

Deno.test("RequestQueue continues after tasks that fail", async () => {
  const { queue } = open({});
  const failed = queue.run(() => Promise.reject(new Error("no")), { client: "a" });
  const done = queue.run(() => Promise.resolve("yes"), { client: "a" });
  await assertRejects(() => failed, Error, "no");
  assertEquals(await done, "yes");
});
