// The port through which everything else reads repositories. A ref names a commit, a commit names a tree, a tree names
// blobs; only a ref ever changes. Object ids have Git's own meaning in every implementation.

import type { ObjectKind } from "../cache/object_cache.ts";
import type { CollectionsError } from "../errors.ts";
import type { FileList, ListedFile } from "./file_list.ts";
import { hasId } from "./git_object_id.ts";
import type { TreeEntries } from "./tree_entries.ts";

/**
 * The part of a request that a source needs to bound its cost and to charge it: its signal aborts when the client
 * disconnects; `client` is the address by which cost is counted and queues are made fair.
 */
export interface RequestContext {
  readonly signal?: AbortSignal | undefined;
  readonly client: string;
  /**
   * Records, before it starts, work that no cache had: source requests, or processor time for a list. A request is
   * charged at most once, and not for work that another request started (`joined`).
   * @throws {CollectionsError} too-many-requests when this client may cause no more misses.
   */
  recordMiss(options?: { readonly joined: boolean }): void;
  /** For work whose cost is known only afterwards. @throws {CollectionsError} as {@linkcode recordMiss}. */
  requireMiss(): void;
  /** Counts processor time that this request used, in ms. */
  charge(processorMs: number): void;
}

/**
 * The context of work without a request: refresh ahead, and background jobs whose start was charged already. `charge` is
 * that of the request which started the work, where there is one.
 */
export function backgroundContext(
  client: string,
  signal?: AbortSignal,
  charge: RequestContext["charge"] = () => {},
): RequestContext {
  return { client, signal, charge, recordMiss() {}, requireMiss() {} };
}

/** A measure of the time that parsing, hashing and encoding take, which many requests share in turns: 1 ms for 100 kB. */
export const BYTES_PER_PROCESSOR_MS = 100_000;

/** A repository as the request spelled it. Rules compare owner and repo without case. */
export interface RepositoryName {
  readonly owner: string;
  readonly repo: string;
}

export type RefName = RepositoryName & { readonly branch: string };

/** The key of a repository in every cache and rule. */
export function repositoryKey({ owner, repo }: RepositoryName): string {
  return `${owner}/${repo}`.toLowerCase();
}

/** The key of a ref in every cache and rule. */
export function refKey(ref: RefName): string {
  return `${repositoryKey(ref)}\n${ref.branch}`;
}

/** The repositories that a deployment serves, in lower case: `owner/repo`, or `owner/*` for all of an owner's. */
export type AllowedRepos = ReadonlySet<string>;

/** Whether a repository is served; null allows all. */
export function isAllowed(allowed: AllowedRepos | null, { owner, repo }: RepositoryName): boolean {
  return allowed === null ||
    [repo, "*"].some((repo) => allowed.has(repositoryKey({ owner, repo })));
}

/** The branch that a query without one means at GitHub. */
export const DEFAULT_BRANCH = "main";

/** The requested state of a repository. `branch` null means the source's own default. */
export interface RefQuery extends RepositoryName {
  readonly branch: string | null;
  /** The earlier answer to the same query, with validators that only the source itself reads. */
  readonly known?: { readonly commit: string; readonly validators: string };
  /** A failure that lasts: a request that failed so is not repeated now; thrown where no other protocol answers. */
  readonly failure?: CollectionsError;
}

/**
 * What is known of a ref: one live object per ref and process, changed in place, so that a cached response that refers
 * to it can tell without a lookup whether it may still be sent.
 */
export interface RefState {
  /** The commit that the ref named when last checked, 40 hex digits. */
  commit: string;
  /** When the request behind this state was sent, in ms since the epoch; 0 once a tombstone replaced it. */
  checkedAtMs: number;
  /** For how long after `checkedAtMs` responses may be sent without another check, in ms. */
  readonly freshForMs: number;
  /** When a client last requested this ref, in ms since the epoch; refresh ahead uses it. */
  wantedAtMs: number;
}

/** How a ref was found: checked before, first seen, unchanged, changed, or older than allowed because the source failed. */
export type Freshness = "fresh" | "new" | "unchanged" | "moved" | "stale";

/** One state of one repository: the anchor of every read. */
export interface Snapshot {
  /** As the request spelled it, whatever the repository is called now. */
  readonly name: RepositoryName;
  readonly branch: string;
  /** Also an id under which `tree` gives the root folder. */
  readonly commit: string;
  readonly ref: RefState;
  readonly checkedAtMs: number;
  readonly freshness: Freshness;
  /** For the source itself: validators for its next conditional request, and where it found the repository. */
  readonly validators: string;
}

/** A file by its path from the repository's root. An id of 64 digits is that of the Git LFS object it stands for. */
export type FileRef = ListedFile;

/** A folder's id and every file below it. */
export interface FolderFiles {
  readonly treeId: string;
  readonly files: FileList;
}

/** The bytes of a file, or why they cannot be given. */
export type BlobResult = Uint8Array<ArrayBuffer> | Error;

/** One result for each distinct blob id. */
export type Blobs = ReadonlyMap<string, BlobResult>;

/** Cached blobs and Git LFS objects. */
export const blobKind: ObjectKind<Uint8Array<ArrayBuffer>> = {
  name: "blob",
  sizeOf: (bytes) => bytes.length,
  codec: { encode: (bytes) => bytes, decode: (bytes, id) => hasId(bytes, id) ? bytes : null },
};

/** Reads repositories of one kind: GitHub, or local folders. */
export interface Source {
  /**
   * Finds the commit that a ref names.
   * @throws {CollectionsError} repository-not-found, repository-not-allowed, branch-not-found, repository-empty,
   * repository-blocked, or a source failure. A `SourceFailure` with `missing` came after the source had reported the known
   * state missing: nothing older may then be served.
   */
  resolve(query: RefQuery, context: RequestContext): Promise<Snapshot>;

  /** Reads one folder. @throws {CollectionsError} a source failure, as the next two. */
  tree(snapshot: Snapshot, treeId: string, context: RequestContext): Promise<TreeEntries>;

  /** Every file below a folder in one request; null where the source cannot answer it whole (GitHub's `truncated`). */
  files(snapshot: Snapshot, treeId: string, context: RequestContext): Promise<FileList | null>;

  /**
   * As `files`, for the folder at a path and without its id, in one request that reads none of the folders above it.
   * Null where the source cannot tell, or where the folders may be cached: then they are read one by one.
   */
  filesAt(snapshot: Snapshot, path: string, context: RequestContext): Promise<FolderFiles | null>;

  /**
   * Reads files whole, each checked against its id. A file that cannot be read is an Error in its place and never fails
   * the others: item-not-found for a Git LFS object that is missing. @throws the context's abort reason.
   */
  blobs(snapshot: Snapshot, files: readonly FileRef[], context: RequestContext): Promise<Blobs>;

  /**
   * The page that shows a file to a person; null for a source without web pages. The address of every file is that of the
   * path "", followed by the encoded path.
   */
  webUrl(snapshot: Snapshot, path: string): string | null;
}
