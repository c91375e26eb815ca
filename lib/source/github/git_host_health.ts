// Decides from earlier results whether `ls-refs` may be used: a host that fails for several owners is paused for an
// hour, a single repository for ten minutes, so that no request waits for a host that is known to fail. Memory is
// bounded, however many repositories are requested.

import { LRUCache } from "lru-cache";
import type { LsRefsResult } from "./ls_refs.ts";

const HOST_PAUSE_MS = 3_600_000;
const REPOSITORY_PAUSE_MS = 600_000;
const HOST_FAILURES = 5;
const HOST_OWNERS = 3;
const MAX_REPOSITORIES = 10_000;

/** A repository; owner and repo compare without case. */
interface Repository {
  readonly owner: string;
  readonly repo: string;
}

/** What {@linkcode GitHostHealth.record} paused, for the log; null for nothing. */
export type GitPause = { readonly what: "host" | "repository"; readonly untilMs: number } | null;

/** The state of one Git host. */
export class GitHostHealth {
  private readonly pausedRepositories = new LRUCache<string, number>({ max: MAX_REPOSITORIES });
  private hostPausedUntilMs = 0;
  private failuresInARow = 0;
  /** At most {@linkcode HOST_OWNERS}: more change nothing. */
  private readonly failedOwners = new Set<string>();

  /** @param now Ms since the epoch. */
  constructor(private readonly now: () => number) {}

  /** Whether the host may be queried for this repository; otherwise the REST API is. */
  allows(repository: Repository): boolean {
    const untilMs = this.pausedRepositories.get(keyOf(repository)) ?? 0;
    return this.now() >= Math.max(untilMs, this.hostPausedUntilMs);
  }

  /** Takes the result of a query under the requested name. A 401 is an answer like any other. */
  record(repository: Repository, result: LsRefsResult): GitPause {
    if (result.kind === "rate-limited") return this.pauseHost(result.retryAfterMs);
    if (result.kind !== "unusable") {
      this.startRow();
      return null;
    }
    this.failuresInARow++;
    if (this.failedOwners.size < HOST_OWNERS) this.failedOwners.add(repository.owner.toLowerCase());
    if (this.failuresInARow >= HOST_FAILURES && this.failedOwners.size >= HOST_OWNERS) {
      return this.pauseHost(HOST_PAUSE_MS);
    }
    const untilMs = this.now() + REPOSITORY_PAUSE_MS;
    this.pausedRepositories.set(keyOf(repository), untilMs);
    return { what: "repository", untilMs };
  }

  private pauseHost(ms: number): GitPause {
    this.startRow();
    this.hostPausedUntilMs = Math.max(this.hostPausedUntilMs, this.now() + ms);
    return { what: "host", untilMs: this.hostPausedUntilMs };
  }

  private startRow(): void {
    this.failuresInARow = 0;
    this.failedOwners.clear();
  }
}

function keyOf({ owner, repo }: Repository): string {
  return `${owner}/${repo}`.toLowerCase();
}
