// Finds the commit of a ref by one POST of Git's protocol version 2 (gitprotocol-v2, `ls-refs`), which costs no REST
// quota. An answer counts only where all of it follows the protocol; everything else is `unusable`, and the REST API is
// queried.

import { Buffer } from "node:buffer";
import { isSourceFailure } from "../../errors.ts";
import type { RepositoryName, RequestContext } from "../source.ts";
import { type GitHubClient, type GitHubRequest, retryAfterMs } from "./client.ts";
import { pathBelow } from "./host.ts";

/** Which ref of which repository: a name by Git's rules, tried as branch, then as tag. `HEAD` is the default branch. */
export type LsRefsQuery = RepositoryName & { readonly ref: string };

/** How to reach the Git host. */
export interface LsRefsOptions {
  readonly client: GitHubClient;
  /** Base of `{owner}/{repo}.git`, without a slash at its end. */
  readonly gitUrl: string;
  /** For the dates of `Retry-After`, in ms since the epoch. */
  readonly now: () => number;
  readonly context: RequestContext;
}

/** What an answer says of one ref. */
export type RefAnswer =
  & (
    /** `commit` is peeled. A branch is a commit by Git's own rule; a tag may name a tree or a blob, which is not visible here. */
    | { readonly kind: "found"; readonly as: "HEAD" | "branch" | "tag"; readonly commit: string }
    /** The repository is visible and has neither a branch nor a tag of that name. */
    | { readonly kind: "missing" }
    /** `HEAD` names no commit and the ref was not found: the repository is empty, or only its default branch is missing. */
    | { readonly kind: "unborn" }
  )
  /** What `HEAD` points at, without `refs/heads/`; null where the answer does not say. */
  & { readonly defaultBranch: string | null };

/** What one query found. An answer has the name of the repository that gave it: the query's, or the target of a 301. */
export type LsRefsResult =
  | RefAnswer & RepositoryName
  /** 401: missing, or not public. */
  | { readonly kind: "denied" }
  | { readonly kind: "rate-limited"; readonly retryAfterMs: number }
  | { readonly kind: "unusable"; readonly reason: string };

const MAX_BYTES = 4 << 20;
const MAX_HOPS = 2;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const RESULT_TYPE = "application/x-git-upload-pack-result";
const MAX_LINE_BYTES = 65_520;
// Git's names have no control characters, no space and no DEL (git check-ref-format).
const LINE =
  /^([0-9a-f]{40}|unborn) ([^\0- \x7f]+)(?: symref-target:([^\0- \x7f]+))?(?: peeled:([0-9a-f]{40}))?\n?$/;
const REDIRECT_PATH = /^([A-Za-z0-9_-]+)\/([A-Za-z0-9._-]+?)(\.git)?\/git-upload-pack$/;
const BRANCHES = "refs/heads/";

/**
 * Queries a Git host for one ref. Never throws for any answer of the host, or for the lack of one.
 * @throws {CollectionsError} service-busy: no fault of the host. @throws the reason of the context's signal.
 */
export async function lsRefs(query: LsRefsQuery, options: LsRefsOptions): Promise<LsRefsResult> {
  try {
    return await request(query, options);
  } catch (error) {
    if (!isSourceFailure(error) && !(error instanceof SyntaxError)) throw error;
    return { kind: "unusable", reason: error.message };
  }
}

async function request(
  { owner, repo, ref }: LsRefsQuery,
  { client, gitUrl, now, context }: LsRefsOptions,
): Promise<LsRefsResult> {
  let url = `${gitUrl}/${encodeURIComponent(owner)}/${encodeURIComponent(repo)}.git`;
  for (let hop = 0;; hop++) {
    const request: GitHubRequest = {
      kind: "ls-refs",
      url: `${url}/git-upload-pack`,
      body: requestBody(ref),
      maxBytes: MAX_BYTES,
      context,
    };
    const { status, headers, bytes, release } = await client.requestPlainly(request, {
      "content-type": "application/x-git-upload-pack-request",
      "accept": RESULT_TYPE,
      "git-protocol": "version=2",
      "user-agent": "repo-collections",
    });
    try {
      if (status === 200 && headers.get("content-type") === RESULT_TYPE) {
        return { owner, repo, ...findRef(bytes, ref) };
      }
    } finally {
      release();
    }
    if (status === 401) return { kind: "denied" };
    if (status === 429) {
      const waitMs = retryAfterMs(headers, now()) ?? HOUR_MS;
      return { kind: "rate-limited", retryAfterMs: Math.min(Math.max(waitMs, 1000), DAY_MS) };
    }
    const isMove = status === 301 && hop < MAX_HOPS;
    const path = isMove ? pathBelow(gitUrl, headers.get("location")) : null;
    const [, newOwner, newRepo, suffix = ""] = REDIRECT_PATH.exec(path ?? "") ?? [];
    if (newOwner === undefined || newRepo === undefined) {
      throw new SyntaxError(`the host answered ${status} or something that is no list of refs`);
    }
    [owner, repo] = [newOwner, newRepo];
    url = `${gitUrl}/${owner}/${repo}${suffix}`;
  }
}

/** The request in pkt-lines (gitprotocol-common): four hex digits of length, themselves included, then the text. */
function requestBody(ref: string): string {
  const line = (text: string) => {
    const bytes = 4 + Buffer.byteLength(text) + 1;
    return `${bytes.toString(16).padStart(4, "0")}${text}\n`;
  };
  const prefixes = ref === "HEAD" ? ["HEAD"] : ["HEAD", BRANCHES + ref, `refs/tags/${ref}`];
  const options = ["peel", "symrefs", "unborn", ...prefixes.map((name) => `ref-prefix ${name}`)];
  const command = ["command=ls-refs", "object-format=sha1"].map(line).join("");
  return `${command}0001${options.map(line).join("")}0000`;
}

/**
 * Finds one ref in an answer: prefixes match more than the ref that was meant, and a host may send any other ref too.
 * Names are compared as strings of bytes. @throws {SyntaxError} where the answer does not follow the protocol.
 */
export function findRef(bytes: Uint8Array<ArrayBuffer>, ref: string): RefAnswer {
  const name = Buffer.from(ref).toString("latin1");
  const names = ref === "HEAD"
    ? { HEAD: "HEAD" }
    : { branch: BRANCHES + name, tag: `refs/tags/${name}` };
  const refs = new Map<string, string>();
  let defaultBranch: string | null = null;
  for (const line of readLines(bytes)) {
    const [, id, name, target, peeled] = LINE.exec(line) ?? [];
    if (id === undefined || name === undefined) {
      throw new SyntaxError("the answer has a line that is no ref");
    }
    if (refs.has(name)) throw new SyntaxError("the answer has a ref twice");
    if (id === "unborn" && name !== "HEAD") {
      throw new SyntaxError("a ref other than HEAD is unborn");
    }
    if (id !== "unborn") refs.set(name, peeled ?? id);
    if (name === "HEAD" && target?.startsWith(BRANCHES)) {
      defaultBranch = Buffer.from(target.slice(BRANCHES.length), "latin1").toString();
    }
  }
  for (const [as, name] of Object.entries(names) as ["HEAD" | "branch" | "tag", string][]) {
    const commit = refs.get(name);
    if (commit !== undefined) return { kind: "found", as, commit, defaultBranch };
  }
  return { kind: refs.has("HEAD") ? "missing" : "unborn", defaultBranch };
}

/** The pkt-lines before the flush (`0000`) that ends an answer. */
function* readLines(bytes: Uint8Array<ArrayBuffer>): Generator<string, void> {
  const text = Buffer.from(bytes.buffer).toString("latin1");
  for (let at = 0; at + 4 <= text.length;) {
    const digits = text.slice(at, at + 4);
    if (digits === "0000") return;
    const length = /^[0-9a-f]{4}$/i.test(digits) ? parseInt(digits, 16) : NaN;
    // Lengths up to 4 are markers and an empty line, of which an answer to `ls-refs` has none.
    if (!(length > 4 && length <= MAX_LINE_BYTES)) {
      throw new SyntaxError(`the length ${JSON.stringify(digits)} of a line is invalid`);
    }
    if (at + length > text.length) break;
    yield text.slice(at + 4, at + length);
    at += length;
  }
  throw new SyntaxError("the answer is truncated");
}
