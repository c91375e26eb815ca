import { assertEquals, assertRejects } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import { Gate } from "../../lib/source/gate.ts";
import { Ticks } from "../ticks.ts";

/** Tasks that end when they are told to, in the order in which they begin. */
function tasks() {
  const begun: (() => void)[] = [];
  const task = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    begun.push(resolve);
    return promise;
  };
  return { begun, task };
}

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

Deno.test("Gate runs so many tasks at once, lets so many wait, and is busy past that", async () => {
  const gate = new Gate({ concurrency: 2, maxQueued: 3 });
  const { begun, task } = tasks();
  const running = [gate.run(task), gate.run(task)];
  await turn();
  const waiting = [gate.run(task), gate.run(task), gate.run(task)];
  assertEquals(gate.queued, 3);

  const busy = await assertRejects(() => gate.run(task), CollectionsError);
  assertEquals([busy.code, busy.facts.retryAfterSeconds], ["service-busy", 1]);
  await turn();
  assertEquals(begun.length, 2);

  for (let ended = 0; ended < 5; ended++) {
    begun[ended]!();
    await turn();
  }
  await Promise.all([...running, ...waiting]);
});

Deno.test("Gate does not begin what has waited too long, or what nobody waits for", async () => {
  using ticks = new Ticks();
  const gate = new Gate({ concurrency: 1, maxQueued: 9, maxWaitMs: 1_000 });
  const { begun, task } = tasks();
  const gone = new AbortController();
  const first = gate.run(task);
  await turn();
  const late = gate.run(task);
  const left = gate.run(task, gone.signal);
  gone.abort(new Error("gone"));
  ticks.pass(1_001);

  begun[0]!();
  await first;
  assertEquals((await assertRejects(() => late, CollectionsError)).code, "service-busy");
  await assertRejects(() => left, Error, "gone");
  assertEquals(begun.length, 1);
});

Deno.test("Gate goes on after tasks that fail", async () => {
  const gate = new Gate({ concurrency: 1, maxQueued: 9 });
  const failed = gate.run(() => Promise.reject(new Error("no")));
  const done = gate.run(() => Promise.resolve("yes"));

  await assertRejects(() => failed, Error, "no");
  assertEquals(await done, "yes");
});
