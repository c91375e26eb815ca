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
 * Deno answers nobody while a slice runs. About 2 ms pass between two slices of
 * the same work. A request waits for a few of them. With `setImmediate` they
 * follow at once and requests wait longer.
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
/** Work that has yielded, in the order in which it continues. */
const paused: (() => void)[] = [];
/** Work that has not begun. It takes turns with all work that has yielded. */
const starting: (() => void)[] = [];
let sliceStartedAtMs = -Infinity;
let isSliceDue = false;
/** Whether other tasks have had a turn since the last slice started. */
let haveOthersHadTurn = true;

const isSliceOver = () => performance.now() - sliceStartedAtMs >= SLICE_MS;

async function runSlice() {
  isSliceDue = false;
  sliceStartedAtMs = performance.now();
  haveOthersHadTurn = false;
  setTimeout(() => haveOthersHadTurn = true, 0);
  do {
    starting.shift()?.();
    paused.shift()?.();
    // Lets that work take its next step, which may use up the slice.
    for (let turns = 0; turns < TURNS_TO_CONTINUE; turns++) await null;
  } while (paused.length + starting.length > 0 && !isSliceOver());
  if (paused.length + starting.length > 0) requireSlice();
}

function requireSlice() {
  if (isSliceDue) return;
  isSliceDue = true;
  if (haveOthersHadTurn) queueMicrotask(runSlice);
  else setTimeout(runSlice, 0);
}

/**
 * Returns at once while the current slice of 3 ms lasts. Otherwise waits for
 * the next slice, which starts at once if all other ready tasks have continued
 * since the last one did. Call it between long steps or once per
 * {@linkcode STEPS_PER_YIELD} cheap steps.
 * @throws the signal's reason if it is aborted.
 */
export async function yieldToEventLoop(signal?: AbortSignal): Promise<void> {
  if (isSliceOver()) await turnIn(paused);
  signal?.throwIfAborted();
}

/**
 * Shortens the current slice by what Deno itself has to do once it is over,
 * such as to write to a socket.
 */
export function shortenSlice(ms: number): void {
  sliceStartedAtMs -= ms;
}

/**
 * Lets other ready tasks continue first, unless the current slice lasts. Call
 * it before work begins. It does not wait for all work that has yielded.
 */
export function turnToStart(): Promise<void> {
  return turnIn(starting);
}

function turnIn(queue: (() => void)[]): Promise<void> {
  return new Promise((resolve) => {
    queue.push(resolve);
    requireSlice();
  });
}
