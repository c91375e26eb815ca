// Serves local folders through the source port. Each folder directly below the
// root is a repository of the owner `local`. Its ids are Git's ids for the
// files as they are. Bytes are returned only if they hash to the requested id.
// Names of repositories come from the listing of the root only, so nothing
// outside the root can be named. Scans and reads are charged their processor
// time instead of a miss.

import { join } from "@std/path";
import { LRUCache } from "lru-cache";
import pLimit, { type LimitFunction } from "p-limit";
import type { Clock } from "../../work/clock.ts";
import { SingleFlight } from "../../work/single_flight.ts";
import {
  branchNotFound,
  codeOf,
  CollectionsError,
  itemNotFound,
  sourceFailed,
} from "../../errors.ts";
import { describeError } from "../../log.ts";
import { type Compute, TimeLimitError } from "../../thread/compute.ts";
import { type FileList, MAX_LIST_BYTES } from "../file_list.ts";
import { isLfsId, orderTask } from "../git_object_id.ts";
import type {
  BlobResult,
  FileRef,
  RequestContext,
  Snapshot,
  Source,
} from "../source.ts";
import type { TreeEntries } from "../tree_entries.ts";
import {
  checkedPath,
  FILES_AT_ONCE,
  nullIfMissing,
  readEach,
} from "./checked_file.ts";
import { checkedOutBranch } from "./checked_out_branch.ts";
import { GitHistory } from "./git_history.ts";
import { isServedName, scanFolder } from "./folder_scan.ts";
import {
  entryAt,
  type FolderState,
  listFiles,
  readExact,
  type ScanWork,
} from "./folder_state.ts";

export const LOCAL_OWNER = "local";

const SCANS_AT_ONCE = 2;
const MIN_FRESH_MS = 1_000;
/** The pause after a scan is this many times as long as the scan. */
const PAUSE_FACTOR = 4;
const MAX_PAUSE_MS = 30_000;
/**
 * The processor time in ms for each name of a folder, each file that is read,
 * each of its blocks, and each file of a list. Measured.
 */
const COST_MS = { name: 0.03, read: 0.07, block: 0.1, listed: 0.0005 };

/** A file takes up to 300 bytes of memory. */
const MAX_ENTRIES = 250_000;
/** How many of the largest folders are kept in memory. */
const MAX_KEPT = 2;

interface LocalSourceOptions {
  /** The folder whose sub-folders are served. */
  root: string;
  compute: Compute;
  clock: Clock;
  /** The maximum number of files and folders in a repository. */
  maxEntries?: number;
  /** The maximum size in memory of a list, and of all lists that are kept. */
  maxListBytes?: number;
  /** Returns how many bytes of memory the process may still take. */
  memoryLeft?: () => number;
}

/** Serves local folders as they are. */
export class LocalSource implements Source {
  /** The folders that were used last, by their names. */
  private readonly folders: LRUCache<string, WatchedFolder>;
  private readonly scans = pLimit(SCANS_AT_ONCE);
  /** Reads of all requests. Scans do not wait for them. */
  private readonly reads = pLimit(FILES_AT_ONCE);
  /** The lists that were used last, by the folder that they are below. */
  private readonly lists: LRUCache<TreeEntries, FileList | "too large">;
  private readonly listing = new SingleFlight<FileList | "too large">();
  /** One list at a time, so that each one shows in the memory that is left. */
  private readonly listings = pLimit(1);

  private readonly gitHistory: GitHistory;
  private readonly maxListBytes: number;

  constructor(private readonly options: LocalSourceOptions) {
    this.gitHistory = new GitHistory(options.clock);
    const { maxEntries = MAX_ENTRIES } = options;
    this.folders = new LRUCache({
      maxSize: MAX_KEPT * (1 + maxEntries),
      sizeCalculation: ({ entries }) => 1 + entries,
    });
    this.maxListBytes = options.maxListBytes ?? MAX_LIST_BYTES;
    this.lists = new LRUCache({
      maxSize: this.maxListBytes,
      sizeCalculation: (list) => list === "too large" ? 1 : list.bytes.length,
    });
  }

  /**
   * Returns the folder's state. Scans the folder first if the state is no
   * longer fresh. The request that starts a scan is charged for it. The folder
   * has one branch. It is requested by its name, null or `HEAD`.
   * @throws {CollectionsError} repository-not-found, branch-not-found,
   * collection-too-large, too-many-requests or a source failure.
   */
  readonly resolve: Source["resolve"] = async (
    { owner, repo, branch },
    context,
  ) => {
    context.signal?.throwIfAborted();
    const folder = await this.find(repo, context);
    const found = await folder.resolve(context).catch((cause) => {
      if (cause instanceof CollectionsError) throw cause;
      if (!(cause instanceof Deno.errors.NotFound)) {
        throw unreadable(repo, cause);
      }
      this.folders.delete(folder.name);
      throw localFolderNotFound(repo);
    });
    if (found.freshness !== "fresh") {
      // The size of a value is counted when it is set. Another folder's scan
      // may have dropped this one.
      this.folders.delete(folder.name);
      this.folders.set(folder.name, folder);
    }
    if (branch !== null && branch !== found.branch && branch !== "HEAD") {
      throw branchNotFound(branch, found.branch);
    }
    const { commit, checkedAtMs } = found.ref;
    return {
      ...found,
      name: { owner, repo },
      commit,
      checkedAtMs,
      validators: folder.name,
    };
  };

  readonly at: Source["at"] = (snapshot, commit) => {
    const found = { ...snapshot, commit };
    return Promise.resolve(this.stateOf(found).state ? found : null);
  };

  readonly tree: Source["tree"] = (...of) =>
    Promise.try(() => this.folderIn(...of).tree);

  /**
   * Never resolves to null.
   * @throws {CollectionsError} collection-too-large, service-busy, or what
   * {@linkcode Source.files} throws.
   */
  readonly files = async (
    ...[snapshot, treeId, context]: Parameters<Source["files"]>
  ): Promise<FileList> => {
    const { state, tree } = this.folderIn(snapshot, treeId, context);
    const { lists, maxListBytes } = this;
    const { memoryLeft = () => Infinity } = this.options;
    const folder = snapshot.validators;
    const list = async (signal: AbortSignal) => {
      const work = { listed: 0 };
      const files = await listFiles(state, treeId, {
        maxBytes: maxListBytes,
        memoryLeft,
        work,
        signal,
      }).finally(() => context.charge(work.listed * COST_MS.listed));
      const listed = files ?? "too large";
      lists.set(tree, listed);
      return listed;
    };
    const found = lists.get(tree) ??
      await this.listing.run(
        `${folder} ${treeId}`,
        (signal) => this.listings(() => list(signal)),
        context.signal,
      );
    if (found !== "too large") return found;
    const why = `a list of its files takes more than ${maxListBytes} bytes`;
    throw tooLarge(
      `The folder cannot be listed whole: ${why} of memory. Ask for one of ` +
        "its sub-folders.",
    );
  };

  /**
   * Drops the lists that were used least recently until half of their maximum
   * size is free.
   */
  trim(): void {
    const { lists } = this;
    while (lists.calculatedSize > lists.maxSize / 2) lists.pop();
  }

  /** Folders are in memory and are found by their ids. */
  readonly filesAt = () => Promise.resolve(null);

  /**
   * Returns the bytes of files. A file that changed after the scan is an error
   * and causes a new scan.
   */
  readonly blobs: Source["blobs"] = async (snapshot, files, context) => {
    context.signal?.throwIfAborted();
    if (files.length === 0) return new Map();
    const { folder, state } = this.stateOf(snapshot);
    const at = folder &&
      await this.reads(() =>
        nullIfMissing(checkedPath(folder.path))
          .catch((cause) => unreadable(folder.name, cause))
      );
    const read = async (ref: FileRef): Promise<BlobResult> => {
      const { path, id } = ref;
      const isLfs = isLfsId(id);
      // Only a file that a scan listed is opened, whatever path is requested.
      const file = state && entryAt(state, path);
      const isListed = file?.kind === "file" && (isLfs || file.id === id);
      if (!folder || !at || !isListed) return objectMissing(snapshot, id);
      if (at instanceof CollectionsError) return at;
      const from = isLfs
        ? `.git/lfs/objects/${id.slice(0, 2)}/${id.slice(2, 4)}/${id}`
        : path;
      const work = { reads: 0, blocks: 0 };
      const bytes = await readExact(at, from, isLfs ? ref : file, work)
        .catch((cause) => unreadable(id, cause));
      context.charge(costOf(work));
      if (bytes !== null) return bytes;
      if (isLfs) return itemNotFound(path, "missing object");
      folder.expire();
      return sourceFailed(`Cannot read "${id}": it has changed`, LOCAL);
    };
    return new Map(
      await readEach(files, (file) =>
        this.reads(async () => {
          context.signal?.throwIfAborted();
          return [file.id, await read(file)] as const;
        })),
    );
  };

  readonly history: Source["history"] = (snapshot, ...of) =>
    this.gitHistory.read(join(this.options.root, snapshot.validators), ...of);

  readonly webUrl = () => null;

  /**
   * Returns the folder with this name. Otherwise returns the first folder whose
   * name differs only in case. Links are not repositories.
   * @throws {CollectionsError} repository-not-found, too-many-requests if the
   * client is over its limit, or source-failed if the root cannot be listed.
   */
  private async find(
    repo: string,
    context: RequestContext,
  ): Promise<WatchedFolder> {
    const known = this.folders.get(repo);
    if (known !== undefined) return known;
    context.requireMiss();
    const names: string[] = [];
    try {
      for await (
        const { name, isDirectory } of Deno.readDir(this.options.root)
      ) {
        context.charge(costOf({ names: 1 }));
        const isSimilar = name.toLowerCase() === repo.toLowerCase();
        if (isDirectory && isServedName(name) && isSimilar) names.push(name);
      }
    } catch (cause) {
      throw unreadable("the local folders", cause);
    }
    const name = names.includes(repo) ? repo : names.sort()[0];
    if (name === undefined) throw localFolderNotFound(repo);
    const folder = this.folders.get(name) ??
      new WatchedFolder(name, this.options, this.scans);
    this.folders.set(name, folder);
    return folder;
  }

  /**
   * Returns the folder of a snapshot. Returns its state if it is one of the
   * last two.
   */
  private stateOf({ validators, commit }: Snapshot) {
    const folder = this.folders.get(validators);
    return { folder, state: folder?.states.find(({ id }) => id === commit) };
  }

  /** @throws {CollectionsError} source-failed if the folder is deleted. */
  private folderIn(
    snapshot: Snapshot,
    treeId: string,
    { signal }: RequestContext,
  ) {
    signal?.throwIfAborted();
    const { state } = this.stateOf(snapshot);
    const tree = state?.folders.get(treeId);
    if (tree === undefined) throw objectMissing(snapshot, treeId);
    return { state: state!, tree };
  }
}

type FoundRef = Pick<Snapshot, "branch" | "ref" | "freshness">;

/**
 * One local folder that changes over time. It has one scan at a time and a
 * pause between two scans.
 */
class WatchedFolder {
  readonly path: string;
  /**
   * The last two states with the latest first. A request that started with the
   * older state can finish after the next scan.
   */
  states: readonly FolderState[] = [];
  /** The number of files and folders of the last scan. */
  entries = 0;
  private last: Omit<FoundRef, "freshness"> | null = null;
  private scanning: Promise<FoundRef> | null = null;
  /** The error of the last scan. Null if it succeeded. */
  private failure: unknown = null;
  /**
   * The end of the pause after the last scan by `clock.monotonicMs()`.
   * `expiredUntilMs` is the same for the last scan that `expire` caused.
   */
  private pausedUntilMs = -Infinity;
  private expiredUntilMs = -Infinity;

  constructor(
    readonly name: string,
    private readonly options: LocalSourceOptions,
    private readonly scans: LimitFunction,
  ) {
    this.path = join(options.root, name);
  }

  /**
   * Returns the folder's state and scans the folder first if it is not fresh.
   * @throws {CollectionsError} too-many-requests if the client is over its
   * limit.
   * @throws what {@linkcode scanFolder} throws.
   */
  async resolve(context: RequestContext): Promise<FoundRef> {
    const { clock } = this.options;
    if (this.last !== null) {
      const { checkedAtMs, freshForMs } = this.last.ref;
      const ageMs = clock.now() - checkedAtMs;
      if (ageMs >= 0 && ageMs < freshForMs) {
        return { ...this.last, freshness: "fresh" };
      }
    }
    if (this.failure !== null && clock.monotonicMs() < this.pausedUntilMs) {
      throw this.failure;
    }
    if (this.scanning === null) {
      context.requireMiss();
      this.scanning = this.scans(() => this.scan(context)).finally(() =>
        this.scanning = null
      );
    }
    return await this.scanning;
  }

  /**
   * Makes the next request scan the folder. Does nothing during the pause after
   * a scan that this caused.
   */
  expire(): void {
    const mayScan = this.options.clock.monotonicMs() >= this.expiredUntilMs;
    if (this.last !== null && mayScan) this.last.ref.checkedAtMs = 0;
  }

  private async scan(context: RequestContext): Promise<FoundRef> {
    const { last, path, states } = this;
    const { compute, clock, maxEntries = MAX_ENTRIES } = this.options;
    const isExpired = last?.ref.checkedAtMs === 0;
    const startedAtMs = clock.monotonicMs();
    const checkedAtMs = clock.now();
    const work: ScanWork = { names: 0, reads: 0, blocks: 0 };
    let orderMs = 0;
    // A scan is for all clients, so it does not wait in the queue of one.
    const order = async (keys: Uint8Array<ArrayBuffer>) => {
      const startedAtMs = clock.monotonicMs();
      const about = {
        client: LOCAL_OWNER,
        charge: context.charge,
        linearIn: keys.length,
      };
      return await compute.run(orderTask, { keys }, about).catch((error) => {
        if (!(error instanceof TimeLimitError)) throw error;
        const why = "ordering the names of one folder takes too long";
        throw tooLarge(`The folder "${this.name}" cannot be served: ${why}.`);
      }).finally(() => orderMs += clock.monotonicMs() - startedAtMs);
    };
    const read = async () => {
      const branch = await checkedOutBranch(path);
      const state = await scanFolder(path, states[0] ?? null, {
        maxEntries,
        clock,
        work,
        order,
      });
      return { branch, state };
    };
    const [outcome] = await Promise.allSettled([read()]);
    const tookMs = clock.monotonicMs() - startedAtMs;
    const pauseMs = Math.min((tookMs - orderMs) * PAUSE_FACTOR, MAX_PAUSE_MS);
    this.pausedUntilMs = startedAtMs + tookMs + pauseMs;
    if (isExpired) this.expiredUntilMs = this.pausedUntilMs;
    context.charge(Math.min(tookMs, costOf(work)));
    this.failure = null;
    if (outcome.status === "rejected") {
      const { reason } = outcome;
      if (codeOf(reason) !== "service-busy") this.failure = reason;
      throw reason;
    }

    this.entries = work.names;
    const { branch, state } = outcome.value;
    const commit = state.id;
    const older = states.find(({ id }) => id !== commit);
    // Only the next scan needs the blob ids, which take as much memory as the
    // lists.
    this.states = older === undefined
      ? [state]
      : [state, { ...older, blobIds: new Map() }];
    const found = {
      commit,
      checkedAtMs,
      freshForMs: Math.max(MIN_FRESH_MS, tookMs + pauseMs),
    };
    if (last?.branch === branch) {
      const freshness = last.ref.commit === commit ? "unchanged" : "moved";
      Object.assign(last.ref, found);
      return { ...last, freshness };
    }
    // A ref state belongs to one branch. The other branch's state is not
    // renewed any more.
    this.last = { branch, ref: { ...found, wantedAtMs: checkedAtMs } };
    return { ...this.last, freshness: last === null ? "new" : "moved" };
  }
}

/** Returns processor time in ms. */
const costOf = ({ names = 0, reads = 0, blocks = 0 }: Partial<ScanWork>) =>
  names * COST_MS.name + reads * COST_MS.read + blocks * COST_MS.block;

const tooLarge = (detail: string) =>
  new CollectionsError("collection-too-large", detail);

const LOCAL = { source: "The local folder" };

/** Nothing local is private, so the error names the folder. */
const localFolderNotFound = (repo: string) =>
  new CollectionsError(
    "repository-not-found",
    `There is no local folder "${repo}".`,
  );

function objectMissing({ name }: Snapshot, id: string): CollectionsError {
  return sourceFailed(
    `Cannot read "${id}": it is not in "${name.owner}/${name.repo}" any more`,
    LOCAL,
  );
}

/** The log must not reveal the paths of the folders on this machine. */
function unreadable(what: string, cause: unknown): CollectionsError {
  return sourceFailed(`Cannot read "${what}": ${describeError(cause).error}`, {
    cause,
    ...LOCAL,
  });
}
