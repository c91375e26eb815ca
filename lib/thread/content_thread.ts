// The serving thread's side of the content thread. One task runs at a time. The
// next task belongs to the client that has used the least time. A piece of work
// is tried with a short time limit first. Longer work is tried once more with
// the full limit, after other clients have used the thread for up to 5 s.

import { type Clock, orAborted, yieldToEventLoop } from "../work/clock.ts";
import { CollectionsError, serviceBusy } from "../errors.ts";
import { describeError, type Log } from "../log.ts";
import { forgetTask } from "../content/tasks.ts";
import { joinBytes } from "../work/bytes.ts";
import { FairQueue, type Permit } from "../work/fair_queue.ts";
import { freeBuffer } from "../work/memory.ts";
import {
  type Compute,
  LIMIT_MS,
  LONG_BYTES,
  MAX_HEAP_MB,
  SMALL_BYTES,
  type Task,
  TimeLimitError,
  TURN_MS,
  unlimited,
} from "./compute.ts";
import type { ThreadNews, ThreadRequest } from "./sandbox.ts";
import type { TaskReply, TaskRequest } from "./thread.ts";

/**
 * The thread stops a piece of work itself. Work that it cannot stop, such as
 * `JSON.parse`, makes it be replaced after this time.
 */
const GRACE_MS = 300;
const START_WITHIN_MS = 10_000;
/** The modules of a task are loaded before the first task of its name. */
const LOAD_WITHIN_MS = 5_000;
/**
 * If no worker can be started, the same code runs here. A start is tried again
 * after this time.
 */
const START_AGAIN_AFTER_MS = 60_000;
/** Long work waits until other clients have used the thread for this long. */
const LONG_DELAY_MS = 5_000;
/** While others wait, long work rests for this many times its time. */
const CROWDED_REST = 5;
/**
 * Long work starts only while there is room for a full heap of the thread and
 * for 48 MiB of requests. It cannot be stopped as soon as memory runs out.
 */
const MEMORY_FOR_LONG_BYTES = (MAX_HEAP_MB + 48) << 20;
/**
 * Work can take about this much memory in a ms. The time limit of a first try
 * is the memory left divided by this, from `SHORTEST_FIRST_MS` to
 * `LIMIT_MS.first`.
 */
const MEMORY_PER_MS_BYTES = 1 << 20;
const SHORTEST_FIRST_MS = 50;
const MEMORY_CHECK_MS = 100;
const MEMORY_WAIT_MS = 10_000;
/**
 * With little memory left, the thread forgets what it has not used for this
 * long. Work over a collection is several tasks. They fail with `service-busy`
 * if reading from the source or waiting for memory takes longer between them,
 * again and again.
 */
const UNUSED_MS = 60_000;
/** Long work that has waited in vain may have the thread forget everything. */
const FORGET_ALL_EVERY_MS = 30_000;
const QUEUE = { capacity: 1, maxWaiting: 256, maxWaitMs: 30_000 };

interface ThreadOptions {
  clock: Clock;
  log: Log;
  /** Returns how many bytes of memory the process may still take. */
  memoryLeft?: () => number;
}

/**
 * The content threads of a process. A repository always has the same thread
 * because that thread keeps what it derived.
 */
export class ContentThreads implements Compute {
  readonly #threads: readonly ContentThread[];

  constructor(
    { memoryLeft = () => Infinity, ...options }: ThreadOptions,
    cores: number,
  ) {
    this.#threads = Array.from(
      { length: cores > 2 ? 2 : 1 },
      () =>
        new ContentThread({
          ...options,
          memoryLeft: () => memoryLeft() - this.longWorkBytes,
        }),
    );
  }

  /** The number of waiting tasks. */
  get waiting(): number {
    return this.#threads.reduce((sum, { waiting }) => sum + waiting, 0);
  }

  /** How many bytes of memory the long work under way may still take. */
  get longWorkBytes(): number {
    return this.#threads.filter(({ isAtLongWork }) => isAtLongWork).length *
      (MAX_HEAP_MB << 20);
  }

  readonly run: Compute["run"] = (task, input, options) => {
    const { repository = "" } = options;
    let hash = 0;
    for (let at = 0; at < repository.length; at++) {
      hash = hash * 31 + repository.charCodeAt(at) | 0;
    }
    return this.#threads[Math.abs(hash) % this.#threads.length]!.run(
      task,
      input,
      options,
    );
  };

  /**
   * Starts the threads so that the first request does not wait for them. Never
   * throws.
   */
  async start(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.start()));
  }

  /** Has the threads forget what they have not used lately. Never throws. */
  forget(): void {
    for (const thread of this.#threads) void thread.forget();
  }

  close(): void {
    for (const thread of this.#threads) thread.close();
  }
}

/**
 * Runs tasks on a thread that may only read its own modules. The thread starts
 * on first use.
 */
export class ContentThread implements Compute {
  isAtLongWork = false;
  readonly #queue: FairQueue;
  #sandbox: Sandbox | null = null;
  #thread: Promise<Thread | null> | null = null;
  #isClosed = false;
  #isForgetting = false;
  #forgetAllAfterMs = -Infinity;
  /**
   * When long work may run again. It takes at most half of the time, and a
   * sixth while others wait. A client with several short tasks then does not
   * wait for long work before each.
   */
  #longAfterMs = -Infinity;

  constructor(
    private readonly options: ThreadOptions,
  ) {
    this.#queue = new FairQueue({ ...QUEUE, clock: options.clock });
  }

  get waiting(): number {
    return this.#queue.waiting;
  }

  async start(): Promise<void> {
    if (!this.#isClosed) await (this.#thread ??= this.#open());
  }

  /** Has the thread forget what it has not used lately. Never throws. */
  async forget(unusedMs = UNUSED_MS): Promise<void> {
    // One that is under way may leave more.
    if (this.#isForgetting && unusedMs > 0) return;
    this.#isForgetting = true;
    if (await this.#thread !== null) {
      await this.run(forgetTask, unusedMs, { client: "" }).catch(() => {});
    }
    this.#isForgetting = false;
  }

  readonly run: Compute["run"] = async (task, input, options) => {
    const { client, signal, charge, linearIn = null } = options;
    const { clock } = this.options;
    let { isLong = (linearIn ?? 0) > LONG_BYTES } = options;
    try {
      // What made the input, and the message that carries it, may take long.
      await yieldToEventLoop(signal);
      if (linearIn !== null && linearIn <= SMALL_BYTES) {
        return (await task.load())(input, unlimited);
      }
      for (;;) {
        const permit = await this.#turn(isLong, client, signal);
        // Starting the thread is nobody's work.
        let startedAtMs = Infinity;
        const onStart = () => startedAtMs = clock.monotonicMs();
        // The thread is occupied until it replies even if the caller no longer
        // waits.
        const about = { isLong, signal, onStart };
        const answer = this.#attempt(task, input, about).finally(
          () => {
            const usedMs = Math.max(0, clock.monotonicMs() - startedAtMs);
            this.isAtLongWork = false;
            if (isLong) {
              // To forget is no client's work.
              const others = this.waiting - Number(this.#isForgetting);
              const rest = others > 0 ? CROWDED_REST : 1;
              this.#longAfterMs = clock.monotonicMs() + rest * usedMs;
            }
            permit.release(usedMs);
            charge?.(usedMs);
          },
        );
        const reply = await orAborted(answer, signal);
        if ("output" in reply) return reply.output;
        if (isLong) throw new TimeLimitError("The work takes too long");
        isLong = true;
        input = reply.overLimit;
      }
    } finally {
      task.moveInput?.(input).forEach(freeBuffer);
    }
  };

  /**
   * Waits until a task of this client may run.
   * @throws {CollectionsError} service-busy if long work finds no memory.
   */
  async #turn(
    isLong: boolean,
    client: string,
    signal: AbortSignal | undefined,
  ): Promise<Permit> {
    const { clock, memoryLeft = () => Infinity } = this.options;
    const delay = isLong ? LONG_DELAY_MS : 0;
    let endsAtMs = Infinity;
    for (;;) {
      const permit = await this.#queue.acquire({ client, delay, signal });
      const pauseMs = isLong ? this.#longAfterMs - clock.monotonicMs() : 0;
      const isShort = isLong && memoryLeft() < MEMORY_FOR_LONG_BYTES;
      const waitMs = Math.max(pauseMs, isShort ? MEMORY_CHECK_MS : 0);
      if (waitMs <= 0) {
        this.isAtLongWork = isLong;
        return permit;
      }
      permit.release(0);
      if (isShort) {
        const nowMs = clock.monotonicMs();
        endsAtMs = Math.min(endsAtMs, nowMs + MEMORY_WAIT_MS);
        if (nowMs >= endsAtMs) {
          if (nowMs < this.#forgetAllAfterMs) {
            throw serviceBusy("Cannot do the work: too little memory is left");
          }
          this.#forgetAllAfterMs = nowMs + FORGET_ALL_EVERY_MS;
          await this.forget(0);
          continue;
        }
      }
      await clock.sleep(waitMs, signal);
    }
  }

  /** Ends the thread. Running tasks fail. */
  close(): void {
    this.#isClosed = true;
    Promise.resolve(this.#thread).then(() =>
      this.#sandbox?.stop("it is closed")
    );
    this.#thread = null;
  }

  /**
   * Tries a task once. Calls `onStart` when the thread is ready for it. Returns
   * the input if it took too long or the thread ended for another reason.
   * @throws {TimeLimitError} if the thread is out of memory or does not reply,
   * or if it ended with an input that was moved to it.
   */
  async #attempt<Input, Output>(
    task: Task<Input, Output>,
    input: Input,
    { isLong, signal, onStart }: {
      isLong: boolean;
      signal: AbortSignal | undefined;
      onStart: () => void;
    },
  ): Promise<{ output: Output } | { overLimit: Input }> {
    if (this.#isClosed) throw new Error("Cannot compute: the service stops");
    const opening = this.#thread ??= this.#open();
    const thread = await orAborted(opening, signal);
    if (thread === null) {
      const work = await task.load();
      onStart();
      return { output: await work(input, unlimited) };
    }
    const { clock, log, memoryLeft = () => Infinity } = this.options;
    const limitMs = isLong ? LIMIT_MS.long : Math.max(
      SHORTEST_FIRST_MS,
      Math.min(LIMIT_MS.first, Math.floor(memoryLeft() / MEMORY_PER_MS_BYTES)),
    );
    let isFull = false;
    const ask = (
      request: TaskRequest,
      withinMs: number,
      moved: ArrayBuffer[] = [],
    ) => {
      const cancelTimer = clock.setTimer(withinMs, () => {
        isFull = request.limitMs === LIMIT_MS.long;
        this.#sandbox?.endThread("it does not answer");
      });
      return thread.ask(request, moved).finally(cancelTimer);
    };
    const { name } = task;
    let moved: ArrayBuffer[] = [];
    let isGiven = false;
    let reply: TaskReply;
    try {
      if (!thread.loaded.has(name)) {
        await ask({ task: name, input: null, limitMs: 0 }, LOAD_WITHIN_MS);
        thread.loaded.add(name);
        // The caller has left, and its input is free.
        if (signal?.aborted) return { overLimit: input };
      }
      onStart();
      let sent = input;
      if (task.moveInput === undefined) {
        ({ sent, moved } = await copyFiles(input));
        if (signal?.aborted) return { overLimit: input };
      } else {
        moved = task.moveInput(input);
        isGiven = moved.length > 0;
      }
      const withinMs = TURN_MS + limitMs + GRACE_MS;
      reply = await ask({ task: name, input: sent, limitMs }, withinMs, moved);
      if ("isHeapFull" in reply) {
        // What the thread keeps may have filled it.
        isFull = isLong;
        this.#sandbox?.endThread("its heap is full");
        throw new Error("The heap of the content thread is full");
      }
    } catch (error) {
      if (this.#thread === opening) this.#thread = null;
      log.warn("content thread replaced", {
        task: name,
        ...describeError(error),
      });
      if (isFull || isGiven) {
        throw new TimeLimitError("The work takes too much memory");
      }
      return { overLimit: input };
    }
    if ("output" in reply) return { output: reply.output as Output };
    if ("overLimit" in reply) {
      return { overLimit: isGiven ? reply.overLimit as Input : input };
    }
    if ("fault" in reply) {
      throw new Error(`Cannot run "${name}": ${reply.fault}`);
    }
    const { code, detail, message, facts } = reply.failure;
    throw new CollectionsError(code, detail, { message, ...facts });
  }

  /** Returns a started thread, or null if no worker can be started. */
  async #open(): Promise<Thread | null> {
    const { clock, log } = this.options;
    const cancelTimer = clock.setTimer(
      START_WITHIN_MS,
      () => this.#sandbox?.stop("it does not start"),
    );
    try {
      if (this.#sandbox?.isStopped !== false) this.#sandbox = new Sandbox();
      const thread = this.#sandbox.start();
      await thread.ready;
      return thread;
    } catch (error) {
      log.warn(
        "no content thread, computing on the serving thread",
        describeError(error),
      );
      clock.setTimer(START_AGAIN_AFTER_MS, () => this.#thread = null);
      return null;
    } finally {
      cancelTimer();
    }
  }
}

/** A message copies fewer bytes in well under 1 ms. */
const SMALL_MESSAGE_BYTES = 64 << 10;

/**
 * Returns an input whose files have copies of their bytes, and the buffers that
 * a message can move. The message itself would copy the bytes at once.
 */
async function copyFiles<Input>(
  input: Input,
): Promise<{ sent: Input; moved: ArrayBuffer[] }> {
  const { files } = (input ?? {}) as { files?: unknown };
  if (!Array.isArray(files)) return { sent: input, moved: [] };
  // Files with the same content share its bytes.
  const blocks = [...new Set(files.flatMap(Object.values))].filter((value) =>
    value instanceof Uint8Array && value.buffer instanceof ArrayBuffer
  );
  const size = blocks.reduce((sum, { length }) => sum + length, 0);
  if (size < SMALL_MESSAGE_BYTES) return { sent: input, moved: [] };
  const joined = await joinBytes(blocks);
  let at = 0;
  const copies = new Map<unknown, Uint8Array>(
    blocks.map((block) => [block, joined.subarray(at, at += block.length)]),
  );
  const copied = files.map((file) =>
    Object.fromEntries(
      Object.entries(file).map(([key, value]) => [
        key,
        copies.get(value) ?? value,
      ]),
    )
  );
  return { sent: { ...input, files: copied }, moved: [joined.buffer] };
}

type Thread = ReturnType<Sandbox["start"]>;

/**
 * The worker in which the thread runs. To start a worker stops the serving
 * thread for some time, so a thread that ends is replaced inside its worker.
 */
class Sandbox {
  isStopped = false;
  readonly #worker: Worker;
  #threads = 0;
  #begin: ((port: MessagePort) => void) | null = null;
  #end: ((why: string) => void) | null = null;

  constructor() {
    // The thread inside needs permission to read its modules.
    const read = ["lib/", "packages/", "jsr/", "node_modules/"]
      .map((path) => new URL(`../../${path}`, import.meta.url));
    const none = {
      env: false,
      ffi: false,
      import: false,
      net: false,
      run: false,
      // The worker gives it up once it has lowered its priority.
      sys: "inherit",
    } as const;
    this.#worker = new Worker(new URL("./sandbox.ts", import.meta.url), {
      type: "module",
      name: "content",
      deno: { permissions: { ...none, read, write: false } },
    });
    this.#worker.onmessage = ({ data }: MessageEvent<ThreadNews>) => {
      if (data.id !== this.#threads) return;
      if ("port" in data) this.#begin?.(data.port);
      else this.#end?.(data.why);
    };
    this.#worker.onerror = (event) => {
      // An unhandled error event would end the process.
      event.preventDefault();
      this.stop(event.message);
    };
  }

  /**
   * Starts a thread in the place of the last one. A thread that has ended
   * rejects everything.
   */
  start() {
    let port: MessagePort | null = null;
    const ready = Promise.withResolvers<TaskReply>();
    // A reply may be large, so it is not kept.
    let answer: typeof ready | null = ready;
    let fault: Error | null = null;
    this.#begin = (given) => {
      port = given;
      port.onmessage = ({ data }) => {
        answer?.resolve(data);
        answer = null;
      };
      port.postMessage(null);
    };
    this.#end = (why) => {
      fault ??= new Error(`The content thread was stopped: ${why}`);
      port?.close();
      answer?.reject(fault);
      answer = null;
    };
    this.#worker.postMessage(++this.#threads satisfies ThreadRequest);
    return {
      ready: ready.promise as Promise<unknown>,
      /** The names of the tasks whose modules are loaded. */
      loaded: new Set<string>(),
      /** Sends one request. The next may be sent after the reply. */
      ask(request: TaskRequest, moved: ArrayBuffer[]): Promise<TaskReply> {
        if (fault !== null) return Promise.reject(fault);
        answer = Promise.withResolvers();
        port!.postMessage(request, moved);
        return answer.promise;
      },
    };
  }

  /** Ends the thread, which can be replaced. */
  endThread(why: string): void {
    this.#end?.(why);
    this.#worker.postMessage(null satisfies ThreadRequest);
  }

  /** Ends the worker with its thread. Nothing more can be started in it. */
  stop(why: string): void {
    this.isStopped = true;
    this.#worker.terminate();
    this.#end?.(why);
  }
}
