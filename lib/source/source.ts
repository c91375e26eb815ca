// The port through which everything else reads repositories. A ref names a
// commit. A commit names a tree. A tree names blobs. Only refs ever change.
// Object ids have Git's own meaning in every implementation.

import type { ObjectKind } from "../cache/object_cache.ts";
import { codeOf, type CollectionsError } from "../errors.ts";
import type { FileList, ListedFile } from "./file_list.ts";
import { hasId } from "./git_object_id.ts";
import type { TreeEntries } from "./tree_entries.ts";

/**
 * What a source needs to know about a request to bound and charge its cost.
 * `signal` aborts when the client disconnects. `client` is the address by which
 * cost is counted and queues are made fair.
 */
export interface RequestContext {
  readonly signal?: AbortSignal | undefined;
  readonly client: string;
  /**
   * Records uncached work before it starts: source requests or processor time
   * for a list. A request is charged at most once. It is not charged for work
   * that another request started (`joined`).
   * @throws {CollectionsError} too-many-requests if this client may cause no
   * more misses.
   */
  readonly recordMiss: (options?: { readonly joined: boolean }) => void;
  /**
   * Checks the client's limit before work whose cost is known only afterwards.
   * @throws {CollectionsError} what {@linkcode recordMiss} throws.
   */
  readonly requireMiss: () => void;
  /** Adds processor time that this request used, in ms. */
  readonly charge: (processorMs: number) => void;
}

/** The client of checks ahead of need. Others' requests come first. */
export const AHEAD_CLIENT = "refresh";

/**
 * Returns the context of work without a request. Such work is a refresh ahead
 * of need or a background job whose start was already charged. `charge` is that
 * of the request that started the work if there is one.
 */
export function backgroundContext(
  client: string,
  signal?: AbortSignal,
  charge: RequestContext["charge"] = () => {},
): RequestContext {
  return { client, signal, charge, recordMiss() {}, requireMiss() {} };
}

/**
 * Estimates the time of parsing, hashing and encoding: 1 ms for 100 kB. Many
 * requests share that time in turns.
 */
export const BYTES_PER_PROCESSOR_MS = 100_000;

/**
 * A repository as the request spelled it. Rules compare owner and repo without
 * case.
 */
export interface RepositoryName {
  readonly owner: string;
  readonly repo: string;
}

export type RefName = RepositoryName & { readonly branch: string };

/** Returns the key of a repository in every cache and rule. */
export function repositoryKey({ owner, repo }: RepositoryName): string {
  return `${owner}/${repo}`.toLowerCase();
}

/** Returns the key of a ref in every cache and rule. */
export function refKey(ref: RefName): string {
  return `${repositoryKey(ref)}\n${ref.branch}`;
}

/**
 * The repositories that a deployment serves, in lower case. `owner/repo` is one
 * repository and `owner/*` is all of an owner's.
 */
export type AllowedRepos = ReadonlySet<string>;

/** Returns whether a repository is served. Null allows all. */
export function isAllowed(
  allowed: AllowedRepos | null,
  { owner, repo }: RepositoryName,
): boolean {
  return allowed === null ||
    [repo, "*"].some((repo) => allowed.has(repositoryKey({ owner, repo })));
}

/** The branch at GitHub of a query without one. */
export const DEFAULT_BRANCH = "main";

/**
 * The requested state of a repository. `branch` is null for the source's own
 * default.
 */
export interface RefQuery extends RepositoryName {
  readonly branch: string | null;
  /**
   * The commit and validators of the last check. Only the source itself
   * interprets the validators.
   */
  readonly known?: { readonly commit: string; readonly validators: string };
  /**
   * A failure that lasts. A request that failed with it is not repeated now. It
   * is thrown if no other protocol answers.
   */
  readonly failure?: CollectionsError;
}

/**
 * What is known about a ref. Each process has one live object per ref and
 * changes it in place. A cached response refers to this object and can tell
 * without a lookup whether it may still be sent.
 */
export interface RefState {
  /** The commit at the last check, in 40 hex digits. */
  commit: string;
  /**
   * When the request behind this state was sent, in ms since the epoch. It is 0
   * once a tombstone replaced the state.
   */
  checkedAtMs: number;
  /**
   * How long after `checkedAtMs` responses may be sent without another check,
   * in ms.
   */
  readonly freshForMs: number;
  /**
   * When a client last requested this ref, in ms since the epoch. Refresh ahead
   * of need uses it.
   */
  wantedAtMs: number;
}

/**
 * How a ref was found. `fresh` means that an earlier check still holds and
 * `new` that the ref was unknown. `unchanged` and `moved` are results of a new
 * check. `stale` is older than allowed because the source failed.
 */
export type Freshness = "fresh" | "new" | "unchanged" | "moved" | "stale";

/** How long a checked ref may be served, and caches may keep its responses. */
export const FRESH_FOR_MS = 60_000;

/** How long caches that are purged may hold responses. */
export const HELD_FOR_MS = 24 * 3_600_000;

/** One state of one repository. Everything is read from a snapshot. */
export interface Snapshot {
  /**
   * The name as the request spelled it. The repository may have another name by
   * now.
   */
  readonly name: RepositoryName;
  readonly branch: string;
  /** Also an id for which `tree` returns the root folder. */
  readonly commit: string;
  readonly ref: RefState;
  readonly checkedAtMs: number;
  readonly freshness: Freshness;
  /**
   * Only for the source itself: validators for its next conditional request and
   * the address of the repository.
   */
  readonly validators: string;
}

/**
 * A file by its path from the repository's root. An id of 64 digits is that of
 * the Git LFS object that the file stands for.
 */
export type FileRef = ListedFile;

/** A folder's id and every file below it. */
interface FolderFiles {
  readonly treeId: string;
  readonly files: FileList;
}

/** The bytes of a file or the reason why they are unavailable. */
export type BlobResult = Uint8Array<ArrayBuffer> | Error;

/** One result for each distinct blob id. */
export type Blobs = ReadonlyMap<string, BlobResult>;

/** A commit that changed a file. */
export interface Change {
  /** When it was committed (ISO 8601). */
  readonly date: string;
  readonly commit: string;
  readonly author: { readonly name: string };
  /** The first line of the message. */
  readonly message: string;
}

/** What a branch's commits did to a file. */
export interface FileHistory {
  readonly lastChanged: Change;
  /** The oldest commit that changed the path. Absent if it is unknown. */
  readonly created?: Change;
}

/** Cached blobs and Git LFS objects. */
export const blobKind: ObjectKind<Uint8Array<ArrayBuffer>> = {
  name: "blob",
  sizeOf: (bytes) => bytes.length,
  codec: {
    encode: (bytes) => bytes,
    decode: (bytes, id) => hasId(bytes, id) ? bytes : null,
  },
};

/** Reads repositories of one kind: GitHub or local folders. */
export interface Source {
  /**
   * Finds the commit that a ref names.
   * @throws {CollectionsError} repository-not-found, repository-not-allowed,
   * branch-not-found, repository-empty, repository-blocked, or a source
   * failure. A `SourceFailure` with `missing` means that the source reported
   * the known state missing before it failed. Nothing older may then be served.
   */
  resolve(query: RefQuery, context: RequestContext): Promise<Snapshot>;

  /**
   * Finds an earlier commit of the repository of a snapshot by its id. Returns
   * null if the repository has none or it may not be shown.
   * @throws {CollectionsError} what `resolve` throws.
   */
  at(
    snapshot: Snapshot,
    commit: string,
    context: RequestContext,
  ): Promise<Snapshot | null>;

  /**
   * Reads one folder.
   * @throws {CollectionsError} if the source fails. `files` and `filesAt` throw
   * the same.
   */
  tree(
    snapshot: Snapshot,
    treeId: string,
    context: RequestContext,
  ): Promise<TreeEntries>;

  /**
   * Returns every file below a folder with one request. Returns null if the
   * source cannot answer it whole (GitHub's `truncated`).
   */
  files(
    snapshot: Snapshot,
    treeId: string,
    context: RequestContext,
  ): Promise<FileList | null>;

  /**
   * Returns what `files` returns for the folder at a path. One request is
   * enough because none of the folders above it are read. Returns null if the
   * source cannot tell. Also returns null if the folders may be cached. They
   * are then read one by one.
   */
  filesAt(
    snapshot: Snapshot,
    path: string,
    context: RequestContext,
  ): Promise<FolderFiles | null>;

  /**
   * Reads whole files and checks each against its id. A file that cannot be
   * read has an Error as its result and never fails the others. The Error is
   * item-not-found for a missing Git LFS object.
   * @throws the context's abort reason.
   */
  blobs(
    snapshot: Snapshot,
    files: readonly FileRef[],
    context: RequestContext,
  ): Promise<Blobs>;

  /**
   * Returns the history of each file up to the snapshot's commit, by path, and
   * the first parent of that commit, which is empty for a first commit. A file
   * whose history cannot be read has an Error. One that was never committed has
   * nothing.
   * @throws {CollectionsError} history-unavailable. A source failure if no
   * history can be read.
   */
  history(
    snapshot: Snapshot,
    query: {
      files: readonly FileRef[];
      withCreated: boolean;
    },
    context: RequestContext,
  ): Promise<{
    changes: ReadonlyMap<string, FileHistory | Error>;
    parent: string | null;
    /** How long this holds, in ms. Absent if it holds for the commit. */
    cacheForMs?: number;
  }>;

  /**
   * Returns the URL of the page that shows a file to a person. Returns null if
   * the source has no web pages. The URL of every file is that of the path ""
   * followed by the encoded path.
   */
  webUrl(snapshot: Snapshot, path: string): string | null;
}

/**
 * Returns what a source resolves a commit id to. Returns null if it is none.
 * @throws what `resolve` throws.
 */
export async function resolveCommit(
  resolve: Source["resolve"],
  { name: { owner, repo } }: Snapshot,
  commit: string,
  context: RequestContext,
): Promise<Snapshot | null> {
  try {
    const found = await resolve({ owner, repo, branch: commit }, context);
    return found.commit === commit ? found : null;
  } catch (error) {
    if (codeOf(error) === "branch-not-found") return null;
    throw error;
  }
}
