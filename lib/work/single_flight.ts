// Runs one flight per key. Concurrent requests for the same thing share one
// piece of work. A flight is forgotten before its result or error is delivered.

import { orAborted } from "./clock.ts";
import { codeOf } from "../errors.ts";

interface Flight<T> {
  result: Promise<T>;
  controller: AbortController;
  waiting: number;
}

/** Shares work between concurrent callers. */
export class SingleFlight<T> {
  private readonly flights = new Map<string, Flight<T>>();

  /** Returns whether a flight under `key` can be joined now. */
  has(key: string): boolean {
    return this.flights.has(key);
  }

  /** Resolves when all current flights have ended. Never rejects. */
  async settled(): Promise<void> {
    await Promise.allSettled(
      [...this.flights.values()].map((flight) => flight.result),
    );
  }

  /**
   * Returns the result of the flight under `key`. If there is no flight, `work`
   * starts. It must not run the same key itself. Its signal aborts when no
   * caller waits for it any more. `signal` ends this caller's wait.
   * @throws what the work throws.
   * @throws the signal's reason at once if it aborts first.
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
        // The client that started the flight has used up its limit of cache
        // misses. That says nothing about this client.
        const isOthers = codeOf(error) === "too-many-requests";
        if (joined === undefined || !isOthers) throw error;
      } finally {
        flight.waiting--;
        if (flight.waiting === 0 && this.forget(key, flight)) {
          flight.controller.abort(signal?.reason);
        }
      }
    }
  }

  private start(
    key: string,
    work: (signal: AbortSignal) => Promise<T>,
  ): Flight<T> {
    const controller = new AbortController();
    // The work starts one turn later so that the flight can be joined.
    const result = Promise.resolve().then(() => work(controller.signal))
      .finally(() => this.forget(key, flight));
    const flight: Flight<T> = { result, controller, waiting: 0 };
    this.flights.set(key, flight);
    return flight;
  }

  /** Returns whether the flight was still running. */
  private forget(key: string, flight: Flight<T>): boolean {
    return this.flights.get(key) === flight && this.flights.delete(key);
  }
}
