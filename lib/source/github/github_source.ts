// GitHub behind the Source port: ref -> commit -> root tree -> folder -> recursive tree of that folder alone, then
// blobs. Caches nothing: CachedSource does.

import pLimit from "p-limit";
import type { AllowedRepos } from "../../allowed_repos.ts";
import type { Clock } from "../../clock.ts";
import { sourceFailed } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { type FileList, FileListBuilder } from "../file_list.ts";
import {
  type BlobResult,
  DEFAULT_BRANCH,
  type FileRef,
  type FolderFiles,
  type RefQuery,
  type RequestContext,
  type Snapshot,
  type Source,
  type TreeEntry,
} from "../source.ts";
import { refusal } from "./answers.ts";
import { readBlobs } from "./blobs.ts";
import { GitHubClient, type RequestObserver } from "./client.ts";
import { baseOf, type GitHubAddresses, type GitHubHost, requestRepository } from "./host.ts";
import { findRef, GitRefs } from "./git_refs.ts";
import type { TokenPool } from "./tokens.ts";
import { parseInWorker } from "./tree_parser.ts";
import { parseFolder, parseTree } from "./trees.ts";

/** Options of {@linkcode GitHubSource}. */
export interface GitHubSourceOptions {
  readonly addresses: GitHubAddresses;
  readonly tokens: TokenPool;
  readonly clock: Clock;
  readonly log: Log;
  /** Time allowed for one request, in ms. */
  readonly timeoutMs: number;
  readonly userAgent: string;
  /** Null serves every public repository. */
  readonly allowedRepos: AllowedRepos | null;
  /** How long a checked ref may be served without another check, in ms. */
  readonly freshForMs: number;
  /** Called after each request that was sent, for metrics and health. */
  readonly onRequest?: RequestObserver;
}

const TREE_MAX_BYTES = 64 << 20;
const TREE_TYPE = "application/vnd.github+json";
/** Parsed JSON takes many times its bytes: large answers are parsed one at a time. */
const LARGE_ANSWER_BYTES = 1 << 20;
const MAX_PATHS_REFUSED = 3;

/** Reads repositories of one GitHub host. */
export class GitHubSource implements Source {
  private readonly host: GitHubHost;
  private readonly git: GitRefs | null;
  private readonly largeAnswers = pLimit(1);
  /** Requests by path that failed; none counts after one that did not. */
  private pathsRefused = 0;

  constructor(private readonly options: GitHubSourceOptions) {
    const { addresses, tokens, clock, allowedRepos } = options;
    const client = new GitHubClient(options);
    this.host = { ...addresses, client, tokens, clock, allowedRepos };
    const { gitUrl } = addresses;
    this.git = gitUrl === null ? null : new GitRefs(this.host, { ...options, gitUrl });
  }

  async resolve(query: RefQuery, context: RequestContext): Promise<Snapshot> {
    const checkedAtMs = this.options.clock.now();
    const branch = query.branch ?? DEFAULT_BRANCH;
    const ways = { host: this.host, git: this.git };
    const { commit, validators } = await findRef(ways, { ...query, branch }, context);
    return {
      name: { owner: query.owner, repo: query.repo },
      branch,
      commit,
      ref: {
        commit,
        checkedAtMs,
        freshForMs: this.options.freshForMs,
        wantedAtMs: checkedAtMs,
        previous: [],
      },
      checkedAtMs,
      freshness: query.known === undefined
        ? "miss"
        : query.known.commit === commit
        ? "revalidated"
        : "moved",
      validators: JSON.stringify(validators),
    };
  }

  tree(
    snapshot: Snapshot,
    treeId: string,
    context: RequestContext,
  ): Promise<readonly TreeEntry[]> {
    return this.readTree(snapshot, treeId, { kind: "tree", parse: parseTree, context });
  }

  async files(
    snapshot: Snapshot,
    treeId: string,
    context: RequestContext,
  ): Promise<FileList | null> {
    const folder = await this.readFolder(snapshot, treeId, { withId: false, context });
    return folder?.files ?? null;
  }

  /**
   * By `git/trees/{commit}:{path}`, which GitHub takes and does not document, so its answer counts only where the id of
   * the folder follows from its entries. A host that takes none of three such requests gets no more.
   */
  async filesAt(
    snapshot: Snapshot,
    path: string,
    context: RequestContext,
  ): Promise<FolderFiles | null> {
    if (this.pathsRefused >= MAX_PATHS_REFUSED) return null;
    const name = encodeURIComponent(`${snapshot.commit}:${path}`);
    const folder = await this.readFolder(snapshot, name, { withId: true, context });
    if (folder === null) return null;
    if (folder.treeId !== "") {
      this.pathsRefused = -Infinity;
      return folder;
    }
    this.pathsRefused++;
    return null;
  }

  blobs(
    snapshot: Snapshot,
    files: readonly FileRef[],
    context: RequestContext,
  ): Promise<ReadonlyMap<string, BlobResult>> {
    return readBlobs(this.host, snapshot, files, context);
  }

  webUrl(snapshot: Snapshot, path: string): string | null {
    const { webUrl } = this.host;
    if (webUrl === null) return null;
    const { owner, repo } = snapshot.name;
    const encode = (text: string) => text.split("/").map(encodeURIComponent).join("/");
    return `${webUrl}/${owner}/${repo}/blob/${encode(snapshot.branch)}/${encode(path)}`;
  }

  private readFolder(
    snapshot: Snapshot,
    name: string,
    { withId, context }: { withId: boolean; context: RequestContext },
  ): Promise<FolderFiles | null> {
    return this.readTree(snapshot, name, {
      kind: "tree-recursive",
      parse: (bytes) => parseFolder(bytes, { withId }),
      parseLarge: (bytes) => parseInWorker(bytes, { clock: this.options.clock, withId }),
      ...(withId ? { absent: { treeId: "", files: new FileListBuilder().build() } } : {}),
      context,
    });
  }

  private async readTree<T>(
    snapshot: Snapshot,
    treeId: string,
    { kind, parse, parseLarge = parse, absent, context }: {
      kind: "tree" | "tree-recursive";
      parse: (bytes: Uint8Array<ArrayBuffer>) => T | Promise<T>;
      /** For answers over 1 MiB; takes the bytes away. */
      parseLarge?: (bytes: Uint8Array<ArrayBuffer>) => T | Promise<T>;
      /** The result where there is no such tree, which is an error without it. */
      absent?: T;
      context: RequestContext;
    },
  ): Promise<T> {
    const answer = await requestRepository(this.host, {
      base: baseOf(snapshot),
      // `recursive` means recursive whatever its value is, so a plain request leaves it out.
      rest: `/git/trees/${treeId}${kind === "tree-recursive" ? "?recursive=1" : ""}`,
      accept: TREE_TYPE,
      kind,
      maxBytes: TREE_MAX_BYTES,
      context,
    });
    try {
      const { status, bytes } = answer;
      if (absent !== undefined && (status === 404 || status === 422)) return absent;
      if (status === 422) throw sourceFailed(`Cannot read "tree": GitHub answered 422`);
      if (status !== 200) throw refusal(snapshot.name, status);
      return bytes.length < LARGE_ANSWER_BYTES
        ? await parse(bytes)
        : await this.largeAnswers(() => parseLarge(bytes));
    } finally {
      answer.release();
    }
  }
}
