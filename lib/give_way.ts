// Long work in slices: between two of them whoever else waits for this thread gets a turn. One slice at a time, however
// many works there are: if all went on together, whoever waits would wait for a slice of each.

const SLICE_MS = 8;
/** So many steps are cheaper than one look at the clock is worth. */
const STEPS_PER_LOOK = 256;

/** Those who gave way, in the order in which they go on. */
const waiting: (() => void)[] = [];
/**
 * When a slice last began, by `performance.now()`; work that begins long after that gives way first, since others may
 * begin with it.
 */
let sliceStartMs = -Infinity;

function beginSlice(): void {
  sliceStartMs = performance.now();
  waiting.shift()?.();
  if (waiting.length > 0) setTimeout(beginSlice, 0);
}

/**
 * Counts the steps of one piece of work.
 *
 * @example
 * ```ts
 * const slices = new Slices();
 * for (const entry of entries) {
 *   if (slices.isOver()) await slices.giveWay();
 *   use(entry);
 * }
 * ```
 */
export class Slices {
  private steps = 0;

  /** Whether the slice has had its 8 ms; `costly` steps look at the clock each time. */
  isOver(options: { costly: boolean } = { costly: false }): boolean {
    if (!options.costly && ++this.steps % STEPS_PER_LOOK !== 0) return false;
    return performance.now() - sliceStartMs >= SLICE_MS;
  }

  /** Lets everything else that is ready run, then begins the next slice. */
  giveWay(): Promise<void> {
    return new Promise((resolve) => {
      waiting.push(resolve);
      if (waiting.length === 1) setTimeout(beginSlice, 0);
    });
  }
}
