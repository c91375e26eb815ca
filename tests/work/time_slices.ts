// Slices of time without waiting for them: a test says how time passes, and
// counts the turns of other tasks.

let latestMs = 0;

/**
 * Replaces `performance.now()`, which each look advances by `perLookMs`. It
 * never goes back, not even between tests.
 */
export function useTicks({ perLookMs = 0 } = {}) {
  const real = performance.now;
  latestMs = Math.max(latestMs, performance.now()) + 60_000;
  performance.now = () => latestMs += perLookMs;
  return {
    pass: (ms: number) => void (latestMs += ms),
    [Symbol.dispose]: () => void (performance.now = real),
  };
}

/** Calls `turn` whenever other tasks of this thread continue. */
export function onTurns(turn: () => void): Disposable {
  let timer = setTimeout(function next() {
    turn();
    timer = setTimeout(next, 0);
  }, 0);
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}
