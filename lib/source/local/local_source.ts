// Local folders behind the source port: each folder directly below the root is a repository of the owner `local`. Its
// ids are Git's own for the files as they are, and bytes are returned only when they hash to the requested id. Names of
// repositories come from the root's listing alone, so nothing outside the root can be named. No cache miss is counted.

import { join } from "@std/path";
import pLimit from "p-limit";
import type { Clock } from "../../clock.ts";
import { branchNotFound, CollectionsError, sourceFailed } from "../../errors.ts";
import { describeError } from "../../log.ts";
import type { FileList } from "../file_list.ts";
import type { BlobResult, FileRef, RequestContext, Snapshot, Source } from "../source.ts";
import { checkedOutBranch } from "./checked_out_branch.ts";
import { isServedName, scanFolder, type ScanWork } from "./folder_scan.ts";
import {
  fileAt,
  type FolderState,
  listFiles,
  ScannedFileReader,
  type ScannedFolder,
} from "./folder_state.ts";

export const LOCAL_OWNER = "local";

const READ_AT_ONCE = 8;
const FRESH_FOR_MS = 1_000;

interface LocalSourceOptions {
  /** The folder whose sub-folders are served. */
  readonly root: string;
  readonly clock: Clock;
  /** How many files and folders a repository may have. */
  readonly maxEntries?: number;
}

/** Serves local folders as they are. */
export class LocalSource implements Source {
  private readonly folders = new Map<string, WatchedFolder>();
  private readonly reads = pLimit(READ_AT_ONCE);

  constructor(private readonly options: LocalSourceOptions) {}

  /**
   * The folder's state, at most a second old. Its one branch is requested by its name, as null or as `HEAD`.
   * @throws {CollectionsError} repository-not-found, branch-not-found, collection-too-large, or a source failure.
   */
  readonly resolve: Source["resolve"] = async ({ owner, repo, branch }, { signal }) => {
    signal?.throwIfAborted();
    const folder = await this.find(repo);
    const look = await folder.look().catch((cause) => {
      if (cause instanceof CollectionsError) throw cause;
      if (!(cause instanceof Deno.errors.NotFound)) throw unreadable(repo, cause);
      this.folders.delete(folder.name);
      throw localFolderNotFound(repo);
    });
    if (branch !== null && branch !== look.branch && branch !== "HEAD") {
      throw branchNotFound(branch, look.branch);
    }
    const { commit, checkedAtMs } = look.ref;
    return { ...look, name: { owner, repo }, commit, checkedAtMs, validators: folder.name };
  };

  readonly tree: Source["tree"] = (...of) => Promise.try(() => this.folderIn(...of).entries);

  /** Never null. */
  readonly files = (...of: Parameters<Source["files"]>): Promise<FileList> =>
    Promise.try(() => {
      const folder = this.folderIn(...of);
      return folder.list ??= listFiles(folder);
    });

  /** Folders are in memory, and read by their ids. */
  readonly filesAt = () => Promise.resolve(null);

  /** The bytes of files. A file that changed after the scan is an error, and causes a new scan. */
  readonly blobs: Source["blobs"] = async (snapshot, files, { signal }) => {
    const { folder, state } = this.stateOf(snapshot);
    const reader = folder && new ScannedFileReader(folder.path);
    const read = async ({ path, id }: FileRef): Promise<BlobResult> => {
      // Only a file that a scan listed is opened, whatever path is requested.
      const file = state && fileAt(state.root, path);
      if (!reader || file?.kind !== "file" || file.id !== id) return objectMissing(snapshot, id);
      const bytes = await reader.read(path, file).catch((cause) => unreadable(id, cause));
      if (bytes === null) folder?.expire();
      return bytes ?? sourceFailed(`Cannot read "${id}": it has changed`);
    };
    const results = await this.reads.map(files, async (file) => {
      signal?.throwIfAborted();
      return [file.id, await read(file)] as const;
    });
    return new Map(results);
  };

  readonly webUrl = () => null;

  /**
   * The folder with this name, else the first whose name differs in case only; links are no repositories.
   * @throws {CollectionsError} repository-not-found, or source-failed where the root cannot be listed.
   */
  private async find(repo: string): Promise<WatchedFolder> {
    const known = this.folders.get(repo);
    if (known !== undefined) return known;
    const name = await this.nameOf(repo);
    if (name === null) throw localFolderNotFound(repo);
    const folder = this.folders.get(name) ?? new WatchedFolder(name, this.options);
    this.folders.set(name, folder);
    return folder;
  }

  private async nameOf(repo: string): Promise<string | null> {
    let similar: string | null = null;
    try {
      for await (const { name, isDirectory } of Deno.readDir(this.options.root)) {
        if (!isDirectory || !isServedName(name)) continue;
        if (name === repo) return name;
        const isSimilar = name.toLowerCase() === repo.toLowerCase();
        if (isSimilar && (similar === null || name < similar)) similar = name;
      }
    } catch (cause) {
      throw unreadable("the local folders", cause);
    }
    return similar;
  }

  /** The folder of a snapshot, and its state if it is one of the last two. */
  private stateOf({ validators, commit }: Snapshot) {
    const folder = this.folders.get(validators);
    return { folder, state: folder?.states.find(({ root }) => root.id === commit) };
  }

  /** @throws {CollectionsError} source-failed where the folder is deleted. */
  private folderIn(snapshot: Snapshot, treeId: string, { signal }: RequestContext): ScannedFolder {
    signal?.throwIfAborted();
    const folder = this.stateOf(snapshot).state?.folders.get(treeId);
    if (folder === undefined) throw objectMissing(snapshot, treeId);
    return folder;
  }
}

type Look = Pick<Snapshot, "branch" | "ref" | "freshness">;

/** One local folder as it changes: scanned at most once a second, by one scan at a time. */
class WatchedFolder {
  readonly path: string;
  /** The last two, the latest first, so that a request that began to read one can finish when the next is there. */
  states: readonly FolderState[] = [];
  private last: Omit<Look, "freshness"> | null = null;
  private looking: Promise<Look> | null = null;

  constructor(readonly name: string, private readonly options: LocalSourceOptions) {
    this.path = join(options.root, name);
  }

  /** The folder as it was at most a second ago. Throws what {@linkcode scanFolder} throws. */
  async look(): Promise<Look> {
    const ageMs = this.options.clock.now() - (this.last?.ref.checkedAtMs ?? 0);
    if (this.last !== null && ageMs >= 0 && ageMs < FRESH_FOR_MS) {
      return { ...this.last, freshness: "hit" };
    }
    this.looking ??= this.scan().finally(() => this.looking = null);
    return await this.looking;
  }

  /** Has the next request scan the folder again. */
  expire(): void {
    if (this.last !== null) this.last.ref.checkedAtMs = 0;
  }

  private async scan(): Promise<Look> {
    const { clock, maxEntries = 1_000_000 } = this.options;
    const { last, path, states } = this;
    const checkedAtMs = clock.now();
    const work: ScanWork = { names: 0, reads: 0, blocks: 0, waitedMs: 0 };
    const branch = await checkedOutBranch(path);
    const state = await scanFolder(path, states[0] ?? null, { maxEntries, clock, work });
    const commit = state.root.id;
    this.states = [state, ...states.filter(({ root }) => root.id !== commit)].slice(0, 2);
    if (last?.branch === branch) {
      const freshness = last.ref.commit === commit ? "revalidated" : "moved";
      Object.assign(last.ref, { commit, checkedAtMs });
      return { ...last, freshness };
    }
    // A ref state belongs to one branch: the other's is not renewed any more.
    const times = { checkedAtMs, freshForMs: FRESH_FOR_MS, wantedAtMs: checkedAtMs };
    this.last = { branch, ref: { commit, ...times, previous: [] } };
    return { ...this.last, freshness: last === null ? "miss" : "moved" };
  }
}

/** Nothing local is private, so it names the folder. */
const localFolderNotFound = (repo: string) =>
  new CollectionsError("repository-not-found", `There is no local folder "${repo}".`);

function objectMissing({ name }: Snapshot, id: string): CollectionsError {
  return sourceFailed(`Cannot read "${id}": it is not in "${name.owner}/${name.repo}" any more`);
}

/** The log must not reveal where the folders are on this machine. */
function unreadable(what: string, cause: unknown): CollectionsError {
  return sourceFailed(`Cannot read "${what}": ${describeError(cause).error}`, { cause });
}
