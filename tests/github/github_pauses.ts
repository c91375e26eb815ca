// Waiting that always ends: when its time is over, when the client goes away, or when the double
// lets everything go on. So nothing leaks out of a test.

/** The waits under way. */
export class GithubPauses {
  #releases = new Set<() => void>();
  #hanging = new Set<() => void>();
  #onWait: () => void;
  /** Told whenever something begins to hang. */
  onHang: () => void = () => {};

  constructor(onWait: () => void) {
    this.#onWait = onWait;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#releases.size;
  }

  /** How many hang, those aside that were given up. */
  get hanging(): number {
    return this.#hanging.size;
  }

  /** Counts those that hang as given up by who asked, of which the double may hear late. */
  giveUp(): void {
    this.#hanging.clear();
  }

  /** Waits for so many real milliseconds. */
  async sleep(durationMs: number): Promise<void> {
    if (durationMs <= 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, durationMs);
    await this.#until(promise, resolve);
    clearTimeout(timer);
  }

  /** Waits until `signal`, which says that the client went away; gives whether it did. */
  async hang(signal: AbortSignal): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => resolve(), { once: true });
    if (signal.aborted) return true;
    this.#hanging.add(resolve);
    this.onHang();
    await this.#until(promise, resolve);
    this.#hanging.delete(resolve);
    return signal.aborted;
  }

  /** Ends every wait. */
  release(): void {
    for (const release of this.#releases) release();
  }

  async #until(promise: Promise<void>, release: () => void): Promise<void> {
    this.#releases.add(release);
    this.#onWait();
    await promise;
    this.#releases.delete(release);
  }
}
