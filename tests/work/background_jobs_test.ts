import { assertEquals, assertRejects } from "@std/assert";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  BackgroundJobs,
  type JobOptions,
} from "../../lib/work/background_jobs.ts";
import { CollectionsError } from "../../lib/errors.ts";
import { TestClock, turns } from "../test_clock.ts";

/**
 * Jobs whose work ends when the test ends it, and the keys of those that were
 * started, in order.
 */
function open() {
  const clock = new TestClock();
  const jobs = new BackgroundJobs(clock);
  const started: string[] = [];
  const signals = new Map<string, AbortSignal>();
  const ends = new Map<string, (result: unknown) => void>();
  const run = (key: string, options: Partial<JobOptions<unknown>> = {}) =>
    jobs.run<unknown>({
      key,
      client: key,
      waitMs: 8_000,
      onStart() {},
      work(signal) {
        started.push(key);
        signals.set(key, signal);
        const { promise, resolve } = Promise.withResolvers<unknown>();
        ends.set(key, resolve);
        return promise;
      },
      ...options,
    });
  const end = async (key: string) => {
    ends.get(key)!(`${key} is done`);
    await turns();
  };
  return { jobs, clock, started, signals, run, end };
}

async function rejectsWith(
  code: string,
  work: Promise<unknown>,
): Promise<CollectionsError> {
  const error = await assertRejects(() => work, CollectionsError);
  assertEquals(error.code, code);
  return error;
}

Deno.test("BackgroundJobs goes on while requests return", async () => {
  for (const returnsAfterMs of [14_999, 15_000]) {
    const { run, end, clock, started } = open();
    const first = run("a");
    await turns();
    clock.advance(8_000);
    assertEquals(await first, "running");
    clock.advance(returnsAfterMs);
    await turns();
    const second = run("a");
    clock.advance(1_000);
    await turns();
    await end("a");
    const isStopped = returnsAfterMs === 15_000;
    assertEquals([await second, started, clock.timerCount], [
      "a is done",
      isStopped ? ["a", "a"] : ["a"],
      0,
    ]);
  }
});

Deno.test("BackgroundJobs stops once all requests have left", async () => {
  const { run, signals } = open();
  const leaving = [new AbortController(), new AbortController()];
  const waits = leaving.map(({ signal }) => run("a", { signal }));
  const left = waits.map((wait) => assertRejects(() => wait, Error, "left"));
  await turns();
  for (const [index, { signal }] of leaving.entries()) {
    assertEquals([signal.aborted, signals.get("a")!.aborted], [false, false]);
    leaving[index]!.abort(new Error("left"));
    await left[index];
  }
  await turns();
  assertEquals(signals.get("a")!.aborted, true);
});

Deno.test("BackgroundJobs runs four jobs of a client, and 128 of all", async () => {
  const { jobs, run, started } = open();
  let charged = false;
  const onStart = () => void (charged = true);
  for (let i = 0; i < 4; i++) void run(`g${i}`, { client: "greedy" });
  const error = await rejectsWith(
    "service-busy",
    run("g4", { client: "greedy", onStart }),
  );
  assertEquals([error.facts.retryAfterSeconds, charged], [5, false]);
  for (let i = 4; i < 128; i++) void run(`${i}`, { client: `${i >> 2}` });
  await rejectsWith("service-busy", run("one more"));
  assertEquals([started.length, jobs.running], [128, 128]);
});

Deno.test("BackgroundJobs remembers two errors for a time", async () => {
  const rows = [
    { code: "collection-too-large", rememberedMs: 24 * 3_600_000 },
    { code: "query-too-expensive", rememberedMs: 5 * 60_000 },
    { code: "source-failed", rememberedMs: 0 },
  ] as const;
  for (const { code, rememberedMs } of rows) {
    const { run, clock } = open();
    let runs = 0;
    const work = () => {
      runs++;
      return Promise.reject(new CollectionsError(code, "It is not sent."));
    };
    await rejectsWith(code, run("a", { work }));
    clock.advance(Math.max(0, rememberedMs - 1));
    await rejectsWith(code, run("a", { work }));
    assertEquals([code, runs], [code, rememberedMs > 0 ? 1 : 2]);
    clock.advance(1);
    await rejectsWith(code, run("a", { work }));
    assertEquals([code, runs], [code, rememberedMs > 0 ? 2 : 3]);
  }
});

Deno.test("BackgroundJobs keeps nothing that failed work used", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  const { run } = open();
  const used: WeakRef<object>[] = [];
  const fail = async () => {
    const large = new Uint8Array(1 << 20);
    used.push(new WeakRef(large));
    const work = () => {
      const cause = new Error(`${large.length}`);
      throw new CollectionsError("query-too-expensive", "It is slow.", {
        cause,
      });
    };
    await rejectsWith("query-too-expensive", run("a", { work }));
  };
  await fail();
  await turns(5);
  collect();
  assertEquals(used.map((large) => large.deref() === undefined), [true]);
});

Deno.test("BackgroundJobs close() aborts all, and takes nothing more", async () => {
  const { run, jobs, signals } = open();
  const stopped = (key: string) =>
    assertRejects(() => run(key), Error, "the service stops");
  const all = ["1", "2"].map(stopped);
  await turns();
  jobs.close();
  await Promise.all(all);
  assertEquals([...signals.values()].map(({ aborted }) => aborted), [
    true,
    true,
  ]);
  await stopped("3");
});
