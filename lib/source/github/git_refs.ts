// Refs without a token, by Git's own protocol, which costs no REST quota; and when to leave a host or a repository to
// REST: a host that fails for several owners for an hour, a single repository for ten minutes, so that no request waits
// for a host that is known to fail. Memory is bounded, however many repositories are requested.

import { LRUCache } from "lru-cache";
import {
  branchNotFound,
  type CollectionsError,
  repositoryNotAllowed,
  repositoryNotFound,
} from "../../errors.ts";
import type { Log } from "../../log.ts";
import { isAllowed, repositoryKey, type RepositoryName, type RequestContext } from "../source.ts";
import { type GitHubHost, namedBase } from "./host.ts";
import { lsRefs, type LsRefsResult } from "./ls_refs.ts";
import { type BranchQuery, COMMIT_ID, type FoundRef, isCommit, type RefFinder } from "./refs.ts";

const HOST_PAUSE_MS = 3_600_000;
const REPOSITORY_PAUSE_MS = 600_000;
const HOST_FAILURES = 5;
const HOST_OWNERS = 3;
const MAX_REPOSITORIES = 10_000;

/** Refs of one Git host; `gitUrl` is the base of `{owner}/{repo}.git`. */
export class GitRefs implements RefFinder {
  private readonly health: GitHostHealth;

  constructor(
    private readonly host: GitHubHost,
    private readonly options: { readonly gitUrl: string; readonly log: Log },
  ) {
    this.health = new GitHostHealth(host.clock.monotonicMs);
  }

  /** As {@linkcode RefFinder.find}. The type of an object, which Git does not tell, is read by REST. */
  async find(
    query: BranchQuery,
    context: RequestContext,
  ): Promise<FoundRef | { readonly denial: CollectionsError | null }> {
    const { owner, repo, branch } = query;
    const { client, clock, allowedRepos } = this.host;
    if (!this.health.allows(query)) return { denial: null };
    const { gitUrl } = this.options;
    const options = { client, gitUrl, now: clock.now, context };
    const answer = await lsRefs({ owner, repo, ref: branch }, options);
    this.record(query, answer);
    if (answer.kind === "unusable" || answer.kind === "rate-limited") return { denial: null };
    if (answer.kind === "denied") return { denial: repositoryNotFound(owner, repo) };
    if (answer.kind === "unborn") return { denial: branchNotFound(branch, null) };
    // A repository that moved must be allowed under its own name as well.
    if (!isAllowed(allowedRepos, answer)) throw repositoryNotAllowed(owner, repo);
    const found = (form: string, commit: string): FoundRef => ({
      commit,
      validators: { base: namedBase(answer), form, commit: null, visibility: null },
    });
    if (answer.kind === "found") {
      const { as, commit } = answer;
      if (as === "HEAD") return found("HEAD", commit);
      if (as === "branch") return found(`heads/${branch}`, commit);
      if (await this.isCommit(query, commit, context)) return found(`tags/${branch}`, commit);
    } else if (allowedRepos === null && COMMIT_ID.test(branch)) {
      const id = branch.toLowerCase();
      if (await this.isCommit(query, id, context)) return found(id, id);
    }
    throw branchNotFound(branch, answer.defaultBranch);
  }

  private async isCommit(query: BranchQuery, id: string, context: RequestContext) {
    if (query.known?.commit === id) return true;
    if (query.failure !== undefined) throw query.failure;
    return await isCommit(this.host, { name: query, id }, context);
  }

  private record(repository: RepositoryName, result: LsRefsResult): void {
    const pause = this.health.record(repository, result);
    if (pause === null) return;
    this.options.log.warn("ls-refs paused", {
      of: pause.of,
      repository: repositoryKey(repository),
      reason: result.kind === "unusable" ? result.reason : result.kind,
      seconds: Math.ceil(pause.ms / 1000),
    });
  }
}

/** Decides from earlier results whether a Git host may be queried. */
export class GitHostHealth {
  private readonly pausedRepositories = new LRUCache<string, number>({ max: MAX_REPOSITORIES });
  private hostPausedUntilMs = 0;
  private failuresInARow = 0;
  /** At most {@linkcode HOST_OWNERS}: more change nothing. */
  private readonly failedOwners = new Set<string>();

  constructor(private readonly monotonicMs: () => number) {}

  /** Whether the host may be queried for this repository; otherwise the REST API is. */
  allows(repository: RepositoryName): boolean {
    const untilMs = this.pausedRepositories.get(repositoryKey(repository)) ?? 0;
    return this.monotonicMs() >= Math.max(untilMs, this.hostPausedUntilMs);
  }

  /** Takes the result of a query under the requested name, and gives the pause that it causes. A 401 is an answer. */
  record(
    repository: RepositoryName,
    result: LsRefsResult,
  ): { readonly of: "host" | "repository"; readonly ms: number } | null {
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
    const untilMs = this.monotonicMs() + REPOSITORY_PAUSE_MS;
    this.pausedRepositories.set(repositoryKey(repository), untilMs);
    return { of: "repository", ms: REPOSITORY_PAUSE_MS };
  }

  private pauseHost(ms: number) {
    this.startRow();
    const now = this.monotonicMs();
    this.hostPausedUntilMs = Math.max(this.hostPausedUntilMs, now + ms);
    return { of: "host", ms: this.hostPausedUntilMs - now } as const;
  }

  private startRow(): void {
    this.failuresInARow = 0;
    this.failedOwners.clear();
  }
}
