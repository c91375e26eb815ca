// One kind of background job, for everything that takes longer than a request should wait: assembled listings, sorted
// and filtered lists, front matter of a folder. One queue, one bound, one job per key.

/** One piece of work. */
export interface JobOptions<T> {
  /** Requests with the same key share one job. */
  readonly key: string;
  /** Who starts it; slots are given to clients and repositories in turn, and one client never fills the queue. */
  readonly client: string;
  readonly repository: string;
  /** A job that needs no source requests stops once nobody waits for it; one that does goes on, since its reads are cached. */
  readonly usesSource: boolean;
  /** Ends this caller's wait. */
  readonly signal?: AbortSignal | undefined;
  /** How long this caller waits at most, in ms. */
  readonly waitMs: number;
  /** Called before a new job is queued, not when one is joined: charges the caller. What it throws, only this caller gets. */
  readonly onStart: () => void;
  readonly work: (signal: AbortSignal) => Promise<T>;
}

export interface BackgroundJobs {
  /**
   * The job's result, or "running" when it takes longer than `waitMs`.
   * @throws {CollectionsError} service-busy when the queue is full for this client or for all; what the work throws. A
   * collection-too-large error is remembered under its key.
   */
  run<T>(options: JobOptions<T>): Promise<T | "running">;
  /** Aborts all jobs. */
  close(): void;
}
