// The real thread. Only work that takes far longer than its limit is expected
// to be stopped.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Clock, systemClock } from "../../lib/work/clock.ts";
import {
  deriveTask,
  forgetTask,
  renderTask,
  selectTask,
  tableTask,
} from "../../lib/content/tasks.ts";
import { CollectionsError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { FileListBuilder } from "../../lib/source/file_list.ts";
import { readTreeTask } from "../../lib/source/github/trees.ts";
import {
  LIMIT_MS,
  MAX_HEAP_MB,
  TimeLimitError,
  unlimited,
} from "../../lib/thread/compute.ts";
import {
  ContentThread,
  ContentThreads,
} from "../../lib/thread/content_thread.ts";
import { recordedLog, silentLog } from "../source/open_github.ts";
import { TestClock, turns } from "../test_clock.ts";

/** Takes 20 s and 60 MB: much time, and memory that the thread has. */
const SLOW = "*a_ ".repeat(1 << 14);

const bytesOf = (text: string) => new TextEncoder().encode(text);

/**
 * Never gives up a silent thread: on a busy machine a thread that stops its
 * work itself may be slow to say so.
 */
const patientClock: Clock = { ...systemClock, setTimer: () => () => {} };

function start(
  clock: Clock = patientClock,
  log: Log = silentLog,
  memoryLeft = () => Infinity,
) {
  const thread = new ContentThread({ clock, log, memoryLeft });
  let files = 0;
  const render = async (
    text: string,
    client: string = crypto.randomUUID(),
    isLong = false,
  ) => {
    const input = {
      repository: "octo/site",
      files: [{ id: `${files++}`, bytes: bytesOf(text) }],
    };
    const { results, isSlow } = await thread.run(renderTask, input, {
      client,
      isLong,
    });
    const [result] = results;
    if (isSlow) return "slow";
    if (typeof result === "string") return result;
    return JSON.parse(new TextDecoder().decode(result)).parts.join("");
  };
  return { thread, render, [Symbol.dispose]: () => thread.close() };
}

Deno.test("ContentThread gives the error that a task throws", async () => {
  using opened = start();
  const input = { answer: bytesOf("[".repeat(40_000)), isRecursive: true };
  const error = await assertRejects(
    () => opened.thread.run(readTreeTask, input, { client: "a" }),
    CollectionsError,
  );
  assertEquals([error.code, error.message], [
    "source-failed",
    'Cannot read "answer": it is nested too deeply',
  ]);
});

Deno.test("ContentThread stops work at its limit, and works on", async () => {
  using opened = start();
  for (const isLong of [false, true]) {
    assertEquals(await opened.render(SLOW, "a", isLong), "slow");
    assertEquals(await opened.render("*b*", "b"), "<p><em>b</em></p>");
  }
});

Deno.test("ContentThread tries one piece of work twice", async () => {
  using opened = start();
  const builder = new FileListBuilder();
  const path = `${"a/".repeat(1_900)}a`;
  for (let n = 0; n < 12_000; n++) {
    builder.add({
      path: path + String(n).padStart(4, "0"),
      id: "0".repeat(40),
      size: 1,
    });
  }
  const input = {
    repository: "r",
    folder: "posts",
    files: builder.build().bytes,
    rule: undefined,
    sort: "path",
    filter: Array.from(
      { length: 20 },
      () => ["filter[path]", `!**/${"a/".repeat(29)}b`] as const,
    ),
    facets: [],
    maxItemBytes: 1,
  };
  const charged: number[] = [];
  await assertRejects(
    () =>
      opened.thread.run(selectTask, input, {
        client: "a",
        charge: (ms) => charged.push(ms),
      }),
    TimeLimitError,
    "too long",
  );
  assertEquals(charged.length, 2);
  assert(
    charged[0]! >= LIMIT_MS.first && charged[1]! >= LIMIT_MS.long,
    `${charged}`,
  );
});

Deno.test("ContentThread tries for a shorter time with little memory left", async () => {
  const limits = [
    { leftMib: 201, firstMs: 200 },
    { leftMib: 200, firstMs: 200 },
    { leftMib: 199, firstMs: 199 },
    { leftMib: 50, firstMs: 50 },
    { leftMib: 49, firstMs: 50 },
    { leftMib: -1, firstMs: 50 },
  ];
  for (const { leftMib, firstMs } of limits) {
    const waits: number[] = [];
    using opened = start(
      {
        ...patientClock,
        setTimer: (ms) => (waits.push(ms), () => {}),
      },
      silentLog,
      () => leftMib << 20,
    );
    assertEquals(await opened.render("*a*"), "<p><em>a</em></p>");
    // The serving thread waits longer than the thread works.
    assertEquals(waits.at(-1), 100 + firstMs + 300);
  }
});

Deno.test("ContentThread rests longer after long work if others wait", async () => {
  for (const waits of ["nothing", "a client", "forgetting"]) {
    const rests: number[] = [];
    let skippedMs = 0;
    using opened = start({
      ...patientClock,
      monotonicMs: () => systemClock.monotonicMs() + skippedMs,
      sleep(ms) {
        rests.push(ms);
        skippedMs += ms;
        return Promise.resolve();
      },
    });
    const long = opened.render(SLOW, "a", true);
    while (!opened.thread.isAtLongWork) await turns();
    const other = waits === "a client"
      ? opened.render("*b*", "b")
      : waits === "forgetting"
      ? opened.thread.forget()
      : null;
    await Promise.all([long, other]);
    await opened.render("*c*", "c", true);
    const [restMs = 0] = rests;
    // The work took its limit, or more on a busy machine.
    const isLonger = restMs > 4 * LIMIT_MS.long;
    assertEquals(
      [rests.length > 0, isLonger],
      [true, waits === "a client"],
      `${waits}: ${rests}`,
    );
  }
});

Deno.test("ContentThread delays long work while memory is short", async () => {
  for (const [shortFor, looks] of [[4, 5], [Infinity, 104]] as const) {
    let [looked, skippedMs] = [0, 0];
    using opened = start(
      {
        ...patientClock,
        monotonicMs: () => skippedMs,
        sleep: (ms) => Promise.resolve(void (skippedMs += ms)),
      },
      silentLog,
      () => ((MAX_HEAP_MB + 48) << 20) - Number(++looked <= shortFor),
    );
    await opened.render("*a*");
    assertEquals([looked, skippedMs], [1, 0]);
    const rendered = await opened.render("*b*", "b", true)
      .catch((error: CollectionsError) => error.code);
    const expected = shortFor === 4 ? "<p><em>b</em></p>" : "service-busy";
    assertEquals([rendered, looked], [expected, looks]);
    // The thread stays free for others.
    assertEquals(await opened.render("*c*", "c"), "<p><em>c</em></p>");
  }
});

Deno.test("ContentThreads do long work in turn where memory is for one", async () => {
  for (const leftBytes of [(2 * MAX_HEAP_MB) << 20, Infinity]) {
    let waits = 0;
    const clock = {
      ...patientClock,
      sleep(ms: number) {
        waits++;
        return systemClock.sleep(ms);
      },
    };
    const threads = new ContentThreads(
      { clock, log: silentLog, memoryLeft: () => leftBytes },
      4,
    );
    await threads.start();
    // Each has a thread of its own.
    await Promise.all(["a", "b"].map((repository) => {
      const files = [{ id: "f", bytes: bytesOf(SLOW.slice(0, 8_000)) }];
      const options = { client: repository, repository, isLong: true };
      return threads.run(renderTask, { repository, files }, options);
    }));
    threads.close();
    assertEquals(waits > 0, leftBytes < Infinity, `${waits}`);
  }
});

Deno.test("ContentThread has a started thread forget, once at a time", async () => {
  using opened = start();
  const { thread } = opened;
  const tasks: string[] = [];
  const forgotten = Promise.withResolvers<void>();
  const run = ({ name }: { name: string }) => {
    tasks.push(name);
    return forgotten.promise;
  };
  const own = thread.run;
  Object.assign(thread, { run });
  await thread.forget();
  assertEquals(tasks, []);
  await thread.start();
  const first = thread.forget();
  await thread.forget();
  assertEquals(tasks, ["forget"]);
  // Work that waits in vain does not have less forgotten.
  const all = thread.forget(0);
  await turns();
  assertEquals(tasks, ["forget", "forget"]);
  forgotten.reject(new Error("busy"));
  await first;
  await all;
  Object.assign(thread, { run: own });
  assertEquals(await opened.render("*a*"), "<p><em>a</em></p>");
  const files = [{
    id: "f",
    bytes: bytesOf(`---\na: ${"x".repeat(50_000)}\n---`),
  }];
  await own(deriveTask, { repository: "r", files }, { client: "a" });
  const forget = (unusedMs: number) =>
    own(forgetTask, unusedMs, { client: "a" });
  // The thread used all that it has just now.
  assertEquals(await forget(60_000), 0);
  // The thread's own files are far smaller.
  assert(await forget(0) > 100_000);
});

Deno.test("ContentThread derives posts of its own before it is asked to", async () => {
  using opened = start();
  const forget = () => opened.thread.run(forgetTask, 0, { client: "a" });
  let bytes = 0;
  for (let tries = 0; bytes === 0 && tries < 20_000; tries++) {
    bytes = await forget();
  }
  assert(bytes > 0);
});

Deno.test("ContentThread does not keep a reply", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  using opened = start();
  const replies: WeakRef<object>[] = [];
  const run = async () => {
    const input = {
      repository: "octo/site",
      files: [{ id: "a", bytes: bytesOf("*a*") }],
    };
    const reply = await opened.thread.run(renderTask, input, { client: "a" });
    replies.push(new WeakRef(reply.results));
  };
  await run();
  await turns(5);
  collect();
  assertEquals(replies.map((reply) => reply.deref()), [undefined]);
});

Deno.test("ContentThread moves an input there and back", async () => {
  using opened = start();
  const entry = { path: "a.md", mode: "100644", sha: "1".repeat(40), size: 1 };
  const tree = `${`${JSON.stringify(entry)},`.repeat(400_000)}${
    JSON.stringify({ ...entry, mode: "no mode" })
  }`;
  const answer = bytesOf(`{"tree":[${tree}]}`);
  let tries = 0;
  // The first try is too short. A slow machine needs longer than the second.
  const error = await assertRejects(() =>
    opened.thread.run(readTreeTask, { answer, isRecursive: true }, {
      client: "a",
      charge: () => tries++,
    })
  );
  assert(
    error instanceof CollectionsError || error instanceof TimeLimitError,
    `${error}`,
  );
  assertEquals([tries, answer.buffer.detached], [2, true]);
});

Deno.test("ContentThread copies the bytes of files before it sends them", async () => {
  using opened = start();
  // The first work is slow, and not all files may have their turn.
  await opened.render("*a*");
  const own = MessagePort.prototype.postMessage;
  const moved: number[] = [];
  using _own = {
    [Symbol.dispose]: () => void (MessagePort.prototype.postMessage = own),
  };
  MessagePort.prototype.postMessage = function (message, options) {
    const buffers = options as unknown as ArrayBuffer[] | undefined;
    moved.push(...buffers?.map(({ byteLength }) => byteLength) ?? []);
    Reflect.apply(own, this, [message, options]);
  };
  const render = async (...texts: Uint8Array[]) => {
    const files = texts.map((bytes, n) => ({ id: `${n} ${moved}`, bytes }));
    const { results } = await opened.thread.run(renderTask, {
      repository: "octo/site",
      files,
    }, { client: "a" });
    return results.map((html) =>
      JSON.parse(new TextDecoder().decode(html as Uint8Array)).parts.join("")
    );
  };
  const [long, other, short] = ["a", "b", "c"].map((text, n) =>
    bytesOf(text.repeat(n === 2 ? 1_000 : 50_000))
  );
  // Two files with the same content are sent once.
  assertEquals((await render(long!, other!, long!)).map((html) => html[3]), [
    "a",
    "b",
    "a",
  ]);
  assertEquals([moved, long!.length], [[100_000], 50_000]);
  await render(short!);
  assertEquals(moved, [100_000]);
});

Deno.test("rendered HTML is moved from the thread", async () => {
  const render = await renderTask.load();
  const files = ["*a*", "b".repeat(2 << 20)].map((text, n) => (
    { id: `${n}`, bytes: bytesOf(text) }
  ));
  const batch = render({ repository: "octo/site", files }, unlimited);
  const [html, failure] = batch.results;
  assert(html instanceof Uint8Array && typeof failure === "string");
  assertEquals(renderTask.moveOutput(batch), [html.buffer]);
});

Deno.test("ContentThread loads modules before the time of a task begins", async () => {
  const timers: number[] = [];
  const setTimer = (ms: number) => {
    timers.push(ms);
    return () => {};
  };
  using opened = start({ ...systemClock, setTimer });
  await opened.thread.start();
  timers.length = 0;
  await opened.render("a");
  const [loading, ...running] = timers.splice(0);
  await opened.render("b");
  assertEquals([loading, running], [5_000, timers]);
});

Deno.test("ContentThread charges nobody for the start of the thread", async () => {
  const clock = new TestClock();
  using opened = start(clock);
  // The thread starts within one timer and loads modules within the next one.
  let changes = 0;
  clock.onTimer = () => {
    if (++changes <= 3) clock.advance(1_000);
  };
  const charged: number[] = [];
  const files = [{ id: "a", bytes: bytesOf("a") }];
  await opened.thread.run(renderTask, { repository: "octo/site", files }, {
    client: "a",
    charge: (ms) => void charged.push(ms),
  });
  assertEquals([clock.monotonicMs(), charged], [3_000, [0]]);
});

Deno.test("ContentThread is replaced where it does not answer", async () => {
  const clock = new TestClock();
  using opened = start(clock);
  assertEquals(await opened.render("a"), "<p>a</p>");
  let fired = false;
  clock.onTimer = () => {
    if (!fired) queueMicrotask(() => clock.advance(60_000));
    fired = true;
  };
  await assertRejects(
    () => opened.render(SLOW, "a", true),
    TimeLimitError,
    "too much memory",
  );
  clock.onTimer = () => {};
  assertEquals(await opened.render("c"), "<p>c</p>");
});

Deno.test("ContentThread tries again if a first try is not answered", async () => {
  const clock = new TestClock();
  using opened = start(clock);
  assertEquals(await opened.render("a"), "<p>a</p>");
  clock.onTimer = () => {
    clock.onTimer = () => {};
    queueMicrotask(() => clock.advance(60_000));
  };
  assertEquals(await opened.render("b"), "<p>b</p>");
});

Deno.test("ContentThread is replaced once its heap is full", async () => {
  using opened = start();
  // Each of these objects takes over 200 bytes in V8.
  const answer = bytesOf(
    `{"tree":[${'{"99":0},'.padEnd(20).repeat(1_400_000)}0]}`,
  );
  await assertRejects(
    () =>
      opened.thread.run(readTreeTask, { answer, isRecursive: true }, {
        client: "a",
      }),
    TimeLimitError,
    "too much memory",
  );
  assertEquals(await opened.render("c"), "<p>c</p>");
});

Deno.test("ContentThread says that its heap is full without a delay", async () => {
  const late: number[] = [];
  const setTimer: Clock["setTimer"] = (ms, act) =>
    systemClock.setTimer(ms, () => {
      late.push(ms);
      act();
    });
  using opened = start({ ...systemClock, setTimer });
  const options = { client: "a", isLong: true };
  const bytes = bytesOf(`[${'{"99":0},'.repeat(249_000)}0]\n`.repeat(4));
  const name = { repository: "r", path: "a.jsonl", id: "a", infers: false };
  await assertRejects(
    () => opened.thread.run(tableTask, { ...name, bytes }, options),
    TimeLimitError,
  );
  assertEquals(late, []);
});

Deno.test("ContentThread is replaced if it says that its heap is full", async () => {
  const { Worker } = globalThis;
  const messages: unknown[] = [];
  /** Its first thread replies that its heap is full to everything. */
  class FullWorker extends Worker {
    override postMessage(message: number | null) {
      messages.push(message);
      if (messages.length > 1) return super.postMessage(message);
      const { port1, port2: port } = new MessageChannel();
      port1.onmessage = ({ data }) =>
        port1.postMessage(data === null ? "ready" : { isHeapFull: true });
      const data = { id: message, port };
      this.onmessage!(new MessageEvent("message", { data }));
    }
  }
  globalThis.Worker = FullWorker as never;
  using opened = start();
  try {
    await opened.thread.start();
  } finally {
    globalThis.Worker = Worker;
  }
  // The first try may have met what the thread kept of others.
  assertEquals(await opened.render("b"), "<p>b</p>");
  assertEquals(messages, [1, null, 2]);
  assertEquals(await opened.render("c"), "<p>c</p>");
});

Deno.test("ContentThread works inline where no worker starts", async () => {
  const { Worker } = globalThis;
  globalThis.Worker = null as never;
  using opened = start();
  try {
    assertEquals(await opened.render("*a*"), "<p><em>a</em></p>");
  } finally {
    globalThis.Worker = Worker;
  }
});

Deno.test("ContentThread serves the client that has used least", async () => {
  using opened = start();
  const ended: string[] = [];
  const render = async (name: string, text: string, client: string) => {
    await opened.render(text, client);
    ended.push(name);
  };
  await opened.thread.start();
  await Promise.all([
    ...["hostile 1", "hostile 2", "hostile 3"].map((name) =>
      render(name, SLOW, "h")
    ),
    ...["page 1", "page 2", "page 3"].map((name) => render(name, "a", "p")),
    render("post", "a", "q"),
  ]);
  assertEquals(ended[0], "hostile 1");
  assertEquals(ended.slice(-2), ["hostile 2", "hostile 3"]);
});

Deno.test("ContentThread ends the wait of a caller that leaves", async () => {
  using opened = start();
  const leaving = new AbortController();
  const input = { repository: "r", files: [{ id: "s", bytes: bytesOf(SLOW) }] };
  const options = { client: "a", signal: leaving.signal };
  const runs = [1, 2, 3].map(() =>
    opened.thread.run(renderTask, input, options)
  );
  const left = runs.map((run) => assertRejects(() => run, Error, "left"));
  leaving.abort(new Error("left"));
  await Promise.all(left);
  assertEquals(opened.thread.waiting, 0);
  assertEquals(await opened.render("a", "a"), "<p>a</p>");
});

Deno.test("ContentThread frees the inputs of callers that leave", async () => {
  const { log, lines } = recordedLog();
  for (const isStarted of [false, true]) {
    const leaving = new AbortController();
    const leave = () => leaving.abort(new Error("left"));
    const setTimer = (ms: number) => {
      // The modules of the task are asked for.
      if (ms === 5_000) leave();
      return () => {};
    };
    using opened = start(
      isStarted ? { ...systemClock, setTimer } : undefined,
      log,
    );
    if (isStarted) await opened.thread.start();
    // The second waits for its turn.
    const runs = [1, 2].map(() => {
      const input = { answer: new Uint8Array(9), isRecursive: true };
      const options = { client: "a", signal: leaving.signal };
      const run = opened.thread.run(readTreeTask, input, options);
      return { run, buffer: input.answer.buffer };
    });
    if (!isStarted) leave();
    for (const { run, buffer } of runs) {
      await assertRejects(() => run, Error, "left");
      assertEquals(buffer.detached, true);
    }
    assertEquals(await opened.render("a", "a"), "<p>a</p>");
  }
  assertEquals(lines, []);
});

Deno.test("ContentThread close() ends what runs and takes nothing more", async () => {
  using opened = start();
  await opened.thread.start();
  const running = opened.render(SLOW);
  const closed = assertRejects(() => running, Error);
  opened.thread.close();
  await closed;
  await assertRejects(() => opened.render("a"), Error, "the service stops");
});

Deno.test("the worker keeps no permission to change priorities", async () => {
  const url = new URL("./sandbox_permissions.ts", import.meta.url);
  const worker = new Worker(url, {
    type: "module",
    deno: { permissions: { read: true, sys: "inherit" } },
  });
  const state = await new Promise((resolve) => {
    worker.onmessage = ({ data }) => resolve(data);
  });
  worker.terminate();
  assert(state !== "granted", `${state}`);
});
