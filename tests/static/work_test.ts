// Work in the worker: one piece at a time, within a deadline that begins when
// the worker does, and a new worker for what comes after a piece that was
// ended.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { DEADLINE_MS, work, WorkError } from "../../static/assets/work.ts";

const JOB = { kind: "json", text: "{}" } as const;
const TREE = { nodes: [], isCut: false };

/** Workers that were started, in the place of the browser's. */
class FakeWorker {
  static readonly started: FakeWorker[] = [];
  onmessage!: (event: { data: unknown }) => void;
  onerror!: () => void;
  posted = 0;
  isEnded = false;

  constructor(readonly address: string) {
    FakeWorker.started.push(this);
  }

  postMessage() {
    this.posted++;
  }

  terminate() {
    this.isEnded = true;
  }

  report(state: "started" | "done" | "failed") {
    this.onmessage({ data: { state, tree: TREE, message: "It is no JSON." } });
  }
}

/**
 * What a test does with a worker that is its own, and with timers that it lets
 * pass itself.
 */
function workTest(
  name: string,
  body: (
    newest: () => FakeWorker,
    timers: Map<number, () => void>,
  ) => Promise<void>,
): void {
  Deno.test(name, async () => {
    const { Worker, setTimeout, clearTimeout } = globalThis;
    const timers = new Map<number, () => void>();
    let count = 0;
    Object.assign(globalThis, {
      Worker: FakeWorker,
      setTimeout: (callback: () => void, ms: number) => {
        assertEquals(ms, DEADLINE_MS);
        timers.set(++count, callback);
        return count;
      },
      clearTimeout: (timer: number) => timers.delete(timer),
    });
    try {
      await body(() => FakeWorker.started.at(-1)!, timers);
      // The next test begins with a worker of its own.
      await assertRejects(async () => {
        const abort = new AbortController();
        const result = work(JOB, abort.signal);
        await turns();
        abort.abort();
        await result;
      });
    } finally {
      Object.assign(globalThis, { Worker, setTimeout, clearTimeout });
    }
  });
}

/** Lets what has been resolved go on. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await null;
}

const { signal } = new AbortController();

workTest(
  "work() starts one worker, and gives it one piece at a time",
  async (newest) => {
    const before = FakeWorker.started.length;
    const [first, second] = [work(JOB, signal), work(JOB, signal)];
    await turns();
    assertEquals(newest().posted, 1);
    assert(newest().address.endsWith("/static/assets/worker.ts"));
    newest().report("started");
    newest().report("done");
    assertEquals(await first, TREE);
    await turns();
    assertEquals([newest().posted, FakeWorker.started.length - before], [2, 1]);
    newest().report("failed");
    await assertRejects(() => second, WorkError, "It is no JSON.");
  },
);

workTest(
  "work() keeps no deadline of a piece that is done",
  async (newest, timers) => {
    const done = work(JOB, signal);
    await turns();
    newest().report("started");
    newest().report("done");
    await done;
    assertEquals([timers.size, newest().isEnded], [0, false]);
  },
);

workTest(
  "work() ends aborted work, and never starts what waits",
  async (newest) => {
    const abort = new AbortController();
    const [busy, waiting] = [work(JOB, abort.signal), work(JOB, abort.signal)];
    await turns();
    const used = newest();
    abort.abort();
    await assertRejects(() => busy, DOMException);
    await assertRejects(() => waiting, DOMException);
    assert(used.isEnded && used.posted === 1 && newest() === used);
  },
);

workTest(
  "work() rejects where no worker loads, and tries again",
  async (newest) => {
    const failed = work(JOB, signal);
    await turns();
    const used = newest();
    used.onerror();
    await assertRejects(() => failed, WorkError, "cannot be loaded");
    const next = work(JOB, signal);
    await turns();
    assert(newest() !== used);
    newest().report("done");
    await next;
  },
);
