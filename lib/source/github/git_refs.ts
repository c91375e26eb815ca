// Refs without a token: by Git's own protocol, which costs no REST quota, and by REST where that gives no answer or REST
// must confirm it. What Git's answer denied is never served because REST then fails.

import { LRUCache } from "lru-cache";
import { isAllowed } from "../../allowed_repos.ts";
import {
  branchNotFound,
  type CollectionsError,
  repositoryNotAllowed,
  repositoryNotFound,
} from "../../errors.ts";
import type { Log } from "../../log.ts";
import { isCheckFailure, withDenial } from "../failure_backoff.ts";
import { repositoryKey, type RepositoryName, type RequestContext } from "../source.ts";
import { GitHostHealth } from "./git_host_health.ts";
import type { RequestObserver } from "./client.ts";
import { type GitHubHost, namedBase } from "./host.ts";
import { type GitFetch, lsRefs, type LsRefsResult } from "./ls_refs.ts";
import { type BranchQuery, COMMIT_ID, findRefByRest, type FoundRef, isCommit } from "./refs.ts";

const MAX_COMMITS = 10_000;

/**
 * Finds the commit of a ref: by Git while there is no token and a Git host, else by REST.
 * @throws {CollectionsError} as {@linkcode findRefByRest}, or the query's `failure` in place of a REST request.
 */
export async function findRef(
  { host, git }: { readonly host: GitHubHost; readonly git: GitRefs | null },
  query: BranchQuery,
  context: RequestContext,
): Promise<FoundRef> {
  let denial: CollectionsError | null = null;
  if (git !== null && !host.tokens.hasToken) {
    const found = await git.find(query, context);
    if ("commit" in found) return found;
    ({ denial } = found);
  }
  try {
    if (query.failure !== undefined) throw query.failure;
    return await findRefByRest(host, query, context);
  } catch (error) {
    if (denial === null || !isCheckFailure(error)) throw error;
    throw withDenial(error, error.denial ?? denial);
  }
}

/** Options of {@linkcode GitRefs}. */
export interface GitRefsOptions {
  /** Base of `{owner}/{repo}.git`. */
  readonly gitUrl: string;
  readonly log: Log;
  /** Time allowed for one query, in ms. */
  readonly timeoutMs: number;
  readonly onRequest?: RequestObserver;
}

/** Refs of one Git host. */
export class GitRefs {
  private readonly health: GitHostHealth;
  /** Ids that name commits, by repository and id: Git's list of refs does not include them, and they never change. */
  private readonly commits = new LRUCache<string, true>({ max: MAX_COMMITS });

  constructor(
    private readonly host: GitHubHost,
    private readonly options: GitRefsOptions,
  ) {
    this.health = new GitHostHealth(host.clock.monotonicMs);
  }

  /**
   * The ref, or that REST must be queried; `denial` is the error that applies if REST then fails.
   * @throws {CollectionsError} branch-not-found, repository-not-allowed, or a failure where the type of an object
   * cannot be had.
   */
  async find(
    query: BranchQuery,
    context: RequestContext,
  ): Promise<FoundRef | { readonly denial: CollectionsError | null }> {
    const { owner, repo, branch } = query;
    const { client, allowedRepos } = this.host;
    if (!this.health.allows(query)) return { denial: null };
    const answer = await client.runCheck(() => this.query(query, context), context);
    this.note(query, answer);
    switch (answer.kind) {
      case "unusable":
      case "rate-limited":
        return { denial: null };
      case "denied":
        return { denial: repositoryNotFound(owner, repo) };
      case "unborn":
        return { denial: branchNotFound(branch, null) };
    }
    // A repository that moved must be allowed under its own name as well.
    if (!isAllowed(allowedRepos, answer)) throw repositoryNotAllowed(owner, repo);
    const found = (form: string, commit: string): FoundRef => ({
      commit,
      validators: { base: namedBase(answer), form, commit: null, visibility: null },
    });
    if (answer.kind === "missing") {
      const id = branch.toLowerCase();
      const isId = allowedRepos === null && COMMIT_ID.test(id);
      if (isId && await this.isCommit(query, id, context)) return found(id, id);
      throw branchNotFound(branch, answer.defaultBranch);
    }
    const { as, commit } = answer;
    if (as === "HEAD") return found("HEAD", commit);
    if (as === "branch") return found(`heads/${branch}`, commit);
    if (await this.isCommit(query, commit, context)) return found(`tags/${branch}`, commit);
    throw branchNotFound(branch, answer.defaultBranch);
  }

  private async query(
    { owner, repo, branch }: BranchQuery,
    context: RequestContext,
  ): Promise<LsRefsResult> {
    const { clock } = this.host;
    const { gitUrl, timeoutMs } = this.options;
    const timeout = new AbortController();
    const late = new DOMException("Cannot query the Git host: no answer in time", "TimeoutError");
    const cancelTimer = clock.setTimer(timeoutMs, () => timeout.abort(late));
    const signals = context.signal === undefined ? [] : [context.signal];
    const signal = AbortSignal.any([timeout.signal, ...signals]);
    try {
      const fetch: GitFetch = (url, init) => this.fetch(url, { ...init, signal });
      return await lsRefs({ owner, repo, ref: branch }, { gitUrl, fetch, signal, now: clock.now });
    } finally {
      cancelTimer();
    }
  }

  private async fetch(
    url: string,
    init: RequestInit & { readonly signal: AbortSignal },
  ): Promise<Response> {
    const { monotonicMs } = this.host.clock;
    const startedAtMs = monotonicMs();
    let result: number | "network" | "timeout" | "aborted" = "network";
    try {
      const response = await fetch(url, init);
      result = response.status;
      return response;
    } catch (error) {
      const { aborted, reason } = init.signal;
      if (aborted) result = reason?.name === "TimeoutError" ? "timeout" : "aborted";
      throw error;
    } finally {
      const durationMs = monotonicMs() - startedAtMs;
      this.options.onRequest?.({ kind: "ls-refs", result, durationMs });
    }
  }

  /** By REST, which is queried once for a commit that exists. */
  private async isCommit(
    query: BranchQuery,
    id: string,
    context: RequestContext,
  ): Promise<boolean> {
    const key = `${repositoryKey(query)}\n${id}`;
    if (query.known?.commit === id || this.commits.has(key)) return true;
    if (query.failure !== undefined) throw query.failure;
    if (!await isCommit(this.host, { name: query, id }, context)) return false;
    this.commits.set(key, true);
    return true;
  }

  private note(repository: RepositoryName, answer: LsRefsResult): void {
    const pause = this.health.record(repository, answer);
    if (pause === null) return;
    this.options.log.warn("ls-refs paused", {
      of: pause.what,
      repository: repositoryKey(repository),
      reason: answer.kind === "unusable" ? answer.reason : answer.kind,
      seconds: Math.ceil((pause.untilMs - this.host.clock.monotonicMs()) / 1000),
    });
  }
}
