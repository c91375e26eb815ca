// Refs by Git's own protocol, without a token; and when to leave them to REST, so that no request waits for a host that is
// known to fail: a repository is paused for ten minutes, and the whole host for an hour after failures for several owners.

import { LRUCache } from "lru-cache";
import type { Clock } from "../../clock.ts";
import {
  branchNotFound,
  type CollectionsError,
  repositoryNotAllowed,
  repositoryNotFound,
} from "../../errors.ts";
import type { Log } from "../../log.ts";
import { FailuresInARow } from "../failure_backoff.ts";
import { isAllowed, repositoryKey, type RepositoryName, type RequestContext } from "../source.ts";
import { type GitHubHost, namedBase } from "./host.ts";
import { lsRefs, type LsRefsResult } from "./ls_refs.ts";
import { type BranchQuery, formsOf, type FoundRef, isCommit } from "./refs.ts";

const REPOSITORY_PAUSE_MS = 600_000;
const HOST_PAUSE_MS = 3_600_000;
const MAX_REMEMBERED = 10_000;

/** Finds refs at one Git host. */
export class GitRefs {
  private readonly health: GitHostHealth;
  /** Ids that name commits, with their repositories. */
  private readonly commits = new LRUCache<string, true>({ max: MAX_REMEMBERED });

  constructor(private readonly host: GitHubHost & { readonly gitUrl: string }, log: Log) {
    this.health = new GitHostHealth(host.clock, log);
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
    this.health.record(query, answer);
    if (answer.kind === "unusable" || answer.kind === "rate-limited") return { denial: null };
    if (answer.kind === "denied") return { denial: repositoryNotFound(owner, repo) };
    if (answer.kind === "unborn") return { denial: branchNotFound(branch, null) };
    // A repository that moved must be allowed under its own name as well.
    if (!isAllowed(allowedRepos, answer)) throw repositoryNotAllowed(owner, repo);
    const { form, commit } = answer.kind === "found"
      ? answer
      : { form: commitId ?? "", commit: commitId ?? "" };
    // A branch is a commit by Git's own rule; what else an id names, REST must tell once.
    const isFound = /^HEAD$|^heads\//.test(form) ||
      commit !== "" && await this.isCommit(query, commit, context);
    if (!isFound) throw branchNotFound(branch, answer.defaultBranch);
    return {
      commit,
      validators: { base: namedBase(answer), form, commit: null, visibility: null },
    };
  }

  private async isCommit(query: BranchQuery, id: string, context: RequestContext) {
    const key = `${repositoryKey(query)} ${id}`;
    if (query.known?.commit === id || this.commits.has(key)) return true;
    if (query.failure !== undefined) throw query.failure;
    const isFound = await isCommit(this.host, query, { id, context });
    if (isFound) this.commits.set(key, true);
    return isFound;
  }
}

/** Decides from earlier results whether a Git host may be queried. */
export class GitHostHealth {
  private readonly repositoriesUntilMs = new LRUCache<string, number>({ max: MAX_REMEMBERED });
  private hostUntilMs = 0;
  private readonly failures = new FailuresInARow();

  constructor(private readonly clock: Clock, private readonly log: Log) {}

  /** Whether the host may be queried for this repository; otherwise the REST API is. */
  allows(name: RepositoryName): boolean {
    const untilMs = this.repositoriesUntilMs.get(repositoryKey(name)) ?? 0;
    return this.clock.monotonicMs() >= Math.max(untilMs, this.hostUntilMs);
  }

  /** Takes the result of a query. A 401 is an answer like any other. */
  record(name: RepositoryName, result: LsRefsResult): void {
    const now = this.clock.monotonicMs();
    const repository = repositoryKey(name);
    const isFailure = result.kind === "unusable";
    const warn = (of: "repository" | "host", ms: number) => {
      const reason = isFailure ? result.reason : result.kind;
      this.log.warn("ls-refs paused", { of, repository, reason, seconds: Math.ceil(ms / 1000) });
    };
    if (isFailure && !this.failures.add(name.owner)) {
      this.repositoriesUntilMs.set(repository, now + REPOSITORY_PAUSE_MS);
      return warn("repository", REPOSITORY_PAUSE_MS);
    }
    this.failures.end();
    if (!isFailure && result.kind !== "rate-limited") return;
    const untilMs = now + (isFailure ? HOST_PAUSE_MS : result.retryAfterMs);
    this.hostUntilMs = Math.max(this.hostUntilMs, untilMs);
    warn("host", this.hostUntilMs - now);
  }
}
