// GitHub behind the Repository port: ref -> commit -> root tree -> folder -> recursive tree of that folder alone, then
// blobs. Keeps nothing: what is kept, and for how long, is the cached repository's business.

import { sourceFailed } from "../errors.ts";
import type { FileList } from "./file_list.ts";
import { parseRecursiveTree, parseTree, refusal } from "./github_answers.ts";
import { GitHubBlobs } from "./github_blobs.ts";
import type { RequestKind } from "./github_client.ts";
import { askWithMoves } from "./github_moves.ts";
import { baseOf } from "./github_memo.ts";
import { findRef } from "./github_refs.ts";
import type { GitHubSource } from "./github_source.ts";
import {
  type BlobResult,
  type Caller,
  type FileRef,
  type RefQuestion,
  type Repository,
  signalOf,
  type Snapshot,
  type TreeEntry,
} from "./repository.ts";

/** The branch that is meant where none is given. */
export const DEFAULT_BRANCH = "main";

const TREE_MAX_BYTES = 64 << 20;
const TREE_TYPE = "application/vnd.github+json";

/** Reads repositories of one GitHub host. */
export class GitHubRepository implements Repository {
  private readonly blobs: GitHubBlobs;

  constructor(private readonly options: GitHubSource) {
    this.blobs = new GitHubBlobs(options);
  }

  async resolve(question: RefQuestion, caller: Caller): Promise<Snapshot> {
    const askedAtMs = this.options.now();
    const branch = question.branch ?? DEFAULT_BRANCH;
    const found = await findRef(
      { ...question, branch, caller },
      this.options,
    );
    const { commit } = found;
    return {
      name: { owner: question.owner, repo: question.repo },
      branch,
      commit,
      // GitHub takes a commit id where a tree id is asked for.
      rootTreeId: commit,
      check: { commit, askedAtMs, freshMs: this.options.freshMs, wantedAtMs: askedAtMs },
      memo: JSON.stringify(found.memo),
      askedAtMs,
      freshness: question.known === undefined ? "miss" : found.unchanged ? "revalidated" : "moved",
    };
  }

  async readTree(
    snapshot: Snapshot,
    treeId: string,
    caller: Caller,
  ): Promise<readonly TreeEntry[]> {
    return parseTree(await this.treeBytes(snapshot, { treeId, kind: "tree", caller }));
  }

  async readTreeRecursive(
    snapshot: Snapshot,
    treeId: string,
    caller: Caller,
  ): Promise<FileList | null> {
    const bytes = await this.treeBytes(snapshot, { treeId, kind: "tree-recursive", caller });
    return await parseRecursiveTree(bytes, "file");
  }

  async readFolders(snapshot: Snapshot, treeId: string, caller: Caller): Promise<FileList | null> {
    const bytes = await this.treeBytes(snapshot, { treeId, kind: "tree-recursive", caller });
    return await parseRecursiveTree(bytes, "folder");
  }

  readBlobs(
    snapshot: Snapshot,
    files: readonly FileRef[],
    caller: Caller,
  ): Promise<ReadonlyMap<string, BlobResult>> {
    return this.blobs.read(snapshot, files, caller);
  }

  htmlUrl(snapshot: Snapshot, path: string): string | null {
    const { webUrl } = this.options;
    if (webUrl === null) return null;
    const { owner, repo } = snapshot.name;
    const encode = (text: string) => text.split("/").map(encodeURIComponent).join("/");
    return `${webUrl}/${owner}/${repo}/blob/${encode(snapshot.branch)}/${encode(path)}`;
  }

  private async treeBytes(
    snapshot: Snapshot,
    question: { treeId: string; kind: RequestKind; caller: Caller },
  ): Promise<Uint8Array<ArrayBuffer>> {
    const answer = await askWithMoves(this.options.client, {
      apiUrl: this.options.apiUrl,
      base: baseOf(snapshot),
      // `recursive` means recursive whatever its value is, so a plain question leaves it out.
      rest: `/git/trees/${question.treeId}${
        question.kind === "tree-recursive" ? "?recursive=1" : ""
      }`,
      accept: TREE_TYPE,
      kind: question.kind,
      maxBytes: TREE_MAX_BYTES,
      ...signalOf(question.caller),
    });
    if (answer.status === 200) return answer.bytes;
    if (answer.status === 422) throw sourceFailed(`Cannot read "tree": GitHub answered 422`);
    throw refusal(snapshot.name, answer.status);
  }
}
