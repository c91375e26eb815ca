// Local folders behind the repository port: each folder directly below the root is a repository of the owner `local`.
// Its ids are Git's own for the files as they are, and bytes are given only when they hash to the id asked for. Reading
// here costs no quota, so no cache miss is counted.

import { join } from "@std/path";
import pLimit from "p-limit";
import {
  branchNotFound,
  CollectionsError,
  localFolderNotFound,
  repositoryNotFound,
  sourceFailed,
} from "../errors.ts";
import { describeError } from "../log.ts";
import type { FileList } from "./file_list.ts";
import { FolderTooLargeError } from "./folder_scan.ts";
import { LocalFolders } from "./local_folders.ts";
import type {
  BlobResult,
  Caller,
  FileRef,
  RefQuestion,
  Repository,
  Snapshot,
  TreeEntry,
} from "./repository.ts";
import { readScannedFile } from "./scanned_file.ts";
import type { Look } from "./watched_folder.ts";

/** The owner that all local folders have, in any case. */
export const LOCAL_OWNER = "local";

const READ_AT_ONCE = 8;

/** Options of a {@linkcode FolderRepository}. */
export interface FolderRepositoryOptions {
  /** The folder whose sub-folders are served. */
  readonly root: string;
  /** Milliseconds since the epoch, by the clock of the file system. */
  readonly now: () => number;
  /** How many files and folders one repository may hold. */
  readonly maxEntries?: number;
  /** How many folders may lie in each other. */
  readonly maxDepth?: number;
}

/** Serves local folders as they are. */
export class FolderRepository implements Repository {
  readonly #now: () => number;
  readonly #folders: LocalFolders;
  readonly #limit = pLimit(READ_AT_ONCE);

  constructor({ root, now, maxEntries = 1_000_000, maxDepth = 100 }: FolderRepositoryOptions) {
    this.#now = now;
    this.#folders = new LocalFolders(root, { now, maxEntries, maxDepth });
  }

  /**
   * The folder's state, at most a second old. Its one branch is asked for by its name, as null or as `HEAD`.
   * @throws {CollectionsError} repository-not-found, branch-not-found, collection-too-large, or a source failure.
   */
  async resolve({ owner, repo, branch }: RefQuestion, caller: Caller): Promise<Snapshot> {
    caller.signal?.throwIfAborted();
    if (owner.toLowerCase() !== LOCAL_OWNER) throw repositoryNotFound(owner, repo);
    const look = await this.#look({ owner, repo });
    if (branch !== null && branch !== look.branch && branch !== "HEAD") {
      throw branchNotFound(branch, look.branch);
    }
    look.check.wantedAtMs = this.#now();
    return {
      name: { owner, repo },
      branch: look.branch,
      commit: look.state.root.id,
      rootTreeId: look.state.root.id,
      check: look.check,
      askedAtMs: look.check.askedAtMs,
      freshness: look.freshness,
    };
  }

  /** One folder. @throws {CollectionsError} source-failed where it is gone. */
  readTree(snapshot: Snapshot, treeId: string, caller: Caller): Promise<readonly TreeEntry[]> {
    return Promise.try(() => {
      caller.signal?.throwIfAborted();
      const folder = this.#stateOf(snapshot)?.tree(treeId);
      if (!folder) throw gone(snapshot, treeId);
      return [...folder.entries.values()];
    });
  }

  /** Every file below a folder, never null. @throws {CollectionsError} source-failed where it is gone. */
  readTreeRecursive(snapshot: Snapshot, treeId: string, caller: Caller): Promise<FileList> {
    return Promise.try(() => {
      caller.signal?.throwIfAborted();
      const files = this.#stateOf(snapshot)?.files(treeId);
      if (!files) throw gone(snapshot, treeId);
      return files;
    });
  }

  /** Gives none: to go from folder to folder costs nothing here. */
  readFolders(): Promise<null> {
    return Promise.resolve(null);
  }

  /** The bytes of files. One that changed after the look is an error, and has the folder looked at anew. */
  async readBlobs(
    snapshot: Snapshot,
    files: readonly FileRef[],
    caller: Caller,
  ): Promise<ReadonlyMap<string, BlobResult>> {
    const distinct = new Map(files.map((file) => [file.id, file]));
    const results = Array.from(
      distinct.values(),
      (file) =>
        this.#limit(async (): Promise<[string, BlobResult]> => {
          caller.signal?.throwIfAborted();
          return [file.id, await this.#readBlob(snapshot, file)];
        }),
    );
    return new Map(await Promise.all(results));
  }

  /** Local folders have no web pages. */
  htmlUrl(): null {
    return null;
  }

  async #look({ owner, repo }: { owner: string; repo: string }): Promise<Look> {
    const folder = await this.#folders.find(repo);
    if (folder === null) throw localFolderNotFound(repo);
    try {
      return await folder.look();
    } catch (cause) {
      if (cause instanceof FolderTooLargeError) {
        const detail = `The folder "${repo}" cannot be served: ${cause.message}.`;
        throw new CollectionsError("collection-too-large", detail);
      }
      if (!(cause instanceof Deno.errors.NotFound)) {
        throw sourceFailed(`Cannot read "${owner}/${repo}": ${describeError(cause).error}`, {
          cause,
        });
      }
      this.#folders.forget(folder);
      throw localFolderNotFound(repo);
    }
  }

  #stateOf(snapshot: Snapshot) {
    return this.#folders.known(snapshot.name.repo)?.stateOf(snapshot.rootTreeId) ?? null;
  }

  async #readBlob(snapshot: Snapshot, file: FileRef): Promise<BlobResult> {
    // Only what a look saw is opened, whatever path is asked for.
    const folder = this.#folders.known(snapshot.name.repo);
    const seen = folder?.stateOf(snapshot.rootTreeId)?.file(file.path) ?? null;
    if (folder === null || seen?.id !== file.id) return gone(snapshot, file.id);
    try {
      const bytes = await readScannedFile(join(folder.path, file.path), seen);
      if (bytes !== null) return bytes;
    } catch (cause) {
      return sourceFailed(`Cannot read "${file.id}": ${describeError(cause).error}`, { cause });
    }
    folder.expire();
    return sourceFailed(`Cannot read "${file.id}": it has changed`);
  }
}

function gone({ name }: Snapshot, id: string): CollectionsError {
  return sourceFailed(`Cannot read "${id}": it is not in "${name.owner}/${name.repo}" any more`);
}
