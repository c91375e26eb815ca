// Injects time so that a test can advance it instead of waiting. Also runs long
// processor work in time slices. Other tasks of this thread continue between
// them.

/** Tells the time and schedules work. */
export interface Clock {
  /**
   * Returns wall-clock milliseconds since the epoch. The clock can jump in
   * either direction.
   */
  now(): number;
  /**
   * Returns milliseconds since an arbitrary start. The value never goes back.
   * Limits, back-off and durations use it.
   */
  monotonicMs(): number;
  /**
   * Resolves after `ms` milliseconds. Rejects with the signal's reason if it
   * aborts first.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * Calls `callback` after `ms` milliseconds unless the returned function
   * cancels it first.
   */
  setTimer(ms: number, callback: () => void): () => void;
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  async sleep(ms, signal) {
    signal?.throwIfAborted();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    await orAborted(promise, signal).finally(() => clearTimeout(timer));
  },
  setTimer(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

/**
 * Returns the result of `work`. Rejects at once with the reason of `signal` if
 * it aborts first.
 */
export function orAborted<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    const listenNoMore = () => signal.removeEventListener("abort", abort);
    work.finally(listenNoMore).then(resolve, reject);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}

/**
 * Deno answers nobody while a slice runs. Work that waits gets its next slice
 * about 2 ms later. With `setImmediate` it would follow at once, and requests
 * would wait longer. What work does before it yields for the first time comes
 * on top.
 */
const SLICE_MS = 3;

/**
 * Work that may continue does so after one microtask for its promise and one
 * for each function that waits for it.
 */
const TURNS_TO_CONTINUE = 6;

/**
 * The number of cheap steps between two calls of {@linkcode yieldToEventLoop}.
 */
export const STEPS_PER_YIELD = 256;

// All work shares one sequence of slices. If each had its own, other tasks
// would wait for the sum of them.
/** What waits for its turn, each in order. The queues take turns. */
const queues = {
  /** Work that has yielded. */
  paused: [] as (() => void)[],
  /** Requests that have not begun. */
  starting: [] as (() => void)[],
  /** Bodies that have another piece to send. */
  sending: [] as (() => void)[],
};
const inTurn = Object.values(queues);
let lastServed = 0;
let sliceStartedAtMs = -Infinity;
let isSliceDue = false;
/** Whether other tasks have had a turn since the last slice started. */
let haveOthersHadTurn = true;

const isSliceOver = () => performance.now() - sliceStartedAtMs >= SLICE_MS;
const isAnyWaiting = () => inTurn.some(({ length }) => length > 0);

function resumeNext() {
  for (let tries = 0; tries < inTurn.length; tries++) {
    lastServed = (lastServed + 1) % inTurn.length;
    const resume = inTurn[lastServed]!.shift();
    if (resume !== undefined) return resume();
  }
}

async function runSlice() {
  isSliceDue = false;
  sliceStartedAtMs = performance.now();
  haveOthersHadTurn = false;
  // Timers that are due run before anything that has come in meanwhile.
  setTimeout(() => setImmediate(() => haveOthersHadTurn = true), 0);
  do {
    resumeNext();
    // Lets that work take its next step, which may use up the slice.
    for (let turns = 0; turns < TURNS_TO_CONTINUE; turns++) await null;
  } while (isAnyWaiting() && !isSliceOver());
  if (isAnyWaiting()) requireSlice();
}

function requireSlice() {
  if (isSliceDue) return;
  isSliceDue = true;
  if (haveOthersHadTurn) queueMicrotask(runSlice);
  else setTimeout(runSlice, 0);
}

/**
 * Returns at once while the current slice of 3 ms lasts. Otherwise waits for
 * the next slice. That starts at once if other tasks have had a turn since the
 * last slice started. Call it between long steps or once per
 * {@linkcode STEPS_PER_YIELD} cheap steps.
 * @throws the signal's reason if it is aborted.
 */
export async function yieldToEventLoop(signal?: AbortSignal): Promise<void> {
  if (isSliceOver()) await turnIn("paused");
  signal?.throwIfAborted();
}

/**
 * Waits like {@linkcode yieldToEventLoop} before a piece of a body is sent.
 * `writeMs` is what Deno needs to write it once the slice is over. It counts as
 * time of the slice.
 */
export async function turnToSend(writeMs: number): Promise<void> {
  if (isSliceOver()) await turnIn("sending");
  sliceStartedAtMs -= writeMs;
}

/** Waits for a slice in which a request starts. */
export function turnToStart(): Promise<void> {
  return turnIn("starting");
}

function turnIn(queue: keyof typeof queues): Promise<void> {
  return new Promise((resolve) => {
    queues[queue].push(resolve);
    requireSlice();
  });
}
