// What goes on at the double: every request that came in, those that no test
// should cause, and those that wait.

/**
 * What a request is for. An answered redirect counts as `redirect`, whatever
 * was requested.
 */
export type RequestKind =
  | ("repo" | "commit" | "tree" | "tree-recursive" | "blob" | "graphql" | "raw")
  | ("installation" | "app-token" | "lfs-batch" | "lfs")
  | ("redirect" | "unexpected");

/** One request and its answer. */
export interface LoggedRequest {
  kind: RequestKind;
  /** Path and query as they were sent. */
  path: string;
  /** 0 until it is answered. */
  status: number;
  /** Index of the token, null without a valid one. */
  token: number | null;
  /** Whether it had `If-None-Match`. */
  conditional: boolean;
  /** Bytes of the answer's body, before compression. */
  bytes: number;
  userAgent: string | null;
}

/** The requests so far. */
export class GithubLog {
  /** In the order in which they came. */
  requests: LoggedRequest[] = [];
  /** What the double did not expect, a line each. */
  readonly unexpected: string[] = [];
  /** Requests under way, and the most that were at once. */
  inFlight = 0;
  maxConcurrent = 0;
  private changed = Promise.withResolvers<void>();

  /** Writes a request down and gives the function that ends it. */
  begin(request: LoggedRequest): () => void {
    this.requests.push(request);
    this.maxConcurrent = Math.max(this.maxConcurrent, ++this.inFlight);
    this.notify();
    return () => {
      this.inFlight--;
      this.notify();
    };
  }

  /**
   * Waits until a condition is true; it is evaluated when a request comes,
   * hangs or ends.
   */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await this.changed.promise;
  }

  /** Makes {@linkcode until} evaluate its conditions again. */
  notify(): void {
    this.changed.resolve();
    this.changed = Promise.withResolvers();
  }

  /** Requests by kind; kinds that did not occur are absent. */
  counts = (): Partial<Record<RequestKind, number>> => {
    const counts: Partial<Record<RequestKind, number>> = {};
    for (const { kind } of this.requests) {
      counts[kind] = (counts[kind] ?? 0) + 1;
    }
    return counts;
  };

  /** Forgets the requests, not the unexpected ones. */
  reset(): void {
    this.requests = [];
    this.maxConcurrent = this.inFlight;
  }
}

/**
 * Waits that always end: in time, when the client goes away, or when the double
 * releases them.
 */
export class GithubPauses {
  private readonly releases = new Set<() => void>();
  /**
   * What hangs, without those whose client gave up: a test may take them out,
   * since the double may notice that late.
   */
  readonly hangs = new Set<AbortSignal>();
  /** Called whenever something begins to hang. */
  onHang: () => void = () => {};

  constructor(private readonly onWait: () => void) {}

  /** How many wait. */
  get waiting(): number {
    return this.releases.size;
  }

  /** Waits for so many real milliseconds. */
  async sleep(durationMs: number): Promise<void> {
    if (durationMs > 0) await this.until(AbortSignal.timeout(durationMs));
  }

  /** Waits until `signal`, which says that the client went away. */
  async hang(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    this.hangs.add(signal);
    const isOver = this.until(signal);
    this.onHang();
    await isOver;
    this.hangs.delete(signal);
  }

  /** Ends every wait. */
  release(): void {
    for (const release of this.releases) release();
  }

  private async until(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.releases.add(resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
    this.onWait();
    await promise;
    this.releases.delete(resolve);
  }
}
