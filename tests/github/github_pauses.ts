// Waiting that always ends: when its time is over, when the client goes away, or when the double
// lets everything go on. So nothing leaks out of a test.

/** The waits under way. */
export class GithubPauses {
  #releases = new Set<() => void>();

  /** Waits for so many real milliseconds. */
  async sleep(durationMs: number): Promise<void> {
    if (durationMs <= 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, durationMs);
    await this.#until(promise, resolve);
    clearTimeout(timer);
  }

  /** Waits without an end; gives true if it was the client that went away. */
  async hang(request: Request): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<void>();
    request.signal.addEventListener("abort", () => resolve(), { once: true });
    if (!request.signal.aborted) await this.#until(promise, resolve);
    return request.signal.aborted;
  }

  /** Ends every wait. */
  release(): void {
    for (const release of this.#releases) release();
  }

  async #until(promise: Promise<void>, release: () => void): Promise<void> {
    this.#releases.add(release);
    await promise;
    this.#releases.delete(release);
  }
}
