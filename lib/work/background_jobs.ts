// Work that takes longer than a request should wait: assembled listings, sorted and filtered lists, rendered pages. Requests
// for the same key share one job. What a job uses (requests to the source, time on the content thread) is shared fairly
// among clients where it is used, so that all jobs run at once. Their number is bounded.

import { LRUCache } from "lru-cache";
import { type Clock, orAborted } from "./clock.ts";
import { CollectionsError, RETRY_AFTER_SECONDS } from "../errors.ts";
import { SingleFlight } from "./single_flight.ts";
import { FairQueue } from "./fair_queue.ts";

/** None waits to start: that would be as long as a job. */
const SLOTS = { capacity: 128, maxPerClient: 4, maxWaiting: 0, maxWaitMs: 0 };
/** A request that ended with "running" still counts as waiting for this long, since its client retries. */
const RETURN_WITHIN_MS = 3 * RETRY_AFTER_SECONDS * 1000;
const MAX_REMEMBERED = 1_000;
/** A query may be too expensive on a busy machine only. */
const REMEMBERED_MS: ReadonlyMap<string, number> = new Map([
  ["collection-too-large", 24 * 3_600_000],
  ["query-too-expensive", 5 * 60_000],
]);

/** One piece of work. */
export interface JobOptions<T> {
  /** Requests with the same key share one job. */
  readonly key: string;
  /** The client that starts it. */
  readonly client: string;
  /** Its signal aborts once no request waits for the job. */
  readonly work: (signal: AbortSignal) => Promise<T>;
  /** Ends this request's wait. */
  readonly signal?: AbortSignal | undefined;
  /** How long this request waits at most, in ms. */
  readonly waitMs: number;
  /** Called before a new job starts, not when one is joined: charges the request. */
  readonly onStart: () => void;
}

/** An error that is not tried again until a time, in monotonic ms. */
type Remembered = { readonly error: unknown; readonly untilMs: number };

/** Runs background jobs. */
export class BackgroundJobs {
  private readonly flights = new SingleFlight<unknown>();
  private readonly errors = new LRUCache<string, Remembered>({ max: MAX_REMEMBERED });
  private readonly slots: FairQueue;
  private readonly closing = new AbortController();

  constructor(private readonly clock: Clock) {
    this.slots = new FairQueue({ ...SLOTS, clock });
  }

  /**
   * The job's result, or "running" when it takes longer than `waitMs`.
   * @throws what the work throws, and {@linkcode FairQueue.acquire} when this client or all have too many jobs. A collection
   * that is too large and a query that is too expensive are remembered. @throws the signal's reason when it aborts.
   */
  async run<T>({ key, client, work, signal, waitMs, onStart }: JobOptions<T>) {
    signal?.throwIfAborted();
    const { clock } = this;
    const remembered = this.errors.get(key);
    if (remembered !== undefined && clock.monotonicMs() < remembered.untilMs) {
      throw remembered.error;
    }
    const leaving = new AbortController();
    const result = this.flights.run(key, async (unwanted) => {
      const signal = AbortSignal.any([unwanted, this.closing.signal]);
      using _slot = await this.slots.acquire({ client, signal });
      onStart();
      try {
        return await orAborted(work(signal), signal);
      } catch (error) {
        const forMs = error instanceof CollectionsError ? REMEMBERED_MS.get(error.code) : undefined;
        if (forMs !== undefined) {
          this.errors.set(key, { error, untilMs: clock.monotonicMs() + forMs });
        }
        throw error;
      }
    }, leaving.signal);
    const late = Promise.withResolvers<"running">();
    let cancelTimer = clock.setTimer(waitMs, () => {
      late.resolve("running");
      cancelTimer = clock.setTimer(RETURN_WITHIN_MS, () => leaving.abort());
    });
    // Also where this request does not wait any more.
    result.finally(() => cancelTimer()).catch(() => {});
    try {
      return await orAborted(Promise.race([result as Promise<T>, late.promise]), signal);
    } catch (error) {
      leaving.abort(error);
      throw error;
    }
  }

  /** Aborts all jobs. */
  close(): void {
    this.closing.abort(new Error("Cannot finish a background job: the service stops"));
  }
}
