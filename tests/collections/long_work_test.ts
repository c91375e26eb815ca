import { assert, assertEquals, assertRejects } from "@std/assert";
import { LongWork } from "../../lib/collections/long_work.ts";
import { tooManyRequests } from "../../lib/errors.ts";

const PATIENT = { signal: undefined, waitMs: 60_000 };
const HASTY = { signal: undefined, waitMs: 0 };

/** Work that ends when it is told to, and what it is told. */
function controlled() {
  const { promise, resolve } = Promise.withResolvers<string>();
  const signals: AbortSignal[] = [];
  const work = (signal: AbortSignal) => {
    signals.push(signal);
    return promise;
  };
  return { work, signals, resolve };
}

Deno.test("LongWork gives the result to all who wait for it, from one run", async () => {
  const long = new LongWork<string>();
  const { work, signals, resolve } = controlled();
  const results = [long.run("a", work, PATIENT), long.run("a", work, PATIENT)];
  resolve("done");
  assertEquals(await Promise.all(results), ["done", "done"]);
  assertEquals(signals.length, 1);
});

Deno.test("LongWork goes on without a caller who waited long enough", async () => {
  const long = new LongWork<string>();
  const { work, signals, resolve } = controlled();
  assertEquals(await long.run("a", work, HASTY), null);
  const later = long.run("a", work, PATIENT);
  resolve("done");
  assertEquals(await later, "done");
  assertEquals(signals.map(({ aborted }) => aborted), [false]);
});

Deno.test("LongWork ends with the last caller who leaves, or when it is closed", async () => {
  const long = new LongWork<string>();
  const [first, second] = [controlled(), controlled()];
  const leaving = new AbortController();
  const left = long.run("a", first.work, { signal: leaving.signal, waitMs: 60_000 });
  await Promise.resolve();
  leaving.abort(new Error("gone"));
  await assertRejects(() => left, Error, "gone");
  assert(first.signals[0]!.aborted);

  assertEquals(await long.run("b", second.work, HASTY), null);
  long.close();
  await new Promise((turn) => setTimeout(turn, 0));
  assert(second.signals[0]!.aborted);
});

Deno.test("LongWork refuses only the caller who may cause no more", async () => {
  const long = new LongWork<string>();
  const poor = long.run("a", () => Promise.reject(tooManyRequests(1)), PATIENT);
  const rich = long.run("a", () => Promise.resolve("done"), PATIENT);
  await assertRejects(() => poor, Error, "too much");
  assertEquals(await rich, "done");
});
