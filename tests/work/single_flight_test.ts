import { assertEquals, assertRejects } from "@std/assert";
import { SingleFlight } from "../../lib/work/single_flight.ts";
import { turns } from "../test_clock.ts";

/**
 * Work that the test ends by hand, and the signals that it was started with.
 */
function manual() {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const signals: AbortSignal[] = [];
  const work = (signal: AbortSignal) => {
    signals.push(signal);
    return promise;
  };
  return { work, resolve, reject, signals };
}

Deno.test("SingleFlight run() forgets a flight before its result", async () => {
  const flights = new SingleFlight<number>();
  let count = 0;
  const next = () => flights.run("a", () => Promise.resolve(++count));
  assertEquals(await next().then(next), 2);
  const failing = () => {
    throw new Error("at once");
  };
  const runs = [flights.run("a", failing), flights.run("a", failing)];
  for (const run of runs) await assertRejects(() => run, Error, "at once");
  assertEquals(await flights.run("a", failing).catch(next), 3);
});

Deno.test("SingleFlight run() aborts the flight when all have left", async () => {
  const flights = new SingleFlight<string>();
  const first = manual();
  const controllers = [new AbortController(), new AbortController()];
  const runs = controllers.map(({ signal }) =>
    flights.run("a", first.work, signal)
  );
  await turns();
  for (const [i, run] of runs.entries()) {
    assertEquals([first.signals[0]!.aborted, flights.has("a")], [false, true]);
    controllers[i]!.abort(new Error("left"));
    await assertRejects(() => run, Error, "left");
  }
  assertEquals([first.signals[0]!.aborted, flights.has("a")], [true, false]);

  const second = manual();
  const late = flights.run("a", second.work, controllers[0]!.signal);
  await assertRejects(() => late, Error, "left");
  assertEquals(
    flights.has("a"),
    false,
    "nothing starts for a signal that has aborted",
  );
  const stays = flights.run("a", second.work);
  first.reject(new Error("late, heard by nobody"));
  await turns();
  assertEquals([second.signals.length, flights.has("a")], [1, true]);
  second.resolve("done");
  assertEquals([await stays, second.signals[0]!.aborted], ["done", false]);
});
