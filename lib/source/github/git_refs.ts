// Refs by Git's own protocol, without a token; and when to leave them to REST, so that no request waits for a host that is
// known to fail: a repository is paused for ten minutes, and the whole host for an hour after failures for several owners.

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
import { type BranchQuery, formsOf, type FoundRef, isCommit } from "./refs.ts";

/** Finds refs at one Git host. */
export class GitRefs {
  private readonly health: GitHostHealth;
  /** Ids that name commits, with their repositories. */
  private readonly commits = new LRUCache<string, true>({ max: 10_000 });

  constructor(
    private readonly host: GitHubHost & { readonly gitUrl: string },
    private readonly log: Log,
  ) {
    this.health = new GitHostHealth(host.clock.monotonicMs);
  }

  /**
   * The ref, or that REST must be queried; `denial` is the error that applies if REST then fails.
   * @throws {CollectionsError} as the port's `resolve`.
   */
  async find(
    query: BranchQuery,
    context: RequestContext,
  ): Promise<FoundRef | { readonly denial: CollectionsError | null }> {
    const { owner, repo, branch } = query;
    const { allowedRepos } = this.host;
    if (!this.health.allows(query)) return { denial: null };
    const allForms = formsOf(branch, allowedRepos === null);
    const [forms, commitId] = [allForms.slice(0, 2), allForms[2]];
    const answer = await lsRefs(this.host, { owner, repo, forms }, context);
    this.record(query, answer);
    if (answer.kind === "unusable" || answer.kind === "rate-limited") return { denial: null };
    if (answer.kind === "denied") return { denial: repositoryNotFound(owner, repo) };
    if (answer.kind === "unborn") return { denial: branchNotFound(branch, null) };
    // A repository that moved must be allowed under its own name as well.
    if (!isAllowed(allowedRepos, answer)) throw repositoryNotAllowed(owner, repo);
    const { form, commit } = answer.kind === "found"
      ? answer
      : { form: commitId, commit: commitId };
    // A branch is a commit by Git's own rule; what else an id names, REST must tell once.
    const isBranch = form === "HEAD" || form?.startsWith("heads/");
    const isFound = form !== undefined && commit !== undefined &&
      (isBranch || await this.isCommit(query, commit, context));
    if (!isFound) throw branchNotFound(branch, answer.defaultBranch);
    const validators = { base: namedBase(answer), form, commit: null, visibility: null };
    return { commit, validators };
  }

  private async isCommit(query: BranchQuery, id: string, context: RequestContext) {
    const key = `${repositoryKey(query)} ${id}`;
    if (query.known?.commit === id || this.commits.has(key)) return true;
    if (query.failure !== undefined) throw query.failure;
    const isFound = await isCommit(this.host, query, { id, context });
    if (isFound) this.commits.set(key, true);
    return isFound;
  }

  private record(repository: RepositoryName, result: LsRefsResult): void {
    const pause = this.health.record(repository, result);
    if (pause === null) return;
    const reason = result.kind === "unusable" ? result.reason : result.kind;
    const paused = { of: pause.of, repository: repositoryKey(repository), reason };
    this.log.warn("ls-refs paused", { ...paused, seconds: Math.ceil(pause.ms / 1000) });
  }
}

const REPOSITORY_PAUSE_MS = 600_000;
const HOST_PAUSE_MS = 3_600_000;
const HOST_FAILURES = 5;
const HOST_OWNERS = 3;
const MAX_REPOSITORIES = 10_000;

/** Decides from earlier results whether a Git host may be queried. */
export class GitHostHealth {
  private readonly repositoriesUntilMs = new LRUCache<string, number>({ max: MAX_REPOSITORIES });
  private hostUntilMs = 0;
  private failuresInARow = 0;
  /** At most {@linkcode HOST_OWNERS}: more change nothing. */
  private readonly failedOwners = new Set<string>();

  constructor(private readonly monotonicMs: () => number) {}

  /** Whether the host may be queried for this repository; otherwise the REST API is. */
  allows(repository: RepositoryName): boolean {
    const untilMs = this.repositoriesUntilMs.get(repositoryKey(repository)) ?? 0;
    return this.monotonicMs() >= Math.max(untilMs, this.hostUntilMs);
  }

  /** Takes the result of a query, and gives the pause that it causes. A 401 is an answer like any other. */
  record(
    repository: RepositoryName,
    result: LsRefsResult,
  ): { readonly of: "host" | "repository"; readonly ms: number } | null {
    const now = this.monotonicMs();
    if (result.kind === "unusable") {
      const { failedOwners } = this;
      if (failedOwners.size < HOST_OWNERS) failedOwners.add(repository.owner.toLowerCase());
      if (++this.failuresInARow < HOST_FAILURES || failedOwners.size < HOST_OWNERS) {
        this.repositoriesUntilMs.set(repositoryKey(repository), now + REPOSITORY_PAUSE_MS);
        return { of: "repository", ms: REPOSITORY_PAUSE_MS };
      }
    }
    this.failuresInARow = 0;
    this.failedOwners.clear();
    if (result.kind !== "unusable" && result.kind !== "rate-limited") return null;
    const ms = result.kind === "rate-limited" ? result.retryAfterMs : HOST_PAUSE_MS;
    this.hostUntilMs = Math.max(this.hostUntilMs, now + ms);
    return { of: "host", ms: this.hostUntilMs - now };
  }
}
