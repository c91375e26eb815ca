// Runs work that takes longer than a request should wait: assembled listings,
// sorted and filtered lists, rendered pages. Requests with the same key share
// one job. All jobs run at once because the resources they use are already
// shared fairly among clients: requests to the source and time on the content
// thread. The number of jobs is limited.

import { type Clock, orAborted } from "./clock.ts";
import { codeOf, RETRY_AFTER_SECONDS } from "../errors.ts";
import { SingleFlight } from "./single_flight.ts";
import { FairQueue } from "./fair_queue.ts";
import { RetryTable } from "./retry.ts";

/** A job never waits to start because that wait would be as long as a job. */
const SLOTS = { capacity: 128, maxPerClient: 4, maxWaiting: 0, maxWaitMs: 0 };
/**
 * A request that ended with "running" still counts as waiting for this long
 * because its client retries.
 */
const RETURN_WITHIN_MS = 3 * RETRY_AFTER_SECONDS * 1000;
/** A query may be too expensive only because the machine is busy. */
const REMEMBERED_MS: ReadonlyMap<string, number> = new Map([
  ["collection-too-large", 24 * 3_600_000],
  ["query-too-expensive", 5 * 60_000],
]);

/** Options of {@linkcode BackgroundJobs.run}. */
export interface JobOptions<T> {
  /** Requests with the same key share one job. */
  key: string;
  /** The client that starts the job. */
  client: string;
  /** The signal aborts when no request waits for the job any more. */
  work: (signal: AbortSignal) => Promise<T>;
  /** Ends this request's wait. */
  signal?: AbortSignal | undefined;
  /** The maximum wait of this request in ms. */
  waitMs: number;
  /**
   * Charges the request. Called before a new job starts but not when a running
   * job is joined.
   */
  onStart: () => void;
}

/** Runs background jobs. */
export class BackgroundJobs {
  private readonly flights = new SingleFlight<unknown>();
  private readonly errors: RetryTable<unknown>;
  private readonly slots: FairQueue;
  private readonly closing = new AbortController();

  constructor(private readonly clock: Clock) {
    this.slots = new FairQueue({ ...SLOTS, clock });
    this.errors = new RetryTable(clock);
  }

  /** The number of jobs that run. */
  get running(): number {
    return this.slots.used;
  }

  /**
   * Returns the job's result, or "running" if it takes longer than `waitMs`.
   * The errors for too large collections and too expensive queries are
   * remembered.
   * @throws what the work throws.
   * @throws what {@linkcode FairQueue.acquire} throws if this client or all
   * clients have too many jobs.
   * @throws the signal's reason if it aborts.
   */
  async run<T>({ key, client, work, signal, waitMs, onStart }: JobOptions<T>) {
    signal?.throwIfAborted();
    const { clock } = this;
    const remembered = this.errors.failureOf(key);
    if (remembered !== null) throw remembered;
    const leaving = new AbortController();
    const result = this.flights.run(key, async (unwanted) => {
      const signal = AbortSignal.any([unwanted, this.closing.signal]);
      using _slot = await this.slots.acquire({ client, signal });
      onStart();
      try {
        return await orAborted(work(signal), signal);
      } catch (error) {
        const forMs = REMEMBERED_MS.get(codeOf(error) ?? "");
        if (forMs !== undefined) this.errors.failed(key, error, forMs);
        throw error;
      }
    }, leaving.signal);
    const late = Promise.withResolvers<"running">();
    let cancelTimer = clock.setTimer(waitMs, () => {
      late.resolve("running");
      cancelTimer = clock.setTimer(RETURN_WITHIN_MS, () => leaving.abort());
    });
    // The timer is cancelled even if this request no longer waits.
    result.finally(() => cancelTimer()).catch(() => {});
    try {
      return await orAborted(
        Promise.race([result as Promise<T>, late.promise]),
        signal,
      );
    } catch (error) {
      leaving.abort(error);
      throw error;
    }
  }

  /** Aborts all jobs. */
  close(): void {
    this.closing.abort(
      new Error("Cannot finish a background job: the service stops"),
    );
  }
}
