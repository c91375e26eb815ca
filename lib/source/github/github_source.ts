// Implements the Source port for GitHub: ref -> commit -> root tree -> folder
// -> recursive tree of that folder alone -> blobs. CachedSource does the
// caching.

import { encodePath } from "../../api/names.ts";
import { sourceFailed } from "../../errors.ts";
import { TimeLimitError } from "../../thread/compute.ts";
import { FileList } from "../file_list.ts";
import { isLfsId } from "../git_object_id.ts";
import {
  DEFAULT_BRANCH,
  resolveCommit,
  type Snapshot,
  type Source,
} from "../source.ts";
import { TreeEntries } from "../tree_entries.ts";
import { readBlobs } from "./blobs.ts";
import { GitHubClient, type GitHubClientOptions } from "./client.ts";
import { GitRefs } from "./git_refs.ts";
import {
  type GitHubAddresses,
  type GitHubHost,
  mayBeHidden,
  refusal,
  type RepositoryRequest,
  requestObject,
} from "./host.ts";
import { readHistory } from "./history.ts";
import { readLfsObjects } from "./lfs.ts";
import { findByRest } from "./refs.ts";
import { readTreeTask } from "./trees.ts";

interface GitHubSourceOptions
  extends
    Omit<GitHubClientOptions, "apiVersion">,
    Pick<GitHubHost, "allowedRepos" | "compute"> {
  addresses: GitHubAddresses;
}

/**
 * docs.github.com/rest/about-the-rest-api/breaking-changes: this version
 * changes none of the fields that are used here.
 */
const API_VERSION = "2026-03-10";

/**
 * 100,000 entries, the most that GitHub gives, have up to 400 bytes each here.
 * A longer recursive response counts as truncated.
 */
const TREE_MAX_BYTES = 40 << 20;
/** Larger responses take longer to parse than the first try of a task may. */
const LARGE_ANSWER_BYTES = 8 << 20;

/** Reads repositories of one GitHub host. */
export class GitHubSource implements Source {
  private readonly host: GitHubHost;
  private readonly git: GitRefs | null;

  constructor(options: GitHubSourceOptions) {
    const { addresses: { apiUrl, gitUrl, webUrl }, log } = options;
    // An older GitHub Enterprise Server returns 400 for an unknown version. It
    // has a default.
    const apiVersion = apiUrl.endsWith("/api/v3") ? undefined : API_VERSION;
    const client = new GitHubClient({ ...options, apiVersion });
    const lfsUrl = gitUrl ?? webUrl ?? new URL(apiUrl).origin;
    this.host = { ...options, ...options.addresses, lfsUrl, client };
    this.git = gitUrl === null
      ? null
      : new GitRefs({ ...this.host, gitUrl }, log);
  }

  readonly resolve: Source["resolve"] = async (query, context) => {
    const { host, git } = this;
    const { owner, repo } = query;
    const branch = query.branch ?? DEFAULT_BRANCH;
    const checkedAtMs = host.clock.now();
    await host.client.renewTokens(owner, context);
    // Git's own protocol costs no REST quota but sees only public repositories.
    const byGit = git === null || host.tokens.isReady("core", owner)
      ? { missing: null }
      : await git.find({ ...query, branch }, context);
    const missing = "commit" in byGit || mayBeHidden(host, owner)
      ? null
      : byGit.missing;
    const { commit, validators } = "commit" in byGit
      ? byGit
      : await findByRest(host, { ...query, branch }, context, missing);
    return {
      name: { owner, repo },
      branch,
      commit,
      // Nothing is remembered here. CachedSource has the live state and knows
      // the previous one.
      ref: { commit, checkedAtMs, freshForMs: 0, wantedAtMs: checkedAtMs },
      checkedAtMs,
      freshness: "new",
      validators: JSON.stringify(validators),
    };
  };

  readonly at: Source["at"] = (...of) => resolveCommit(this.resolve, ...of);

  readonly tree: Source["tree"] = async (snapshot, treeId, context) => {
    const path = `/git/trees/${treeId}`;
    const read = await this.readTree(snapshot, { kind: "tree", path, context });
    return new TreeEntries(new FileList(read!.bytes));
  };

  readonly files: Source["files"] = async (snapshot, treeId, context) => {
    // Any value of `recursive` means true. A plain request omits it.
    const path = `/git/trees/${treeId}?recursive=1`;
    const read = await this.readTree(snapshot, {
      kind: "tree-recursive",
      path,
      context,
    });
    return read && new FileList(read.bytes);
  };

  /**
   * Requests `git/trees/{commit}:{path}`. GitHub accepts this but does not
   * document it. The response therefore counts only if the folder's id follows
   * from its entries.
   */
  readonly filesAt: Source["filesAt"] = async (snapshot, folder, context) => {
    const path = `/git/trees/${
      encodeURIComponent(`${snapshot.commit}:${folder}`)
    }?recursive=1`;
    const request = {
      kind: "tree-recursive",
      path,
      context,
      mayBeAbsent: true,
    } as const;
    const read = await this.readTree(snapshot, request);
    return read?.treeId
      ? { treeId: read.treeId, files: new FileList(read.bytes) }
      : null;
  };

  readonly blobs: Source["blobs"] = async (snapshot, files, context) => {
    const { objects = [], blobs = [] } = Object.groupBy(
      files,
      ({ id }) => isLfsId(id) ? "objects" : "blobs",
    );
    const results = await Promise.all([
      readBlobs(this.host, snapshot, blobs, context),
      readLfsObjects(this.host, snapshot, objects, context),
    ]);
    return new Map(results.flatMap((map) => [...map]));
  };

  readonly history: Source["history"] = (...query) =>
    readHistory(this.host, ...query);

  readonly webUrl: Source["webUrl"] = (
    { name: { owner, repo }, branch },
    path,
  ) => {
    const { webUrl } = this.host;
    return webUrl &&
      `${webUrl}/${owner}/${repo}/blob/${encodePath(branch)}/${
        encodePath(path)
      }`;
  };

  /**
   * Returns null for a recursive response that is truncated or too long. Also
   * returns null for a missing tree if `mayBeAbsent` is set.
   */
  private async readTree(
    snapshot: Snapshot,
    { mayBeAbsent = false, ...request }:
      & Pick<RepositoryRequest, "kind" | "path" | "context">
      & { mayBeAbsent?: boolean },
  ) {
    const { context } = request;
    const accept = "application/vnd.github+json";
    const options = { ...request, accept, maxBytes: TREE_MAX_BYTES };
    const isRecursive = request.kind === "tree-recursive";
    const answer = await requestObject(this.host, snapshot, options)
      .catch((error) => {
        if (isRecursive && error.cause instanceof RangeError) return null;
        throw error;
      });
    if (answer === null) return null;
    const { status, bytes, release } = answer;
    try {
      if (mayBeAbsent && (status === 404 || status === 422)) return null;
      if (status !== 200) throw refusal(snapshot.name, status);
      const input = { answer: bytes, isRecursive };
      return await this.host.compute.run(readTreeTask, input, {
        ...context,
        // A tree takes less time for its bytes than other work.
        linearIn: bytes.length / 8,
        isLong: bytes.length > LARGE_ANSWER_BYTES,
      });
    } catch (error) {
      if (!(error instanceof TimeLimitError)) throw error;
      throw sourceFailed(
        `Cannot read "tree": the answer takes too long to parse`,
      );
    } finally {
      release();
    }
  }
}
