// Finds the commit of a ref by one POST of Git's protocol version 2 (gitprotocol-v2, `ls-refs`), which costs no REST
// quota. An answer counts only where every line of it up to the requested name follows the protocol; everything else is
// `unusable`, and the REST API is queried.

import { Buffer } from "node:buffer";
import { CollectionsError } from "../../errors.ts";
import { DELIMITER, encodePktLines, FLUSH, type PktLine, PktLineParser } from "./pkt_line.ts";

/** Which ref of which repository. */
export interface LsRefsQuery {
  readonly owner: string;
  readonly repo: string;
  /** A name by Git's rules for ref names: tried as branch, then as tag. `HEAD` is the default branch. */
  readonly ref: string;
}

/** `fetch`, or a function that counts, queues and times requests and calls it. */
export type GitFetch = (url: string, init: RequestInit) => Promise<Response>;

/** How to reach the Git host. */
export interface LsRefsOptions {
  /** Base of `{owner}/{repo}.git`, without a slash at its end. */
  readonly gitUrl: string;
  readonly fetch: GitFetch;
  /** Where this aborts with a `TimeoutError` the result is `unusable`; any other reason is thrown. */
  readonly signal: AbortSignal;
  /** For the dates of `Retry-After`, in ms since the epoch. */
  readonly now: () => number;
}

/** The repository that answered: the one of the query, or the target of a 301. */
interface Answered {
  readonly owner: string;
  readonly repo: string;
  /** What `HEAD` points at, without `refs/heads/`; null where the answer does not say. */
  readonly defaultBranch: string | null;
}

/** What one query found. */
export type LsRefsResult =
  /** `commit` is peeled. A branch is a commit by Git's own rule; a tag may name a tree or a blob, which cannot be seen here. */
  | Answered & {
    readonly kind: "found";
    readonly commit: string;
    readonly as: "branch" | "tag" | "HEAD";
  }
  /** The repository is visible and has neither a branch nor a tag of that name. */
  | Answered & { readonly kind: "missing" }
  /** `HEAD` names no commit and the ref was not found: the repository is empty, or only its default branch is missing. */
  | Answered & { readonly kind: "unborn" }
  /** 401: missing, or not public. */
  | { readonly kind: "denied" }
  | { readonly kind: "rate-limited"; readonly retryAfterMs: number }
  | { readonly kind: "unusable"; readonly reason: string };

const MAX_BYTES = 4 << 20;
const MAX_HOPS = 2;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const RESULT_TYPE = "application/x-git-upload-pack-result";
// Git's names have no control characters, no space and no DEL (git check-ref-format).
const LINE =
  /^([0-9a-f]{40}|unborn) ([^\0- \x7f]+)(?: symref-target:([^\0- \x7f]+))?(?: peeled:([0-9a-f]{40}))?\n?$/;
const REDIRECT_PATH = /^([A-Za-z0-9_-]+)\/([A-Za-z0-9._-]+?)(\.git)?\/git-upload-pack$/;
const BRANCHES = "refs/heads/";

class Unusable extends Error {}

/**
 * Queries a Git host for one ref. Never throws for any answer of the host, or for the lack of one.
 * @throws the reason of `signal`, unless that is a `TimeoutError`.
 * @throws {CollectionsError} what `options.fetch` throws of its own, such as service-busy: no fault of the host.
 */
export async function lsRefs(query: LsRefsQuery, options: LsRefsOptions): Promise<LsRefsResult> {
  const { signal } = options;
  try {
    signal.throwIfAborted();
    return await request(query, options);
  } catch (error) {
    if (signal.aborted && signal.reason?.name !== "TimeoutError") throw signal.reason;
    if (error instanceof CollectionsError) throw error;
    const reason = error instanceof Unusable || error instanceof SyntaxError
      ? error.message
      : signal.aborted
      ? "no answer in time"
      : "the connection failed";
    return { kind: "unusable", reason };
  }
}

async function request(query: LsRefsQuery, options: LsRefsOptions): Promise<LsRefsResult> {
  let { owner, repo } = query;
  let url = `${options.gitUrl}/${encodeURIComponent(owner)}/${encodeURIComponent(repo)}.git`;
  for (let hop = 0;; hop++) {
    const response = await options.fetch(`${url}/git-upload-pack`, {
      method: "POST",
      headers: {
        "content-type": "application/x-git-upload-pack-request",
        "accept": RESULT_TYPE,
        "git-protocol": "version=2",
        "user-agent": "repo-collections",
      },
      body: requestBody(query.ref),
      redirect: "manual",
      signal: options.signal,
    });
    const { status, headers, body } = response;
    const isResult = status === 200 && headers.get("content-type") === RESULT_TYPE;
    if (isResult && body !== null) return await readAnswer(body, { owner, repo, ref: query.ref });
    // A body that is neither read nor cancelled blocks its connection.
    await body?.cancel().catch(() => {});
    if (status === 401) return { kind: "denied" };
    if (status === 429) {
      return { kind: "rate-limited", retryAfterMs: retryAfterMs(headers, options.now()) };
    }
    const target = status === 301 ? redirectTarget(headers.get("location"), url, options) : null;
    if (target === null || hop === MAX_HOPS) {
      throw new Unusable(`the host answered ${status} or something that is no list of refs`);
    }
    ({ owner, repo, url } = target);
  }
}

/** The repository that a `Location` names below the same base, or null. */
function redirectTarget(
  location: string | null,
  from: string,
  { gitUrl }: LsRefsOptions,
): { owner: string; repo: string; url: string } | null {
  const base = new URL(`${gitUrl}/`);
  const target = location === null ? null : URL.parse(location, `${from}/git-upload-pack`);
  if (target?.origin !== base.origin || !target.pathname.startsWith(base.pathname)) return null;
  const [, owner, repo, suffix = ""] = REDIRECT_PATH.exec(
    target.pathname.slice(base.pathname.length) + target.search,
  ) ?? [];
  if (owner === undefined || repo === undefined) return null;
  return { owner, repo, url: `${gitUrl}/${owner}/${repo}${suffix}` };
}

/** `Retry-After` (RFC 9110, 10.2.3), from a second to a day; an hour where there is none. */
function retryAfterMs(headers: Headers, now: number): number {
  const text = headers.get("retry-after") ?? "";
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? HOUR_MS : Math.min(Math.max(ms, 1000), DAY_MS);
}

function requestBody(ref: string): Uint8Array<ArrayBuffer> {
  const prefixes = ref === "HEAD" ? ["HEAD"] : ["HEAD", BRANCHES + ref, `refs/tags/${ref}`];
  return encodePktLines([
    "command=ls-refs",
    "object-format=sha1",
    DELIMITER,
    "peel",
    "symrefs",
    "unborn",
    ...prefixes.map((prefix) => `ref-prefix ${prefix}`),
    FLUSH,
  ]);
}

/** Reads until the answer is known, and never more than {@linkcode MAX_BYTES} after decompression. */
async function readAnswer(
  body: ReadableStream<Uint8Array>,
  query: LsRefsQuery,
): Promise<LsRefsResult> {
  const reader = body.getReader();
  const parser = new PktLineParser();
  const search = new RefSearch(query);
  try {
    for (let bytes = 0;;) {
      const { done, value } = await reader.read();
      if (done) throw new Unusable("the answer is truncated");
      bytes += value.length;
      if (bytes > MAX_BYTES) throw new Unusable(`the answer is over ${MAX_BYTES} bytes`);
      for (const line of parser.push(value)) {
        const result = search.next(line);
        if (result !== null) return result;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/**
 * Looks for one ref in lines that come in byte order, as Git sends them, so that it can stop past the name. Names are
 * compared as strings of bytes; prefixes match more than the ref that was meant, and a host may send any other ref too.
 */
class RefSearch {
  private readonly branch: string;
  private readonly tag: string;
  private lastName = "";
  private isUnborn = true;
  private defaultBranch: string | null = null;

  constructor(private readonly query: LsRefsQuery) {
    const name = Buffer.from(query.ref).toString("latin1");
    this.branch = BRANCHES + name;
    this.tag = `refs/tags/${name}`;
  }

  /** Takes one line; gives the result once nothing that follows can change it. */
  next(line: PktLine): LsRefsResult | null {
    if (line === FLUSH) return this.conclude();
    const match = line === DELIMITER ? null : LINE.exec(Buffer.from(line).toString("latin1"));
    if (match === null) throw new Unusable("the answer has a line that is no ref");
    const [, id = "", name = "", target, peeled] = match;
    if (name <= this.lastName) throw new Unusable("the refs are not in order");
    this.lastName = name;
    if (name === "HEAD") {
      if (target?.startsWith(BRANCHES)) {
        this.defaultBranch = Buffer.from(target.slice(BRANCHES.length), "latin1").toString();
      }
      if (id === "unborn") return null;
      this.isUnborn = false;
      return this.query.ref === "HEAD" ? this.found("HEAD", id) : null;
    }
    if (id === "unborn") throw new Unusable("a ref other than HEAD is unborn");
    if (this.query.ref === "HEAD") return null;
    if (name === this.branch) return this.found("branch", id);
    if (name === this.tag) return this.found("tag", peeled ?? id);
    return name > this.tag ? this.conclude() : null;
  }

  private found(as: "branch" | "tag" | "HEAD", commit: string): LsRefsResult {
    return { kind: "found", commit, as, ...this.answered() };
  }

  private conclude(): LsRefsResult {
    return { kind: this.isUnborn ? "unborn" : "missing", ...this.answered() };
  }

  private answered(): Answered {
    const { owner, repo } = this.query;
    return { owner, repo, defaultBranch: this.defaultBranch };
  }
}
