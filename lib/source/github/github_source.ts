// GitHub behind the Source port: ref -> commit -> root tree -> folder -> recursive tree of that folder alone, then
// blobs. Caches nothing: CachedSource does.

import pLimit from "p-limit";
import type { Log } from "../../log.ts";
import { FileListBuilder } from "../file_list.ts";
import {
  DEFAULT_BRANCH,
  type FolderFiles,
  type RequestContext,
  type Snapshot,
  type Source,
} from "../source.ts";
import { readBlobs } from "./blobs.ts";
import { GitHubClient, type GitHubClientOptions } from "./client.ts";
import { GitRefs } from "./git_refs.ts";
import {
  baseOf,
  type GitHubAddresses,
  type GitHubHost,
  refusal,
  requestRepository,
} from "./host.ts";
import { findRefByRest } from "./refs.ts";
import { parseFolder, parseInWorker, parseTree } from "./trees.ts";

/** Options of {@linkcode GitHubSource}. */
export interface GitHubSourceOptions extends GitHubClientOptions, Pick<GitHubHost, "allowedRepos"> {
  readonly addresses: GitHubAddresses;
  readonly log: Log;
  /** How long a checked ref may be served without another check, in ms. */
  readonly freshForMs: number;
}

const TREE_MAX_BYTES = 64 << 20;
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
    const { addresses, tokens, clock, allowedRepos, log } = options;
    this.host = { ...addresses, client: new GitHubClient(options), tokens, clock, allowedRepos };
    const { gitUrl } = addresses;
    this.git = gitUrl === null ? null : new GitRefs({ ...this.host, gitUrl }, log);
  }

  readonly resolve: Source["resolve"] = async (query, context) => {
    const { host, git, options: { freshForMs } } = this;
    const { owner, repo, known } = query;
    const branch = query.branch ?? DEFAULT_BRANCH;
    const checkedAtMs = host.clock.now();
    // Git's own protocol costs no REST quota, but sees public repositories alone.
    const byGit = git === null || host.tokens.hasToken
      ? { denial: null }
      : await git.find({ ...query, branch }, context);
    const { commit, validators } = "commit" in byGit
      ? byGit
      : await findRefByRest(host, { ...query, branch }, { ...byGit, context });
    const changed = known?.commit === commit ? "revalidated" : "moved";
    return {
      name: { owner, repo },
      branch,
      commit,
      ref: { commit, checkedAtMs, freshForMs, wantedAtMs: checkedAtMs, previous: [] },
      checkedAtMs,
      freshness: known === undefined ? "miss" : changed,
      validators: JSON.stringify(validators),
    };
  };

  readonly tree: Source["tree"] = (snapshot, treeId, context) =>
    this.readTree(snapshot, { kind: "tree", name: treeId, parse: parseTree, context });

  readonly files: Source["files"] = async (snapshot, treeId, context) => {
    const folder = await this.readFolder(snapshot, { name: treeId, withId: false, context });
    return folder?.files ?? null;
  };

  /**
   * By `git/trees/{commit}:{path}`, which GitHub takes and does not document, so its answer counts only where the id of
   * the folder follows from its entries. A host that takes none of three such requests gets no more.
   */
  readonly filesAt: Source["filesAt"] = async (snapshot, path, context) => {
    if (this.pathsRefused >= MAX_PATHS_REFUSED) return null;
    const name = encodeURIComponent(`${snapshot.commit}:${path}`);
    const folder = await this.readFolder(snapshot, { name, withId: true, context });
    if (folder === null) return null;
    const isTaken = folder.treeId !== "";
    this.pathsRefused = isTaken ? -Infinity : this.pathsRefused + 1;
    return isTaken ? folder : null;
  };

  readonly blobs: Source["blobs"] = (snapshot, files, context) =>
    readBlobs(this.host, snapshot, files, context);

  readonly webUrl: Source["webUrl"] = ({ name: { owner, repo }, branch }, path) => {
    const { webUrl } = this.host;
    const encode = (text: string) => text.split("/").map(encodeURIComponent).join("/");
    return webUrl && `${webUrl}/${owner}/${repo}/blob/${encode(branch)}/${encode(path)}`;
  };

  private readFolder(
    snapshot: Snapshot,
    { name, withId, context }: { name: string; withId: boolean; context: RequestContext },
  ): Promise<FolderFiles | null> {
    return this.readTree(snapshot, {
      kind: "tree-recursive",
      name,
      parse: (bytes) =>
        bytes.length < LARGE_ANSWER_BYTES
          ? parseFolder(bytes, withId)
          : parseInWorker({ bytes, withId }, this.options.clock),
      ...(withId ? { absent: { treeId: "", files: new FileListBuilder().build() } } : {}),
      context,
    });
  }

  private async readTree<T>(
    snapshot: Snapshot,
    { kind, name, parse, absent, context }: {
      kind: "tree" | "tree-recursive";
      name: string;
      parse: (bytes: Uint8Array<ArrayBuffer>) => T | Promise<T>;
      /** The result where there is no such tree, which is an error without it. */
      absent?: T;
      context: RequestContext;
    },
  ): Promise<T> {
    const { status, bytes, release } = await requestRepository(this.host, {
      base: baseOf(snapshot),
      // `recursive` means recursive whatever its value is, so a plain request leaves it out.
      rest: `/git/trees/${name}${kind === "tree-recursive" ? "?recursive=1" : ""}`,
      accept: "application/vnd.github+json",
      kind,
      maxBytes: TREE_MAX_BYTES,
      context,
    });
    try {
      if (absent !== undefined && (status === 404 || status === 422)) return absent;
      if (status !== 200) throw refusal(snapshot.name, status);
      return bytes.length < LARGE_ANSWER_BYTES
        ? await parse(bytes)
        : await this.largeAnswers(() => parse(bytes));
    } finally {
      release();
    }
  }
}
