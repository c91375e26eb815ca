// One kind of background job for work that takes longer than a request should wait: assembled listings, sorted and
// filtered lists, front matter of a folder. One queue, one bound, one job per key. A job never waits for another job,
// and an error that concerns only the request that started a job does not reach the requests that joined it.

import { LRUCache } from "lru-cache";
import { type Clock, orAborted } from "./clock.ts";
import { CollectionsError, RETRY_AFTER_SECONDS, serviceBusy } from "./errors.ts";

const MAX_RUNNING = 4;
/** Of the running jobs, those of one client, and those of one repository. */
const MAX_RUNNING_PER_HOLDER = 2;
const MAX_QUEUED = 64;
const MAX_QUEUED_PER_CLIENT = 8;
/** A request that ended with "running" still counts as waiting for this long, since its client retries. */
const RETURN_WITHIN_MS = 3 * RETRY_AFTER_SECONDS * 1000;
const MAX_REMEMBERED = 1_000;

/** What a slot counts for: each has its own bound, and its own turn. */
const HOLDERS = ["client", "repository"] as const;

/** One piece of work. */
export interface JobOptions<T> {
  /** Requests with the same key share one job. */
  readonly key: string;
  /** The client that starts it; clients and repositories get slots in turn, and one client never fills the queue. */
  readonly client: string;
  readonly repository: string;
  /** A job that sends no source requests stops once no request waits for it; another continues, since its reads are cached. */
  readonly usesSource: boolean;
  readonly work: (signal: AbortSignal) => Promise<T>;
  /** Ends this request's wait. */
  readonly signal?: AbortSignal | undefined;
  /** How long this request waits at most, in ms. */
  readonly waitMs: number;
  /** Called before a new job is queued, not when one is joined: charges the request. What it throws reaches this request only. */
  readonly onStart: () => void;
}

interface Job
  extends
    Omit<JobOptions<unknown>, "signal" | "waitMs" | "onStart">,
    PromiseWithResolvers<unknown> {
  readonly controller: AbortController;
  /** Requests that wait, or that ended with "running" a short time ago. */
  waiters: number;
}

/** Runs background jobs. */
export class BackgroundJobs {
  private readonly queued = new Set<Job>();
  private readonly running = new Set<Job>();
  /** When each client and repository last got a slot, counted in slots. */
  private readonly lastTurns = new LRUCache<string, number>({ max: MAX_REMEMBERED });
  private turn = 0;
  private closed = false;
  private readonly tooLarge = new LRUCache<string, CollectionsError>({ max: MAX_REMEMBERED });

  constructor(private readonly options: { readonly clock: Clock }) {}

  /** How many jobs run, and how many wait for a slot. */
  get counts(): { readonly running: number; readonly queued: number } {
    return { running: this.running.size, queued: this.queued.size };
  }

  /**
   * The job's result, or "running" when it takes longer than `waitMs`.
   * @throws {CollectionsError} service-busy when the queue is full for this client or for all; what the work throws. A
   * collection-too-large error is remembered under its key. @throws the signal's reason when it aborts.
   */
  async run<T>(options: JobOptions<T>): Promise<T | "running"> {
    const { key, signal, waitMs } = options;
    signal?.throwIfAborted();
    const tooLarge = this.tooLarge.get(key);
    if (tooLarge !== undefined) throw tooLarge;
    const isSame = (job: Job) => job.key === key && !job.controller.signal.aborted;
    const job = this.all().find(isSame) ?? this.queue(options);
    job.waiters++;
    const late = Promise.withResolvers<"running">();
    const cancelTimer = this.options.clock.setTimer(waitMs, () => late.resolve("running"));
    try {
      const result = await orAborted(Promise.race([job.promise, late.promise]), signal);
      if (result === "running") this.expectReturn(job);
      return result as T | "running";
    } finally {
      cancelTimer();
      this.leave(job);
    }
  }

  /** Aborts all jobs. */
  close(): void {
    this.closed = true;
    for (const job of this.all()) this.cancel(job, "the service stops");
  }

  private all(): Job[] {
    return [...this.queued, ...this.running];
  }

  private queue(options: JobOptions<unknown>): Job {
    const { key, client, repository, usesSource, work } = options;
    const ofClient = [...this.queued].filter((job) => job.client === client).length;
    const isFull = this.queued.size >= MAX_QUEUED || ofClient >= MAX_QUEUED_PER_CLIENT;
    if (this.closed || isFull) throw serviceBusy();
    options.onStart();
    const job: Job = {
      ...{ key, client, repository, usesSource, work, waiters: 0 },
      ...{ controller: new AbortController(), ...Promise.withResolvers<unknown>() },
    };
    job.promise.catch(() => {}); // No request may be waiting any more.
    this.queued.add(job);
    this.startNext();
    return job;
  }

  private startNext(): void {
    for (let job = this.nextJob(); job !== undefined; job = this.nextJob()) {
      this.queued.delete(job);
      this.running.add(job);
      this.turn++;
      for (const holder of HOLDERS) this.lastTurns.set(`${holder} ${job[holder]}`, this.turn);
      void this.execute(job);
    }
  }

  /** The first queued job of the client, then of the repository, that has waited longest for a slot. */
  private nextJob(): Job | undefined {
    if (this.running.size >= MAX_RUNNING) return undefined;
    const running = [...this.running];
    const hasSlot = (job: Job) =>
      HOLDERS.every((holder) =>
        running.filter((other) => other[holder] === job[holder]).length < MAX_RUNNING_PER_HOLDER
      );
    const turnOf = (job: Job, holder: typeof HOLDERS[number]) =>
      this.lastTurns.get(`${holder} ${job[holder]}`) ?? 0;
    return [...this.queued].filter(hasSlot).sort((a, b) =>
      turnOf(a, "client") - turnOf(b, "client") || turnOf(a, "repository") - turnOf(b, "repository")
    )[0];
  }

  /** An aborted job occupies its slot until its work has ended. */
  private async execute(job: Job): Promise<void> {
    try {
      job.resolve(await job.work(job.controller.signal));
    } catch (error) {
      const isKnown = error instanceof CollectionsError && error.code === "collection-too-large";
      if (isKnown) this.tooLarge.set(job.key, error);
      job.reject(error);
    }
    this.running.delete(job);
    this.startNext();
  }

  private expectReturn(job: Job): void {
    job.waiters++;
    const cancelTimer = this.options.clock.setTimer(RETURN_WITHIN_MS, () => this.leave(job));
    job.promise.then(cancelTimer, cancelTimer);
  }

  private leave(job: Job): void {
    job.waiters--;
    const mayStop = !job.usesSource || this.queued.has(job);
    if (job.waiters === 0 && mayStop) this.cancel(job, "no request waits for it");
  }

  private cancel(job: Job, state: string): void {
    const reason = new Error(`Cannot finish a background job: ${state}`);
    this.queued.delete(job);
    job.controller.abort(reason);
    job.reject(reason);
  }
}
