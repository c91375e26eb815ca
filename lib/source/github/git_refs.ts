// Refs by Git's own protocol, version 2 (gitprotocol-v2, `ls-refs`), which costs no REST quota and needs no token; and when
// to leave them to REST, so that no request waits for a host that is known to fail. An answer counts only where all of it
// follows the protocol; everything else is `unusable`.

import { Buffer } from "node:buffer";
import { LRUCache } from "lru-cache";
import type { Clock } from "../../work/clock.ts";
import {
  branchNotFound,
  type CollectionsError,
  isSourceFailure,
  repositoryNotAllowed,
  repositoryNotFound,
} from "../../errors.ts";
import type { Log } from "../../log.ts";
import { FailuresInARow } from "../failure_backoff.ts";
import { isAllowed, repositoryKey, type RepositoryName, type RequestContext } from "../source.ts";
import { retryAfterMs } from "./client.ts";
import { type GitHubHost, MAX_HOPS, namedBase, pathBelow } from "./host.ts";
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

/**
 * Decides from earlier results whether a Git host may be queried: a repository is paused for ten minutes, and the whole
 * host for an hour after failures for several owners.
 */
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

  /** Takes the result of a query. A denial is an answer like any other. */
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

/** What an answer says of one ref. `defaultBranch` is what `HEAD` points at; null where the answer does not say. */
export type RefAnswer =
  & { readonly defaultBranch: string | null }
  & (
    /** The commit of the first form that is there, peeled. A tag may name a tree or a blob, which is not visible here. */
    | { readonly kind: "found"; readonly form: string; readonly commit: string }
    /** The repository is visible and has none of the forms. */
    | { readonly kind: "missing" }
    /** `HEAD` names no commit either: the repository is empty, or only its default branch is missing. */
    | { readonly kind: "unborn" }
  );

/** What one query found. An answer has the name of the repository that gave it: the query's, or the target of a 301. */
export type LsRefsResult =
  | RefAnswer & RepositoryName
  /** Missing, not public, or blocked. */
  | { readonly kind: "denied" }
  | { readonly kind: "rate-limited"; readonly retryAfterMs: number }
  | { readonly kind: "unusable"; readonly reason: string };

const MAX_BYTES = 4 << 20;
const DAY_MS = 86_400_000;
const HEADERS = {
  "content-type": "application/x-git-upload-pack-request",
  "accept": "application/x-git-upload-pack-result",
  "git-protocol": "version=2",
};
const MAX_LINE_BYTES = 65_520;
/** About one repository, not the host: missing or not public (401, 404), or blocked (403, 451). */
const DENIALS: readonly number[] = [401, 403, 404, 451];
// Git's names have no control characters, no space and no DEL (git check-ref-format).
const LINE =
  /^([0-9a-f]{40}|unborn) ([^\0- \x7f]+)(?: symref-target:([^\0- \x7f]+))?(?: peeled:([0-9a-f]{40}))?\n?$/;
const REDIRECT_PATH = /^([A-Za-z0-9_-]+)\/([A-Za-z0-9._-]+?)(\.git)?\/git-upload-pack$/;

/**
 * Queries a Git host for the forms of one ref: `HEAD`, `heads/…` or `tags/…`. No answer of the host makes it throw.
 * @throws what {@linkcode FairQueue.acquire} throws: no fault of the host.
 */
export async function lsRefs(
  { client, clock, gitUrl }: Pick<GitHubHost, "client" | "clock"> & { readonly gitUrl: string },
  { forms, owner, repo }: RepositoryName & { readonly forms: readonly string[] },
  context: RequestContext,
): Promise<LsRefsResult> {
  const isList = ({ status, headers }: Pick<Response, "status" | "headers">) =>
    status === 200 && headers.get("content-type") === HEADERS.accept;
  let suffix = ".git";
  try {
    for (let hop = 0;; hop++) {
      const search = new RefSearch(forms);
      const answer = await client.requestGit({
        kind: "ls-refs",
        owner,
        url: `${gitUrl}/${owner}/${repo}${suffix}/git-upload-pack`,
        body: requestBody(forms),
        maxBytes: MAX_BYTES,
        context,
        isEnough: (bytes, response) => !isList(response) || search.take(bytes),
      }, HEADERS);
      answer.release();
      const { status, headers } = answer;
      if (isList(answer)) return { owner, repo, ...search.answer() };
      if (DENIALS.includes(status)) return { kind: "denied" };
      if (status === 429) {
        const waitMs = retryAfterMs(headers, clock.now()) ?? HOST_PAUSE_MS;
        return { kind: "rate-limited", retryAfterMs: Math.min(Math.max(waitMs, 1000), DAY_MS) };
      }
      const location = status === 301 && hop < MAX_HOPS ? headers.get("location") : null;
      const path = pathBelow(gitUrl, location) ?? "";
      const [, newOwner, newRepo, newSuffix = ""] = REDIRECT_PATH.exec(path) ?? [];
      if (newOwner === undefined || newRepo === undefined) {
        throw new SyntaxError(`the host answered ${status} or something that is no list of refs`);
      }
      [owner, repo, suffix] = [newOwner, newRepo, newSuffix];
    }
  } catch (error) {
    if (!isSourceFailure(error) && !(error instanceof SyntaxError)) throw error;
    return { kind: "unusable", reason: error.message };
  }
}

/** The request in pkt-lines (gitprotocol-common): four hex digits of length, themselves included, then the text. */
function requestBody(forms: readonly string[]): string {
  const prefixes = new Set(["HEAD", ...forms.map(refName)]);
  const line = (text: string) =>
    `${(Buffer.byteLength(text) + 5).toString(16).padStart(4, "0")}${text}\n`;
  return [
    ...["command=ls-refs", "object-format=sha1"].map(line),
    "0001",
    ...["peel", "symrefs", "unborn"].map(line),
    ...Array.from(prefixes, (name) => line(`ref-prefix ${name}`)),
    "0000",
  ].join("");
}

const refName = (form: string) => form === "HEAD" ? form : `refs/${form}`;

/**
 * Finds the first form of a ref in an answer while it arrives: prefixes match more than the refs that were meant, and a
 * host may send any other ref too. Git sends HEAD first and the others in the order of their names, so the search ends
 * past the last form.
 */
export class RefSearch {
  /** Names are strings of bytes. */
  private readonly names: readonly string[];
  private readonly commits = new Map<string, string>();
  private defaultBranch: string | null = null;
  /** Where the next line begins. */
  private at = 0;
  /** Why the lines so far are no answer, or null. */
  private fault: string | null = "the answer is truncated";
  private isEnded = false;

  constructor(private readonly forms: readonly string[]) {
    this.names = forms.map((form) => Buffer.from(refName(form)).toString("latin1"));
  }

  /** Takes the lines that are whole in what has arrived from the start on; true where no more is needed. */
  take(bytes: Uint8Array<ArrayBuffer>): boolean {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
      .toString("latin1", this.at);
    let from = 0;
    while (!this.isEnded && from + 4 <= text.length) {
      const digits = text.slice(from, from + 4);
      if (digits === "0000") {
        this.end(null);
        break;
      }
      const length = /^[0-9a-f]{4}$/i.test(digits) ? parseInt(digits, 16) : NaN;
      // Lengths up to 4 are markers and an empty line, of which an answer to `ls-refs` has none.
      if (!(length > 4 && length <= MAX_LINE_BYTES)) {
        this.end(`the length ${JSON.stringify(digits)} of a line is invalid`);
      } else if (from + length > text.length) break;
      else this.takeLine(text.slice(from + 4, from + length));
      from += length;
    }
    this.at += from;
    return this.isEnded;
  }

  /** What the lines say. @throws {SyntaxError} where they do not follow the protocol. */
  answer(): RefAnswer {
    if (this.fault !== null) throw new SyntaxError(this.fault);
    const { commits, defaultBranch } = this;
    for (const [index, form] of this.forms.entries()) {
      const commit = commits.get(this.names[index]!);
      if (commit !== undefined) return { kind: "found", form, commit, defaultBranch };
    }
    return { kind: commits.has("HEAD") ? "missing" : "unborn", defaultBranch };
  }

  private takeLine(line: string): void {
    const [, id, name, target, peeled] = LINE.exec(line) ?? [];
    if (id === undefined || name === undefined || id === "unborn" && name !== "HEAD") {
      return this.end("the answer has a line that is no ref");
    }
    if (this.commits.has(name)) return this.end("the answer has a ref twice");
    if (id !== "unborn") this.commits.set(name, peeled ?? id);
    if (name === "HEAD" && target?.startsWith("refs/heads/")) {
      this.defaultBranch = Buffer.from(target.slice("refs/heads/".length), "latin1").toString();
    }
    if (name === this.names[0] || name !== "HEAD" && name >= this.names.at(-1)!) this.end(null);
  }

  private end(fault: string | null): void {
    this.isEnded = true;
    this.fault = fault;
  }
}
