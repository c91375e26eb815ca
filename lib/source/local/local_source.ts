// Local folders behind the source port: each folder directly below the root is a repository of the owner `local`. Its
// ids are Git's own for the files as they are, and bytes are returned only when they hash to the requested id. Names of
// repositories come from the root's listing alone, so nothing outside the root can be named. No cache miss is counted.

import { join } from "@std/path";
import pLimit from "p-limit";
import {
  branchNotFound,
  CollectionsError,
  localFolderNotFound,
  repositoryNotFound,
  sourceFailed,
} from "../../errors.ts";
import { describeError } from "../../log.ts";
import type { FileList } from "../file_list.ts";
import type {
  BlobResult,
  FileRef,
  RefQuery,
  RequestContext,
  Snapshot,
  Source,
  TreeEntry,
} from "../source.ts";
import {
  FolderTooLargeError,
  isServedName,
  readScannedFile,
  type ScanOptions,
} from "./folder_scan.ts";
import { type FolderState, type Look, WatchedFolder } from "./watched_folder.ts";

/** The owner that all local folders have, in any case. */
export const LOCAL_OWNER = "local";

const READ_AT_ONCE = 8;

/** Options of a {@linkcode LocalSource}; 1,000,000 entries and 100 levels where absent. */
export interface LocalSourceOptions extends Partial<Omit<ScanOptions, "now">> {
  /** The folder whose sub-folders are served. */
  readonly root: string;
  /** Milliseconds since the epoch, by the clock of the file system. */
  readonly now: () => number;
}

/** Serves local folders as they are. */
export class LocalSource implements Source {
  private readonly root: string;
  private readonly options: ScanOptions;
  /** The folders that were requested so far, by name. */
  private readonly folders = new Map<string, WatchedFolder>();
  private readonly limit = pLimit(READ_AT_ONCE);

  constructor({ root, ...options }: LocalSourceOptions) {
    this.root = root;
    this.options = { maxEntries: 1_000_000, maxDepth: 100, ...options };
  }

  /**
   * The folder's state, at most a second old. Its one branch is requested by its name, as null or as `HEAD`.
   * @throws {CollectionsError} repository-not-found, branch-not-found, collection-too-large, or a source failure.
   */
  async resolve({ owner, repo, branch }: RefQuery, { signal }: RequestContext): Promise<Snapshot> {
    signal?.throwIfAborted();
    if (owner.toLowerCase() !== LOCAL_OWNER) throw repositoryNotFound(owner, repo);
    const look = await this.look(repo);
    if (branch !== null && branch !== look.branch && branch !== "HEAD") {
      throw branchNotFound(branch, look.branch);
    }
    look.ref.wantedAtMs = this.options.now();
    const { id } = look.state.root;
    return {
      name: { owner, repo },
      branch: look.branch,
      commit: id,
      ref: look.ref,
      checkedAtMs: look.ref.checkedAtMs,
      freshness: look.freshness,
    };
  }

  /** One folder. @throws {CollectionsError} source-failed where it is deleted. */
  async tree(
    snapshot: Snapshot,
    treeId: string,
    { signal }: RequestContext,
  ): Promise<readonly TreeEntry[]> {
    signal?.throwIfAborted();
    const folder = this.stateOf(snapshot)?.tree(treeId);
    if (folder === undefined) throw objectMissing(snapshot, treeId);
    return await Promise.resolve([...folder.entries.values()]);
  }

  /** Every file below a folder, never null. @throws {CollectionsError} source-failed where it is deleted. */
  async files(snapshot: Snapshot, treeId: string, { signal }: RequestContext): Promise<FileList> {
    signal?.throwIfAborted();
    const files = this.stateOf(snapshot)?.files(treeId);
    if (files === undefined) throw objectMissing(snapshot, treeId);
    return await Promise.resolve(files);
  }

  /** Folders are in memory, and read by their ids. */
  filesAt(): Promise<null> {
    return Promise.resolve(null);
  }

  /** The bytes of files. A file that changed after the scan is an error, and causes a new scan. */
  async blobs(
    snapshot: Snapshot,
    files: readonly FileRef[],
    { signal }: RequestContext,
  ): Promise<ReadonlyMap<string, BlobResult>> {
    const distinct = new Map(files.map((file) => [file.id, file]));
    const read = async (file: FileRef): Promise<[string, BlobResult]> => {
      signal?.throwIfAborted();
      return [file.id, await this.blob(snapshot, file)];
    };
    return new Map(await this.limit.map(distinct.values(), read));
  }

  /** Local folders have no web pages. */
  webUrl(): null {
    return null;
  }

  private async look(repo: string): Promise<Look> {
    const folder = await this.find(repo);
    if (folder === null) throw localFolderNotFound(repo);
    try {
      return await folder.look();
    } catch (cause) {
      if (cause instanceof FolderTooLargeError) {
        const detail = `The folder "${repo}" cannot be served: ${cause.message}.`;
        throw new CollectionsError("collection-too-large", detail);
      }
      if (!(cause instanceof Deno.errors.NotFound)) throw unreadable(repo, cause);
      for (const [name, known] of this.folders) if (known === folder) this.folders.delete(name);
      throw localFolderNotFound(repo);
    }
  }

  /** The folder with this name, else the first whose name differs in case only, else null; links are no repositories. */
  private async find(repo: string): Promise<WatchedFolder | null> {
    const known = this.folders.get(repo);
    if (known !== undefined) return known;
    const entries = await Array.fromAsync(Deno.readDir(this.root)).catch((cause) => {
      throw unreadable("the local folders", cause);
    });
    const names = entries.filter((entry) => entry.isDirectory && isServedName(entry.name))
      .map((entry) => entry.name);
    const name = matchName(names, repo);
    if (name === null) return null;
    const folder = this.folders.get(name) ?? new WatchedFolder(join(this.root, name), this.options);
    this.folders.set(name, folder);
    return folder;
  }

  private folderOf({ name }: Snapshot): WatchedFolder | undefined {
    return this.folders.get(matchName([...this.folders.keys()], name.repo) ?? "");
  }

  private stateOf(snapshot: Snapshot): FolderState | null {
    return this.folderOf(snapshot)?.stateOf(snapshot.commit) ?? null;
  }

  private async blob(snapshot: Snapshot, file: FileRef): Promise<BlobResult> {
    // Only a file that a scan listed is opened, whatever path is requested.
    const folder = this.folderOf(snapshot);
    const seen = folder?.stateOf(snapshot.commit)?.file(file.path);
    if (folder === undefined || seen?.id !== file.id) return objectMissing(snapshot, file.id);
    try {
      const bytes = await readScannedFile(join(folder.path, file.path), seen);
      if (bytes !== null) return bytes;
    } catch (cause) {
      return unreadable(file.id, cause);
    }
    folder.expire();
    return sourceFailed(`Cannot read "${file.id}": it has changed`);
  }
}

function matchName(names: readonly string[], requested: string): string | null {
  if (names.includes(requested)) return requested;
  const lowerCase = requested.toLowerCase();
  return names.filter((name) => name.toLowerCase() === lowerCase).sort()[0] ?? null;
}

function objectMissing({ name }: Snapshot, id: string): CollectionsError {
  return sourceFailed(`Cannot read "${id}": it is not in "${name.owner}/${name.repo}" any more`);
}

/** The log must not reveal where the folders are on this machine. */
function unreadable(what: string, cause: unknown): CollectionsError {
  return sourceFailed(`Cannot read "${what}": ${describeError(cause).error}`, { cause });
}
