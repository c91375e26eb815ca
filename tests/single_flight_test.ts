import { assert, assertEquals, assertRejects } from "@std/assert";
import { SingleFlight } from "../lib/single_flight.ts";

/** A flight that the test ends by hand. */
function manual() {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const signals: AbortSignal[] = [];
  const work = (signal: AbortSignal) => {
    signals.push(signal);
    return promise;
  };
  return { work, resolve, reject, signals };
}

const turn = () => new Promise((resume) => setTimeout(resume, 0));

Deno.test("SingleFlight run() starts one flight for concurrent callers", async () => {
  const flights = new SingleFlight<string>();
  const { work, resolve, signals } = manual();
  const runs = Array.from({ length: 200 }, () => flights.run("a", work));
  await turn();
  assertEquals([signals.length, flights.size], [1, 1]);
  resolve("done");
  assertEquals(new Set(await Promise.all(runs)), new Set(["done"]));
});

Deno.test("SingleFlight run() flies each key on its own", async () => {
  const flights = new SingleFlight<string>();
  const runs = ["a", "b", "a"].map((key) => flights.run(key, () => Promise.resolve(key)));
  assertEquals(flights.size, 2);
  assertEquals(await Promise.all(runs), ["a", "b", "a"]);
});

Deno.test("SingleFlight run() removes a flight before its result is delivered", async () => {
  const flights = new SingleFlight<number>();
  let count = 0;
  const next = () => flights.run("a", () => Promise.resolve(++count));
  assertEquals(await next().then(next), 2);
  assertEquals(flights.size, 0);
});

Deno.test("SingleFlight run() removes a failed flight, and rejects for all its callers", async () => {
  const flights = new SingleFlight<string>();
  const failing = () => Promise.reject(new Error("first"));
  const runs = [flights.run("a", failing), flights.run("a", failing)];
  for (const run of runs) await assertRejects(() => run, Error, "first");
  const again = flights.run("a", failing).catch(() => flights.run("a", () => Promise.resolve("b")));
  assertEquals(await again, "b");
});

Deno.test("SingleFlight run() rejects where the work throws at once", async () => {
  const flights = new SingleFlight<string>();
  const work = () => {
    throw new Error("at once");
  };
  await assertRejects(() => flights.run("a", work), Error, "at once");
  assertEquals(flights.size, 0);
});

Deno.test("SingleFlight run() lets one waiter go and others wait on", async () => {
  const flights = new SingleFlight<string>();
  const { work, resolve, signals } = manual();
  const controller = new AbortController();
  const gone = flights.run("a", work, { signal: controller.signal });
  const stays = flights.run("a", work, { signal: new AbortController().signal });
  await turn();
  controller.abort(new Error("left"));
  await assertRejects(() => gone, Error, "left");
  assertEquals([signals[0]!.aborted, flights.size], [false, 1]);
  resolve("done");
  assertEquals(await stays, "done");
  assert(!signals[0]!.aborted);
});

Deno.test("SingleFlight run() aborts the flight when all have left, and then starts anew", async () => {
  const flights = new SingleFlight<string>();
  const first = manual();
  const controllers = [new AbortController(), new AbortController()];
  const runs = controllers.map(({ signal }) => flights.run("a", first.work, { signal }));
  await turn();
  for (const [i, run] of runs.entries()) {
    assert(!first.signals[0]!.aborted);
    controllers[i]!.abort(new Error("left"));
    await assertRejects(() => run, Error, "left");
  }
  assert(first.signals[0]!.aborted);
  assertEquals(flights.size, 0);

  const second = manual();
  const run = flights.run("a", second.work);
  first.reject(new Error("late, heard by nobody"));
  await turn();
  assertEquals([second.signals.length, flights.size], [1, 1]);
  second.resolve("done");
  assertEquals(await run, "done");
});

Deno.test("SingleFlight run() leaves the signal of a flight that ended alone", async () => {
  const flights = new SingleFlight<string>();
  const { work, resolve, signals } = manual();
  const controller = new AbortController();
  const run = flights.run("a", work, { signal: controller.signal });
  resolve("done");
  assertEquals(await run, "done");
  controller.abort();
  await turn();
  assert(!signals[0]!.aborted);
});

Deno.test("SingleFlight run() starts nothing for a signal that has aborted", async () => {
  const flights = new SingleFlight<string>();
  const { work, signals } = manual();
  const signal = AbortSignal.abort(new Error("before"));
  await assertRejects(() => flights.run("a", work, { signal }), Error, "before");
  await turn();
  assertEquals([signals.length, flights.size], [0, 0]);
});

Deno.test("SingleFlight with keepRunning goes on when all have left, and can be joined then", async () => {
  const flights = new SingleFlight<string>({ keepRunning: true });
  const { work, resolve, signals } = manual();
  const leaver = new AbortController();
  const left = flights.run("a", work, { signal: leaver.signal });
  leaver.abort(new Error("left"));
  await assertRejects(() => left, Error, "left");
  const joined = flights.run("a", work);
  await turn();
  assertEquals([signals.length, signals[0]!.aborted], [1, false]);
  let isSettled = false;
  const settled = flights.settled().then(() => isSettled = true);
  await turn();
  assertEquals(isSettled, false);
  resolve("done");
  assertEquals(await joined, "done");
  await settled;
  assertEquals(flights.size, 0);
});
