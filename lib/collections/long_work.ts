// Work that may take longer than a caller waits: he is told so, and it goes on without him. Work that all callers have
// left before that is ended.

import { SingleFlight } from "../single_flight.ts";
import { CollectionsError } from "../errors.ts";

/** What the work does; `signal` aborts once nobody wants it any more. */
type Work<T> = (signal: AbortSignal) => Promise<T>;

/** Shares long work by key between those who ask for the same. */
export class LongWork<T> {
  private readonly flights = new SingleFlight<T>();
  private readonly closing = new AbortController();

  /**
   * The result of the work under `key`, which is begun where there is none; null where it takes longer than `waitMs`.
   * @throws What the work throws; the signal's reason where that aborts first.
   */
  async run(
    key: string,
    work: Work<T>,
    { signal, waitMs }: { signal: AbortSignal | undefined; waitMs: number },
  ): Promise<T | null> {
    const late = Promise.withResolvers<null>();
    const timer = setTimeout(() => late.resolve(null), waitMs);
    const leaving = new AbortController();
    const own = AbortSignal.any(signal === undefined ? [leaving.signal] : [leaving.signal, signal]);
    let result: T | null;
    try {
      result = await Promise.race([this.join(key, work, own), late.promise]);
    } finally {
      clearTimeout(timer);
    }
    if (result === null) {
      // Someone who waits in the caller's place, until the work ends or all is closed.
      this.flights.run(key, work, { signal: this.closing.signal }).catch(() => {});
      leaving.abort();
    }
    return result;
  }

  /** Ends what goes on without a caller. */
  close(): void {
    this.closing.abort();
  }

  /** Joins the flight or begins it. That another caller may cause no more is no reason to refuse this one. */
  private async join(key: string, work: Work<T>, signal: AbortSignal): Promise<T> {
    const joined = this.flights.has(key);
    try {
      return await this.flights.run(key, work, { signal });
    } catch (error) {
      const refused = error instanceof CollectionsError && error.code === "too-many-requests";
      if (!joined || !refused) throw error;
      return await this.flights.run(key, work, { signal });
    }
  }
}
