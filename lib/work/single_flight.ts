// One flight per key: concurrent requests for the same thing share one piece of work. A flight that has ended,
// successfully or not, is forgotten before its result is delivered.

import { orAborted } from "./clock.ts";
import { CollectionsError } from "../errors.ts";

interface Flight<T> {
  readonly result: Promise<T>;
  readonly controller: AbortController;
  waiting: number;
}

/** Shares work between concurrent callers. */
export class SingleFlight<T> {
  private readonly flights = new Map<string, Flight<T>>();

  /** Whether a flight under `key` can be joined now. */
  has(key: string): boolean {
    return this.flights.has(key);
  }

  /** Resolves when the flights of this moment have ended. Never rejects. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.flights.values()].map((flight) => flight.result));
  }

  /**
   * The result of the flight under `key`. Where there is none `work` starts, and must not run the same key itself; its
   * signal aborts once no caller waits for it any more. `signal` ends this caller's wait.
   * @throws What the work throws; the signal's reason, at once, where the signal aborts first.
   */
  async run(
    key: string,
    work: (signal: AbortSignal) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    for (;;) {
      signal?.throwIfAborted();
      const joined = this.flights.get(key);
      const flight = joined ?? this.start(key, work);
      flight.waiting++;
      try {
        return await orAborted(flight.result, signal);
      } catch (error) {
        // The client that started the flight has no misses left, which says nothing about this one.
        const isOthers = error instanceof CollectionsError && error.code === "too-many-requests";
        if (joined === undefined || !isOthers) throw error;
      } finally {
        flight.waiting--;
        if (flight.waiting === 0 && this.forget(key, flight)) {
          flight.controller.abort(signal?.reason);
        }
      }
    }
  }

  private start(key: string, work: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const controller = new AbortController();
    // The work begins a turn later, when the flight can be joined.
    const result = Promise.resolve().then(() => work(controller.signal))
      .finally(() => this.forget(key, flight));
    const flight: Flight<T> = { result, controller, waiting: 0 };
    this.flights.set(key, flight);
    return flight;
  }

  /** Whether the flight had not ended. */
  private forget(key: string, flight: Flight<T>): boolean {
    return this.flights.get(key) === flight && this.flights.delete(key);
  }
}
