// One kind of background job for work that takes longer than a request should wait: assembled listings, sorted and
// filtered lists, front matter of a folder. One queue, one bound, one job per key. A job never waits for another job,
// and an error that concerns only the request that started a job does not reach the requests that joined it.

import { LRUCache } from "lru-cache";
import { type Clock, systemClock } from "./clock.ts";
import { CollectionsError, serviceBusy } from "./errors.ts";

const MAX_RUNNING = 4;
/** Of the running jobs, those of one client, and those of one repository. */
const MAX_RUNNING_PER_CLIENT = 2;
const MAX_QUEUED = 64;
const MAX_QUEUED_PER_CLIENT = 8;
const RETRY_AFTER_SECONDS = 5;
/** A request that ended with "running" still counts as waiting for this long, since its client retries. */
const RETURN_WITHIN_MS = 3 * RETRY_AFTER_SECONDS * 1000;
const MAX_REMEMBERED = 1_000;

/** One piece of work. */
export interface JobOptions<T> {
  /** Requests with the same key share one job. */
  readonly key: string;
  /** The client that starts it; clients and repositories get slots in turn, and one client never fills the queue. */
  readonly client: string;
  readonly repository: string;
  /** A job that sends no source requests stops once no request waits for it; another continues, since its reads are cached. */
  readonly usesSource: boolean;
  /** Ends this request's wait. */
  readonly signal?: AbortSignal | undefined;
  /** How long this request waits at most, in ms. */
  readonly waitMs: number;
  /** Called before a new job is queued, not when one is joined: charges the request. What it throws reaches this request only. */
  readonly onStart: () => void;
  readonly work: (signal: AbortSignal) => Promise<T>;
}

interface Job extends Pick<JobOptions<unknown>, "key" | "client" | "repository" | "usesSource"> {
  readonly controller: AbortController;
  readonly result: Promise<unknown>;
  readonly start: () => Promise<void>;
  readonly reject: (reason: unknown) => void;
  /** Requests that wait, or that ended with "running" a short time ago. */
  waiters: number;
}

/** Runs background jobs. */
export class BackgroundJobs {
  private readonly clock: Clock;
  /** Jobs that can be joined. */
  private readonly jobs = new Map<string, Job>();
  private readonly queued: Job[] = [];
  private readonly running = new Set<Job>();
  /** When each client and repository last got a slot, counted in slots. */
  private readonly lastTurns = new LRUCache<string, number>({ max: MAX_REMEMBERED });
  private turn = 0;
  private closed = false;
  private readonly tooLarge = new LRUCache<string, CollectionsError>({ max: MAX_REMEMBERED });

  constructor({ clock = systemClock }: { readonly clock?: Clock } = {}) {
    this.clock = clock;
  }

  /** How many jobs run, and how many wait for a slot. */
  get counts(): { readonly running: number; readonly queued: number } {
    return { running: this.running.size, queued: this.queued.length };
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
    const job = this.jobs.get(key) ?? this.queue(options);
    job.waiters++;
    const { promise: end, resolve, reject } = Promise.withResolvers<"running">();
    const abort = () => reject(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    const cancelTimer = this.clock.setTimer(waitMs, () => resolve("running"));
    let isRunning = false;
    try {
      const result = await Promise.race([job.result as Promise<T>, end]);
      isRunning = result === "running";
      return result;
    } finally {
      cancelTimer();
      signal?.removeEventListener("abort", abort);
      if (isRunning) this.leaveLater(job);
      else this.leave(job);
    }
  }

  /** Aborts all jobs. */
  close(): void {
    this.closed = true;
    for (const job of [...this.queued, ...this.running]) this.cancel(job, "the service stops");
  }

  private queue<T>(options: JobOptions<T>): Job {
    const { key, client, repository, usesSource, work } = options;
    const ofClient = this.queued.filter((job) => job.client === client).length;
    const isFull = this.queued.length >= MAX_QUEUED || ofClient >= MAX_QUEUED_PER_CLIENT;
    if (this.closed || isFull) throw serviceBusy(RETRY_AFTER_SECONDS);
    options.onStart();
    const controller = new AbortController();
    const { promise: result, resolve, reject } = Promise.withResolvers<T>();
    result.catch(() => {}); // No request may be waiting any more.
    const start = async () => {
      try {
        resolve(await work(controller.signal));
      } catch (error) {
        const isKnown = error instanceof CollectionsError && error.code === "collection-too-large";
        if (isKnown) this.tooLarge.set(key, error);
        reject(error);
      }
    };
    const shared = { key, client, repository, usesSource };
    const job: Job = { ...shared, controller, result, start, reject, waiters: 0 };
    this.jobs.set(key, job);
    this.queued.push(job);
    this.startNext();
    return job;
  }

  private startNext(): void {
    while (this.running.size < MAX_RUNNING) {
      const job = this.nextJob();
      if (job === undefined) return;
      this.queued.splice(this.queued.indexOf(job), 1);
      this.turn++;
      this.lastTurns.set(`client ${job.client}`, this.turn);
      this.lastTurns.set(`repository ${job.repository}`, this.turn);
      this.running.add(job);
      // An aborted job occupies its slot until its work has ended.
      job.start().then(() => {
        this.running.delete(job);
        this.forget(job);
        this.startNext();
      });
    }
  }

  /** The first queued job of the client, then of the repository, that has waited longest for a slot. */
  private nextJob(): Job | undefined {
    const running = [...this.running];
    const hasSlot = (job: Job) =>
      (["client", "repository"] as const).every((name) =>
        running.filter((other) => other[name] === job[name]).length < MAX_RUNNING_PER_CLIENT
      );
    const turnOf = (name: string) => this.lastTurns.get(name) ?? 0;
    const [next] = this.queued.filter(hasSlot).toSorted((a, b) =>
      turnOf(`client ${a.client}`) - turnOf(`client ${b.client}`) ||
      turnOf(`repository ${a.repository}`) - turnOf(`repository ${b.repository}`)
    );
    return next;
  }

  private leave(job: Job): void {
    job.waiters--;
    const mayStop = !job.usesSource || this.queued.includes(job);
    if (job.waiters === 0 && mayStop) this.cancel(job, "no request waits for it");
  }

  private leaveLater(job: Job): void {
    const cancelTimer = this.clock.setTimer(RETURN_WITHIN_MS, () => this.leave(job));
    job.result.then(cancelTimer, cancelTimer);
  }

  private cancel(job: Job, state: string): void {
    const reason = new Error(`Cannot finish a background job: ${state}`);
    this.forget(job);
    const at = this.queued.indexOf(job);
    if (at >= 0) this.queued.splice(at, 1);
    job.controller.abort(reason);
    job.reject(reason);
  }

  private forget(job: Job): void {
    if (this.jobs.get(job.key) === job) this.jobs.delete(job.key);
  }
}
