// Long work in slices: between two of them whoever else waits for this thread gets a turn.

const SLICE_MS = 8;
/** So many steps are cheaper than one look at the clock is worth. */
const STEPS_PER_LOOK = 256;

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
  private beganAtMs = performance.now();

  /** Whether the slice has had its 8 ms; `costly` steps look at the clock each time. */
  isOver(options: { costly: boolean } = { costly: false }): boolean {
    if (!options.costly && ++this.steps % STEPS_PER_LOOK !== 0) return false;
    return performance.now() - this.beganAtMs >= SLICE_MS;
  }

  /** Lets everything else that is ready run, then begins the next slice. */
  async giveWay(): Promise<void> {
    await new Promise<void>((resolve) => setTimeout(resolve, 0));
    this.beganAtMs = performance.now();
  }
}
