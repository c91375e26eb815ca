// Sends one query for one ref in version 2 of Git's own protocol
// (gitprotocol-v2, `ls-refs`). A response counts only if all of it follows the
// protocol.

import { Buffer } from "node:buffer";
import { sourceFailed, sourceRateLimited } from "../../errors.ts";
import type { RepositoryName, RequestContext } from "../source.ts";
import { MAX_WAIT_MS, SourceFailure } from "../source_failure.ts";
import { retryAfterMs } from "./client.ts";
import { type GitHubHost, MAX_HOPS, pathBelow } from "./host.ts";

/** What a repository says about one ref. */
export interface RefAnswer {
  /**
   * The first candidate that exists and its peeled commit. A tag may name a
   * tree or a blob. The response does not show this.
   */
  readonly found:
    | { readonly candidate: string; readonly commit: string }
    | null;
  /**
   * Whether `HEAD` names a commit. If not, the repository is empty or only its
   * default branch is missing.
   */
  readonly hasHead: boolean;
  /** What `HEAD` points at. Null if the response does not say. */
  readonly defaultBranch: string | null;
}

const MAX_BYTES = 4 << 20;
const MIN_WAIT_MS = 1_000;
const HEADERS = {
  "content-type": "application/x-git-upload-pack-request",
  "accept": "application/x-git-upload-pack-result",
  "git-protocol": "version=2",
};
const MAX_LINE_BYTES = 65_520;
/**
 * Statuses that concern one repository and not the host. It is missing or not
 * public (401, 404) or blocked (403, 451).
 */
const MISSING: readonly number[] = [401, 403, 404, 451];
// Git's names have no control characters, no space and no DEL (git
// check-ref-format).
const LINE =
  /^([0-9a-f]{40}|unborn(?= HEAD(?:\s|$))) ([^\0- \x7f]+)(?: symref-target:([^\0- \x7f]+))?(?: peeled:([0-9a-f]{40}))?\n?$/;
const REDIRECT_PATH =
  /^([A-Za-z0-9_-]+)\/([A-Za-z0-9._-]+?)(\.git)?\/git-upload-pack$/;

/**
 * Queries a Git host for the candidates of one ref: `HEAD`, `heads/…`
 * or `tags/…`. Returns the result and the name of the repository that gave it.
 * That name may differ from the query's after a 301. Returns null if the
 * repository is missing, not public or blocked.
 * @throws {CollectionsError} source-failed for any other response,
 * source-rate-limited, or service-busy.
 */
export async function lsRefs(
  { client, clock, gitUrl }: Pick<GitHubHost, "client" | "clock"> & {
    gitUrl: string;
  },
  { candidates, owner, repo }: RepositoryName & {
    candidates: readonly string[];
  },
  context: RequestContext,
): Promise<RefAnswer & RepositoryName | null> {
  const isList = ({ status, headers }: Pick<Response, "status" | "headers">) =>
    status === 200 && headers.get("content-type") === HEADERS.accept;
  let suffix = ".git";
  for (let hop = 0;; hop++) {
    const search = new RefSearch(candidates);
    const answer = await client.requestGit({
      kind: "ls-refs",
      owner,
      url: `${gitUrl}/${owner}/${repo}${suffix}/git-upload-pack`,
      body: requestBody(candidates),
      maxBytes: MAX_BYTES,
      context,
      isEnough: (bytes, response) => !isList(response) || search.take(bytes),
    }, HEADERS);
    answer.release();
    const { status, headers } = answer;
    if (isList(answer)) return { owner, repo, ...search.answer() };
    if (MISSING.includes(status)) return null;
    if (status === 429) {
      const waitMs = Math.max(
        retryAfterMs(headers, clock.now()) ?? MAX_WAIT_MS,
        MIN_WAIT_MS,
      );
      const failure = sourceRateLimited(
        'Cannot read "refs": the host limits requests',
        1,
      );
      throw new SourceFailure(failure, { waitMs });
    }
    const location = status === 301 && hop < MAX_HOPS
      ? headers.get("location")
      : null;
    const path = REDIRECT_PATH.exec(pathBelow(gitUrl, location) ?? "");
    if (path === null) {
      throw unusable(
        `the host answered ${status} or something that is no list`,
      );
    }
    [, owner, repo, suffix = ""] = path as unknown as [
      string,
      string,
      string,
      string?,
    ];
  }
}

const unusable = (state: string) =>
  sourceFailed(`Cannot read "refs": ${state}`);

/**
 * Encodes the request in pkt-lines (gitprotocol-common). A line has four hex
 * digits and then the text. The digits are the length of the whole line.
 */
function requestBody(candidates: readonly string[]): string {
  const prefixes = new Set(["HEAD", ...candidates.map(refName)]);
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

const refName = (candidate: string) =>
  candidate === "HEAD" ? candidate : `refs/${candidate}`;

/**
 * Finds the first candidate of a ref while a response arrives. Prefixes match
 * more refs than are wanted. A host may also send any other ref. Git sends HEAD
 * first and the others in the order of their names. The search therefore ends
 * past the last candidate.
 */
export class RefSearch {
  /** Each character is one byte of a name. */
  private readonly names: readonly string[];
  private readonly commits = new Map<string, string>();
  private defaultBranch: string | null = null;
  /** Offset of the next line. */
  private at = 0;
  private isEnded = false;

  constructor(private readonly candidates: readonly string[]) {
    this.names = candidates.map((candidate) =>
      Buffer.from(refName(candidate)).toString("latin1")
    );
  }

  /**
   * Parses the complete lines received so far. `bytes` starts at the beginning
   * of the response. Returns true if no more is needed.
   * @throws {CollectionsError} source-failed if the lines do not follow the
   * protocol.
   */
  take(bytes: Uint8Array): boolean {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
      .toString("latin1", this.at);
    let from = 0;
    while (!this.isEnded && from + 4 <= text.length) {
      const length = Number(`0x${text.slice(from, from + 4)}`);
      // Lengths up to 4 are markers and an empty line. A response to `ls-refs`
      // has only the end marker.
      if (!(length === 0 || length > 4 && length <= MAX_LINE_BYTES)) {
        throw unusable("the length of a line is invalid");
      }
      if (from + length > text.length) break;
      if (length === 0) this.isEnded = true;
      else this.takeLine(text.slice(from + 4, from + length));
      from += length;
    }
    this.at += from;
    return this.isEnded;
  }

  /**
   * Returns what the lines say.
   * @throws {CollectionsError} source-failed if the end is missing.
   */
  answer(): RefAnswer {
    if (!this.isEnded) throw unusable("the answer is truncated");
    const { commits, defaultBranch, names } = this;
    const index = names.findIndex((name) => commits.has(name));
    const found = index < 0 ? null : {
      candidate: this.candidates[index]!,
      commit: commits.get(names[index]!)!,
    };
    return { found, hasHead: commits.has("HEAD"), defaultBranch };
  }

  private takeLine(line: string) {
    const [, id, name = "", target, peeled] = LINE.exec(line) ?? [];
    if (id === undefined || this.commits.has(name)) {
      throw unusable("a line is no ref, or one that came before");
    }
    if (id !== "unborn") this.commits.set(name, peeled ?? id);
    if (name === "HEAD" && target?.startsWith("refs/heads/")) {
      this.defaultBranch = Buffer.from(
        target.slice("refs/heads/".length),
        "latin1",
      ).toString();
    }
    const { names } = this;
    this.isEnded = name === names[0] ||
      name !== "HEAD" && name >= names.at(-1)!;
  }
}
