// `performance.now()` as a test moves it, for work that measures how long it has held the thread.
//
//   using ticks = new Ticks();
//   ticks.pass(8);

let latestMs = 0;

/** Stands in for `performance.now()` until it is disposed of. Never goes back, from one to the next neither. */
export class Ticks implements Disposable {
  readonly #real = performance.now;

  /** With `perLookMs`, each reading of the clock advances it by so much. */
  constructor({ perLookMs = 0 }: { perLookMs?: number } = {}) {
    // Long after whatever was before.
    latestMs = Math.max(latestMs, performance.now()) + 60_000;
    performance.now = () => latestMs += perLookMs;
  }

  /** Lets `ms` milliseconds pass. */
  pass(ms: number): void {
    latestMs += ms;
  }

  [Symbol.dispose](): void {
    performance.now = this.#real;
  }
}

/** Counts how often other tasks of this thread continue, by one that only yields. */
export function countTurns(): { readonly turns: number } & Disposable {
  let turns = 0;
  let timer = setTimeout(function turn() {
    turns++;
    timer = setTimeout(turn, 0);
  }, 0);
  return {
    get turns() {
      return turns;
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}
