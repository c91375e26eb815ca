// Local folders behind the source port: each folder directly below the root is a repository of the owner `local`. Its
// ids are Git's own for the files as they are, and bytes are returned only when they hash to the requested id. Names of
// repositories come from the root's listing alone, so nothing outside the root can be named. No cache miss is counted.

import { join } from "@std/path";
import pLimit, { type LimitFunction } from "p-limit";
import type { Clock } from "../../clock.ts";
import { branchNotFound, CollectionsError, lfsObjectMissing, sourceFailed } from "../../errors.ts";
import { describeError } from "../../log.ts";
import type { FileList } from "../file_list.ts";
import { isLfsId } from "../git_object_id.ts";
import type { BlobResult, FileRef, RequestContext, Snapshot, Source } from "../source.ts";
import { checkedOutBranch } from "./checked_out_branch.ts";
import { isServedName, scanFolder, type ScanWork } from "./folder_scan.ts";
import {
  entriesOf,
  fileAt,
  type FolderState,
  listFiles,
  readLfsObject,
  readScanned,
  type ScannedFolder,
} from "./folder_state.ts";

export const LOCAL_OWNER = "local";

const READ_AT_ONCE = 8;
const SCANS_AT_ONCE = 2;
const MIN_FRESH_MS = 1_000;
/** After a scan, a folder rests for so many times as long as the scan took. */
const REST_FACTOR = 4;
const MAX_REST_MS = 30_000;
/** The processor time of a scan, in ms for each name, each file that is read, and each block of it. Measured. */
const COST_MS = { name: 0.04, read: 0.1, block: 0.1 };

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
  private readonly scans = pLimit(SCANS_AT_ONCE);

  constructor(private readonly options: LocalSourceOptions) {}

  /**
   * Returns the folder's state, and scans the folder first if the state is no longer fresh. The request that starts a scan
   * is charged for it. The folder's one branch is requested by its name, as null or as `HEAD`.
   * @throws {CollectionsError} repository-not-found, branch-not-found, collection-too-large, or a source failure.
   */
  readonly resolve: Source["resolve"] = async ({ owner, repo, branch }, context) => {
    context.signal?.throwIfAborted();
    const folder = await this.find(repo);
    const look = await folder.look(context).catch((cause) => {
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

  readonly tree: Source["tree"] = (...of) =>
    Promise.try(() => {
      const folder = this.folderIn(...of);
      return folder.tree ??= entriesOf(folder);
    });

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
    const read = async (ref: FileRef): Promise<BlobResult> => {
      const { path, id } = ref;
      if (folder && isLfsId(id)) {
        const bytes = await readLfsObject(folder.path, ref).catch((cause) => unreadable(id, cause));
        return bytes ?? lfsObjectMissing(path);
      }
      // Only a file that a scan listed is opened, whatever path is requested.
      const file = state && fileAt(state.root, path);
      if (!folder || file?.kind !== "file" || file.id !== id) return objectMissing(snapshot, id);
      const bytes = await readScanned(folder.path, path, file).catch((cause) =>
        unreadable(id, cause)
      );
      if (bytes === null) folder.expire();
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
    const folder = this.folders.get(name) ?? new WatchedFolder(name, this.options, this.scans);
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

/** One local folder as it changes. There is one scan of it at a time, and a rest between two scans. */
class WatchedFolder {
  readonly path: string;
  /** The last two, the latest first, so that a request that began to read one can finish when the next is there. */
  states: readonly FolderState[] = [];
  private last: Omit<Look, "freshness"> | null = null;
  private looking: Promise<Look> | null = null;
  /** The error of the last scan; null if it succeeded. */
  private failure: unknown = null;
  /** By `clock.monotonicMs()`: when the last scan ended. The folder rests for `restMs` after it. */
  private endedAtMs = 0;
  private restMs = 0;
  /** When the last scan that {@linkcode expire} caused has ended. */
  private expiredAtMs = -Infinity;

  constructor(
    readonly name: string,
    private readonly options: LocalSourceOptions,
    private readonly scans: LimitFunction,
  ) {
    this.path = join(options.root, name);
  }

  /** Returns the folder's state, after a scan if it is not fresh. Throws what {@linkcode scanFolder} throws. */
  async look(context: RequestContext): Promise<Look> {
    if (this.last !== null) {
      const { checkedAtMs, freshForMs } = this.last.ref;
      const ageMs = this.options.clock.now() - checkedAtMs;
      if (ageMs >= 0 && ageMs < freshForMs) return { ...this.last, freshness: "hit" };
    }
    if (this.failure !== null && this.rests(this.endedAtMs)) throw this.failure;
    this.looking ??= this.scans(() => this.scan(context)).finally(() => this.looking = null);
    return await this.looking;
  }

  /** Makes the next request scan the folder, unless the folder rests after a scan that this caused. */
  expire(): void {
    if (this.last !== null && !this.rests(this.expiredAtMs)) this.last.ref.checkedAtMs = 0;
  }

  private rests(sinceMs: number): boolean {
    return this.options.clock.monotonicMs() - sinceMs < this.restMs;
  }

  private async scan(context: RequestContext): Promise<Look> {
    const { clock } = this.options;
    const isExpired = this.last?.ref.checkedAtMs === 0;
    const startedAtMs = clock.monotonicMs();
    const checkedAtMs = clock.now();
    const work: ScanWork = { names: 0, reads: 0, blocks: 0 };
    const [outcome] = await Promise.allSettled([this.read(work)]);
    this.endedAtMs = clock.monotonicMs();
    const tookMs = this.endedAtMs - startedAtMs;
    this.restMs = Math.min(tookMs * REST_FACTOR, MAX_REST_MS);
    if (isExpired) this.expiredAtMs = this.endedAtMs;
    context.charge(Math.min(tookMs, processorMs(work)));
    this.failure = outcome.status === "rejected" ? outcome.reason : null;
    if (outcome.status === "rejected") throw outcome.reason;
    const freshForMs = Math.max(MIN_FRESH_MS, tookMs + this.restMs);
    return this.update(outcome.value, { checkedAtMs, freshForMs });
  }

  private async read(work: ScanWork) {
    const { clock, maxEntries = 1_000_000 } = this.options;
    const branch = await checkedOutBranch(this.path);
    const state = await scanFolder(this.path, this.states[0] ?? null, { maxEntries, clock, work });
    return { branch, state };
  }

  private update(
    { branch, state }: { readonly branch: string; readonly state: FolderState },
    times: Pick<Look["ref"], "checkedAtMs" | "freshForMs">,
  ): Look {
    const { last } = this;
    const commit = state.root.id;
    this.states = [state, ...this.states.filter(({ root }) => root.id !== commit)].slice(0, 2);
    if (last?.branch === branch) {
      const freshness = last.ref.commit === commit ? "revalidated" : "moved";
      Object.assign(last.ref, { commit, ...times });
      return { ...last, freshness };
    }
    // A ref state belongs to one branch: the other's is not renewed any more.
    const ref = { commit, ...times, wantedAtMs: times.checkedAtMs, previous: [] };
    this.last = { branch, ref };
    return { ...this.last, freshness: last === null ? "miss" : "moved" };
  }
}

const processorMs = ({ names, reads, blocks }: ScanWork) =>
  names * COST_MS.name + reads * COST_MS.read + blocks * COST_MS.block;

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
