// One flight per key: who asks while the answer is on its way shares it. Nothing is kept: a flight that has ended,
// well or not, is forgotten before anyone hears of it, and one that all have left is aborted.

/** What a flight does; `signal` aborts once nobody waits for it any more. */
export type Work<T> = (signal: AbortSignal) => Promise<T>;

/** Options of {@linkcode SingleFlight.run}. */
export interface RunOptions {
  /** Ends this caller's waiting, and the flight when nobody else waits for it. */
  readonly signal?: AbortSignal | undefined;
}

interface Flight<T> {
  readonly result: Promise<T>;
  readonly controller: AbortController;
  waiting: number;
  ended: boolean;
}

/** Shares work between those who ask for the same at the same time. */
export class SingleFlight<T> {
  private readonly flights = new Map<string, Flight<T>>();

  /** How many flights can be joined now. */
  get size(): number {
    return this.flights.size;
  }

  /** Whether a flight under `key` can be joined now. */
  has(key: string): boolean {
    return this.flights.has(key);
  }

  /**
   * The result of the flight under `key`; `work` is started where there is none, and must not run the same key itself.
   * @throws What the work throws; the signal's reason, at once, where the signal aborts first.
   */
  async run(key: string, work: Work<T>, { signal }: RunOptions = {}): Promise<T> {
    signal?.throwIfAborted();
    const flight = this.flights.get(key) ?? this.start(key, work);
    flight.waiting++;
    const aborted = Promise.withResolvers<never>();
    const abort = () => aborted.reject(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    try {
      return await Promise.race([flight.result, aborted.promise]);
    } finally {
      signal?.removeEventListener("abort", abort);
      flight.waiting--;
      if (flight.waiting === 0 && !flight.ended) {
        this.forget(key, flight);
        flight.controller.abort(signal?.reason);
      }
    }
  }

  private start(key: string, work: Work<T>): Flight<T> {
    const controller = new AbortController();
    // The work begins a turn later, when the flight is in its place.
    const result = Promise.resolve().then(() => work(controller.signal)).finally(() => {
      flight.ended = true;
      this.forget(key, flight);
    });
    const flight: Flight<T> = { result, controller, waiting: 0, ended: false };
    this.flights.set(key, flight);
    return flight;
  }

  private forget(key: string, flight: Flight<T>): void {
    if (this.flights.get(key) === flight) this.flights.delete(key);
  }
}
