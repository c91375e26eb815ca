// Work that takes longer than a request should wait: assembled listings, sorted and filtered lists, rendered pages. Requests
// for the same key share one job. What a job uses (requests to the source, time on the content thread) is shared fairly
// among clients where it is used, so that all jobs run at once. Their number is bounded.

import { LRUCache } from "lru-cache";
import { type Clock, orAborted } from "../clock.ts";
import { CollectionsError, RETRY_AFTER_SECONDS, serviceBusy } from "../errors.ts";

/** Jobs of all clients. One that has none may start one more, up to twice as many in all. */
const MAX_JOBS = 64;
const MAX_JOBS_PER_CLIENT = 4;
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
  /** A job that sends no source requests stops once no request waits for it; another continues, since its reads are cached. */
  readonly usesSource: boolean;
  readonly work: (signal: AbortSignal) => Promise<T>;
  /** Ends this request's wait. */
  readonly signal?: AbortSignal | undefined;
  /** How long this request waits at most, in ms. */
  readonly waitMs: number;
  /** Called before a new job starts, not when one is joined: charges the request. What it throws reaches this request only. */
  readonly onStart: () => void;
}

interface Job extends Pick<JobOptions<unknown>, "key" | "client" | "usesSource"> {
  readonly result: Promise<unknown>;
  readonly controller: AbortController;
  /** Requests that wait, or that ended with "running" a short time ago. */
  waiters: number;
}

/** An error that is not tried again until a time, in monotonic ms. */
type Remembered = { readonly error: CollectionsError; readonly untilMs: number };

/** Runs background jobs. */
export class BackgroundJobs {
  private readonly jobs = new Set<Job>();
  private readonly errors = new LRUCache<string, Remembered>({ max: MAX_REMEMBERED });
  private isClosed = false;

  constructor(private readonly options: { readonly clock: Clock }) {}

  /** How many jobs run. */
  get count(): number {
    return this.jobs.size;
  }

  /**
   * The job's result, or "running" when it takes longer than `waitMs`.
   * @throws {CollectionsError} service-busy when this client or all have too many jobs; what the work throws. A collection
   * that is too large and a query that is too expensive are remembered. @throws the signal's reason when it aborts.
   */
  async run<T>(options: JobOptions<T>): Promise<T | "running"> {
    const { key, signal, waitMs } = options;
    const { clock } = this.options;
    signal?.throwIfAborted();
    const remembered = this.errors.get(key);
    if (remembered !== undefined && clock.monotonicMs() < remembered.untilMs) {
      throw remembered.error;
    }
    const isSame = (job: Job) => job.key === key && !job.controller.signal.aborted;
    const job = this.jobs.values().find(isSame) ?? this.start(options);
    job.waiters++;
    const late = Promise.withResolvers<"running">();
    const cancelTimer = clock.setTimer(waitMs, () => late.resolve("running"));
    try {
      const result = await orAborted(Promise.race([job.result, late.promise]), signal);
      if (result === "running") this.expectReturn(job);
      return result as T | "running";
    } finally {
      cancelTimer();
      this.leave(job);
    }
  }

  /** Aborts all jobs. */
  close(): void {
    this.isClosed = true;
    for (const job of this.jobs) cancel(job, "the service stops");
  }

  private start({ key, client, usesSource, work, onStart }: JobOptions<unknown>): Job {
    const ofClient = this.jobs.values().filter((job) => job.client === client).toArray().length;
    const isFull = this.jobs.size >= (ofClient === 0 ? 2 : 1) * MAX_JOBS;
    if (this.isClosed || isFull || ofClient >= MAX_JOBS_PER_CLIENT) throw serviceBusy();
    onStart();
    const controller = new AbortController();
    const { signal } = controller;
    const result = orAborted(Promise.try(() => work(signal)), signal)
      .catch((error) => {
        const forMs = error instanceof CollectionsError ? REMEMBERED_MS.get(error.code) : undefined;
        if (forMs !== undefined) {
          this.errors.set(key, { error, untilMs: this.options.clock.monotonicMs() + forMs });
        }
        throw error;
      })
      .finally(() => this.jobs.delete(job));
    result.catch(() => {}); // No request may be waiting any more.
    const job: Job = { key, client, usesSource, result, controller, waiters: 0 };
    this.jobs.add(job);
    return job;
  }

  private expectReturn(job: Job): void {
    job.waiters++;
    const { clock } = this.options;
    const cancelTimer = clock.setTimer(RETURN_WITHIN_MS, () => this.leave(job));
    job.result.then(cancelTimer, cancelTimer);
  }

  private leave(job: Job): void {
    job.waiters--;
    if (job.waiters === 0 && !job.usesSource) cancel(job, "no request waits for it");
  }
}

function cancel({ controller }: Job, state: string): void {
  controller.abort(new Error(`Cannot finish a background job: ${state}`));
}
