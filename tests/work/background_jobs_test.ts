import { assertEquals, assertRejects } from "@std/assert";
import { BackgroundJobs, type JobOptions } from "../../lib/work/background_jobs.ts";
import { CollectionsError, problem } from "../../lib/errors.ts";
import { TestClock } from "../test_clock.ts";

/** Lets everything that is ready run. */
const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

/** Jobs whose work ends when the test ends it, and the keys of those that were started, in order. */
function open() {
  const clock = new TestClock();
  const jobs = new BackgroundJobs({ clock });
  const started: string[] = [];
  const signals = new Map<string, AbortSignal>();
  const ends = new Map<string, (result: unknown) => void>();
  const run = (key: string, options: Partial<JobOptions<unknown>> = {}) =>
    jobs.run<unknown>({
      ...{ key, client: key, usesSource: true, waitMs: 8_000, onStart() {} },
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
    await turn();
  };
  return { jobs, clock, started, signals, run, end };
}

async function rejectsWith(code: string, work: Promise<unknown>): Promise<CollectionsError> {
  const error = await assertRejects(() => work, CollectionsError);
  assertEquals(error.code, code);
  return error;
}

Deno.test("BackgroundJobs gives all requests the result of one run, charged to one of them", async () => {
  const { run, end, started, jobs } = open();
  let charges = 0;
  const onStart = () => void charges++;
  const refuse = () => {
    throw problem("too-many-requests", { retryAfterSeconds: 1 });
  };
  await rejectsWith("too-many-requests", run("a", { onStart: refuse }));
  assertEquals(jobs.count, 0);
  const results = [run("a", { onStart }), run("a", { onStart, client: "other" })];
  await end("a");
  assertEquals(await Promise.all(results), ["a is done", "a is done"]);
  assertEquals([started, charges], [["a"], 1]);
  const again = run("a", { onStart });
  await end("a");
  assertEquals([await again, charges], ["a is done", 2]);
});

Deno.test("BackgroundJobs answers running after waitMs, and the job goes on for a request that returns", async () => {
  const { run, end, clock, started, signals } = open();
  const first = [run("cpu", { usesSource: false }), run("source")];
  clock.advance(8_000);
  assertEquals(await Promise.all(first), ["running", "running"]);
  clock.advance(14_999);
  const second = [run("cpu"), run("source")];
  clock.advance(1_000);
  assertEquals(signals.get("cpu")!.aborted, false, "the second request waits");
  await end("source");
  assertEquals(await second[1], "source is done");
  const slow = run("slow source");
  clock.advance(8_000);
  assertEquals(await Promise.all([second[0], slow]), ["running", "running"]);
  clock.advance(15_000);
  const isAborted = (key: string) => signals.get(key)!.aborted;
  assertEquals([isAborted("cpu"), isAborted("slow source"), clock.timerCount], [true, false, 0]);
  void run("cpu");
  assertEquals(started, ["cpu", "source", "slow source", "cpu"], "a stopped job cannot be joined");
});

Deno.test("BackgroundJobs stops work without source requests once no request waits", async () => {
  const { run, signals, jobs } = open();
  const runAndLeave = async (key: string, usesSource: boolean) => {
    const leaving = [new AbortController(), new AbortController()];
    const waits = leaving.map(({ signal }) => run(key, { usesSource, signal }));
    const left = waits.map((wait) => assertRejects(() => wait, Error, "left"));
    leaving[0]!.abort(new Error("left"));
    await turn();
    assertEquals(signals.get(key)!.aborted, false, "one request waits still");
    leaving[1]!.abort(new Error("left"));
    await Promise.all(left);
  };
  await runAndLeave("cpu", false);
  await runAndLeave("source", true);
  assertEquals([signals.get("cpu")!.aborted, signals.get("source")!.aborted], [true, false]);
  await turn();
  assertEquals(jobs.count, 1);
});

Deno.test("BackgroundJobs runs four jobs of a client, and 64 of all", async () => {
  const { run, jobs } = open();
  let charged = false;
  const onStart = () => void (charged = true);
  for (let i = 0; i < 4; i++) void run(`g${i}`, { client: "greedy" });
  const error = await rejectsWith("service-busy", run("g4", { client: "greedy", onStart }));
  assertEquals([error.facts.retryAfterSeconds, charged], [5, false]);
  for (let i = 0; i < 60; i++) void run(`${i}`, { client: `${i >> 1}` });
  await rejectsWith("service-busy", run("one more", { client: "0" }));
  assertEquals(jobs.count, 64);
});

Deno.test("BackgroundJobs starts a client's first job where others fill it", async () => {
  const { run, jobs } = open();
  for (let i = 0; i < 64; i++) void run(`${i}`);
  for (let i = 64; i < 128; i++) void run(`${i}`);
  assertEquals(jobs.count, 128);
  await rejectsWith("service-busy", run("one more"));
});

Deno.test("BackgroundJobs caches the error of a collection that is too large, and no other failure", async () => {
  const { run, clock } = open();
  let runs = 0;
  const work = () => {
    runs++;
    return Promise.reject(
      problem("collection-too-large", { collection: "posts", why: "more than 3 files" }),
    );
  };
  for (let i = 0; i < 2; i++) await rejectsWith("collection-too-large", run("a", { work }));
  assertEquals(runs, 1);
  const fails = () => Promise.reject(new Error(`run ${++runs}`));
  await assertRejects(() => run("b", { work: fails }), Error, "run 2");
  await assertRejects(() => run("b", { work: fails }), Error, "run 3");

  const expensive = () =>
    Promise.reject(runs++ && problem("query-too-expensive", { collection: "posts" }));
  for (let i = 0; i < 2; i++) {
    await rejectsWith("query-too-expensive", run("c", { work: expensive }));
  }
  assertEquals(runs, 4);
  clock.advance(5 * 60_000);
  await rejectsWith("query-too-expensive", run("c", { work: expensive }));
  assertEquals(runs, 5);
});

Deno.test("BackgroundJobs close() aborts what runs and takes nothing more", async () => {
  const { run, jobs, signals } = open();
  const all = ["1", "2"].map((key) => assertRejects(() => run(key), Error, "the service stops"));
  jobs.close();
  await Promise.all(all);
  assertEquals([...signals.values()].map(({ aborted }) => aborted), [true, true]);
  await rejectsWith("service-busy", run("6"));
});
