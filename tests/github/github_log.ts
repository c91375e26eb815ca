// Counts what comes in. A request that the double does not expect is written down apart and makes
// the test fail, so that nobody builds on an endpoint or a header that GitHub does not have.

/** What a request asks for. An answered redirect counts as `redirect`, whatever was asked. */
export type RequestKind =
  | "repo"
  | "commit"
  | "branch"
  | "tree"
  | "tree-recursive"
  | "blob"
  | "graphql"
  | "raw"
  | "redirect"
  | "unexpected";

/** One request and its answer. */
export interface LoggedRequest {
  kind: RequestKind;
  method: string;
  /** Path and query as they were sent. */
  path: string;
  /** 0 until it is answered. */
  status: number;
  /** Index of the token, null without a valid one. */
  token: number | null;
  /** Whether it had `If-None-Match`. */
  conditional: boolean;
  /** Bytes of the answer's body. */
  bytes: number;
  /** Whether the client went away while the answer hung. */
  aborted: boolean;
  /** When it came, by the double's clock. */
  atMs: number;
  userAgent: string | null;
}

/** The requests so far. */
export class GithubLog {
  /** In the order in which they came. */
  requests: LoggedRequest[] = [];
  /** What the double did not expect, a line each. */
  unexpected: string[] = [];
  /** Requests under way. */
  inFlight = 0;
  /** The most requests that were ever under way at once. */
  maxConcurrent = 0;
  #watchers = new Set<() => void>();

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

  /** Waits until a condition holds; it is looked at when a request comes, hangs or ends. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#watchers.add(resolve);
      await promise;
    }
  }

  /** Lets {@linkcode until} look at its conditions again. */
  notify(): void {
    for (const watcher of this.#watchers) watcher();
    this.#watchers.clear();
  }

  /** Requests by kind; kinds that did not occur are absent. */
  counts(): Partial<Record<RequestKind, number>> {
    const counts: Partial<Record<RequestKind, number>> = {};
    for (const { kind } of this.requests) counts[kind] = (counts[kind] ?? 0) + 1;
    return counts;
  }

  /** Forgets the requests, not the unexpected ones. */
  reset(): void {
    this.requests = [];
    this.maxConcurrent = this.inFlight;
  }

  /** @throws {Error} naming every unexpected request. */
  assertNoUnexpected(): void {
    if (this.unexpected.length === 0) return;
    throw new Error(`Cannot accept requests to the double:\n${this.unexpected.join("\n")}`);
  }
}
