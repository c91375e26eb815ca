// Finds refs through Git's own protocol. It costs no REST quota and needs no
// token. This file also decides when to use REST instead so that no request
// waits for a host that is known to fail.

import {
  branchNotFound,
  type CollectionsError,
  isSourceFailure,
  problem,
} from "../../errors.ts";
import type { Log } from "../../log.ts";
import { RecentMap } from "../../work/recent_map.ts";
import { RetryTable } from "../../work/retry.ts";
import { isAllowed, repositoryKey, type RequestContext } from "../source.ts";
import {
  consequencesOf,
  FailuresInARow,
  MAX_WAIT_MS,
} from "../source_failure.ts";
import { type GitHubHost, namedBase } from "./host.ts";
import { lsRefs } from "./ls_refs.ts";
import {
  type BranchQuery,
  candidatesOf,
  type FoundCommit,
  isCommit,
} from "./refs.ts";

const REPOSITORY_PAUSE_MS = 600_000;
const MAX_REMEMBERED = 10_000;
const HOST = "";

/** Finds refs at one Git host. */
export class GitRefs {
  /**
   * Repositories for which REST is used for now. The key of the host stands for
   * all of them.
   */
  private readonly retries: RetryTable<CollectionsError>;
  private readonly failures = new FailuresInARow();
  /** Ids that name commits with their repositories. */
  private readonly commits = new RecentMap<true>(MAX_REMEMBERED);

  constructor(
    private readonly host: GitHubHost & { gitUrl: string },
    private readonly log: Log,
  ) {
    this.retries = new RetryTable(host.clock);
  }

  /**
   * Returns the ref. If the result has no `commit`, the caller must query REST.
   * `missing` is the error that applies if REST then fails.
   * @throws {CollectionsError} what `Source.resolve` throws.
   */
  async find(
    query: BranchQuery,
    context: RequestContext,
  ): Promise<FoundCommit | { missing: CollectionsError | null }> {
    const { owner, repo, branch } = query;
    const { allowedRepos } = this.host;
    if (this.retries.failureOf(HOST, repositoryKey(query)) !== null) {
      return { missing: null };
    }
    const [heads, tags, id] = candidatesOf(branch, allowedRepos === null);
    const candidates = [heads, tags].filter((candidate) =>
      candidate !== undefined
    );
    const answer = await lsRefs(this.host, { owner, repo, candidates }, context)
      .catch((error) => this.pause(query, error));
    if (answer === "paused") return { missing: null };
    this.failures.end();
    if (answer === null) {
      return { missing: problem("repository-not-found", { owner, repo }) };
    }
    const { found, hasHead, defaultBranch } = answer;
    if (found === null && !hasHead) {
      return { missing: branchNotFound(branch, null) };
    }
    // A repository that moved must also be allowed under its own name.
    if (!isAllowed(allowedRepos, answer)) {
      throw problem("repository-not-allowed", { owner, repo });
    }
    const { candidate, commit } = found ??
      { candidate: id ?? "", commit: id ?? "" };
    // Git guarantees that a branch names a commit. Any other id is checked once
    // through REST.
    const isFound = /^HEAD$|^heads\//.test(candidate) ||
      commit !== "" && await this.isCommit(query, commit, context);
    if (!isFound) throw branchNotFound(branch, defaultBranch);
    return {
      commit,
      validators: {
        base: namedBase(answer),
        candidate,
        commit: null,
        visibility: null,
      },
    };
  }

  /**
   * Records a failure. A failing repository pauses for ten minutes. Consecutive
   * failures of several owners pause the host for an hour. A limit pauses the
   * host as long as it says.
   * @throws errors other than failures of the host.
   */
  private pause(query: BranchQuery, error: unknown): "paused" {
    if (!isSourceFailure(error)) throw error;
    const repository = repositoryKey(query);
    const { waitMs } = consequencesOf(error);
    const isOfHost = error.code === "source-rate-limited" ||
      this.failures.add(query.owner);
    if (isOfHost) this.failures.end();
    const key = isOfHost ? HOST : repository;
    this.retries.failed(
      key,
      error,
      waitMs ?? (isOfHost ? MAX_WAIT_MS : REPOSITORY_PAUSE_MS),
    );
    this.log.warn("ls-refs paused", {
      of: isOfHost ? "host" : "repository",
      repository,
      reason: error.message,
      seconds: Math.ceil(this.retries.waitMs(key) / 1000),
    });
    return "paused";
  }

  private async isCommit(
    query: BranchQuery,
    id: string,
    context: RequestContext,
  ) {
    const key = `${repositoryKey(query)} ${id}`;
    if (query.known?.commit === id || this.commits.has(key)) return true;
    if (query.failure !== undefined) throw query.failure;
    const isFound = await isCommit(this.host, query, { id, context });
    if (isFound) this.commits.set(key, true);
    return isFound;
  }
}
