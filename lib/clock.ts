// Time as an injected part, so that a test can advance it instead of waiting.

/** Reads the time and schedules work. */
export interface Clock {
  /** Wall-clock time in milliseconds since the epoch. It can jump in either direction. */
  now(): number;
  /** Milliseconds since an arbitrary start. It never goes back; limits, back-off and durations use it. */
  monotonicMs(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when that aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `callback` after `ms` milliseconds, unless the returned function cancels it first. */
  setTimer(ms: number, callback: () => void): () => void;
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep(ms, signal) {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
    return promise;
  },
  setTimer(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};
