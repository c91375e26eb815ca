// The port through which the use cases read a repository. A ref names a commit, a commit names a tree, a tree names
// blobs; only the first step ever changes, and every implementation answers object ids with Git's own meaning.

import type { CollectionsError } from "../errors.ts";
import type { FileList } from "./file_list.ts";

/** A repository as the caller spelled it. Rules compare owner and repo without case. */
export interface RepositoryName {
  readonly owner: string;
  readonly repo: string;
}

/** The key of a repository in every cache. */
export function repositoryKey(name: RepositoryName): string {
  return `${name.owner}/${name.repo}`.toLowerCase();
}

/** Which state of a repository is asked for. `branch` null means the source's own default (`main` at GitHub). */
export interface RefQuestion extends RepositoryName {
  readonly branch: string | null;
  /** What an earlier answer to the same question said, so that the source may be asked conditionally. */
  readonly known?: KnownRef;
  /** Hears at once that the source denies what was known: whatever else it says or fails to say, that is over. */
  readonly denied?: (error: CollectionsError) => void;
}

/** An earlier answer: the commit, and what its source wants to see again. Only the source reads `memo`. */
export interface KnownRef {
  readonly commit: string;
  readonly memo: string;
}

/**
 * On whose behalf something is read. One object serves one request: implementations abort with `signal` and call
 * `miss` before the source is asked for what nobody keeps.
 */
export interface Caller {
  readonly signal?: AbortSignal;
  /**
   * Notes that the answer was not kept. A caller who joins what another began causes nothing; else it counts, and
   * throws too-many-requests where this caller may cause no more.
   */
  miss(options?: { readonly joined: boolean }): void;
  /**
   * Waits until there is room for an answer that may take so many bytes of memory, beside what was asked before; to be
   * called ahead of reading the files. @throws {CollectionsError} service-busy.
   */
  makeRoom?(bytes: number): Promise<void>;
}

/** The caller's signal as an option, left out where there is none. */
export function signalOf(caller: Caller): { signal: AbortSignal } | Record<never, never> {
  return caller.signal === undefined ? {} : { signal: caller.signal };
}

/**
 * What is known of a ref and since when. One live object per branch and process: a later check changes it in place,
 * so who holds it can see without asking whether an answer made from `commit` may still be given.
 */
export interface RefCheck {
  /** The commit that the ref named when last checked, 40 hex digits. */
  commit: string;
  /** When the question behind this knowledge was sent, in ms since the epoch. */
  askedAtMs: number;
  /** For how long after `askedAtMs` an answer may be given without asking again. */
  readonly freshMs: number;
  /** When someone last asked for this ref, in ms since the epoch; refresh ahead goes by it. */
  wantedAtMs: number;
}

/** How the ref of a snapshot came to be known, in the words of RFC 9211. */
export type Freshness = "hit" | "miss" | "revalidated" | "moved" | "stale";

/** One state of one repository: the anchor of every read. */
export interface Snapshot {
  readonly name: RepositoryName;
  /** The branch as the answer names it: the caller's, or the default. */
  readonly branch: string;
  readonly commit: string;
  /** An id under which `readTree` gives the root folder. */
  readonly rootTreeId: string;
  readonly check: RefCheck;
  /** For the source's next conditional question, and for its own use in later reads; see {@linkcode KnownRef}. */
  readonly memo?: string;
  /** When the question was sent on which this snapshot rests, in ms since the epoch. */
  readonly askedAtMs: number;
  readonly freshness: Freshness;
  /** The state before a move, for as long as it may stand in when the new one cannot be read. */
  readonly previous?: Snapshot;
}

/** The kinds of Git's tree entries (gitdatamodel: modes 100644/100755, 040000, 120000, 160000). */
export type EntryKind = "file" | "folder" | "symbolic link" | "submodule";

/** One entry of one folder. `name` is a single path segment; `size` is in bytes, for files only. */
export interface TreeEntry {
  readonly name: string;
  readonly kind: EntryKind;
  readonly id: string;
  readonly size: number;
}

/** A file to read: its blob id, its size in bytes as its tree gave it, its path from the repository's root. */
export interface FileRef {
  readonly path: string;
  readonly id: string;
  readonly size: number;
}

/** The bytes of a file, or why they cannot be given. */
export type BlobResult = Uint8Array<ArrayBuffer> | Error;

/** Reads repositories of one source. */
export interface Repository {
  /**
   * Finds the commit that a ref names.
   * @throws {CollectionsError} repository-not-found, branch-not-found, repository-empty, repository-blocked, or a
   * source failure.
   */
  resolve(question: RefQuestion, caller: Caller): Promise<Snapshot>;

  /** Reads one folder, entries in Git's order. @throws {CollectionsError} a source failure. */
  readTree(snapshot: Snapshot, treeId: string, caller: Caller): Promise<readonly TreeEntry[]>;

  /**
   * Reads every file below a folder in one question, or null where the source cannot answer it whole
   * (GitHub's `truncated`). @throws {CollectionsError} a source failure.
   */
  readTreeRecursive(snapshot: Snapshot, treeId: string, caller: Caller): Promise<FileList | null>;

  /**
   * Reads every folder below a folder in one question, each with its tree's id and no size, or null where the source
   * cannot answer it whole. @throws {CollectionsError} a source failure.
   */
  readFolders(snapshot: Snapshot, treeId: string, caller: Caller): Promise<FileList | null>;

  /**
   * The files below a folder if they are kept and can be had without asking the source, else null. This and the next
   * three are left out where nothing is kept.
   */
  keptFiles?(snapshot: Snapshot, treeId: string): Promise<FileList | null>;

  /** Keeps a list that was put together from several reads, so that `keptFiles` gives it. */
  keepFiles?(snapshot: Snapshot, treeId: string, files: FileList): Promise<void>;

  /** What `keepDerived` kept for this repository, or null; under a key of more than 1,200 bytes it may keep nothing. */
  keptDerived?(snapshot: Snapshot, key: string): Promise<Uint8Array<ArrayBuffer> | null>;

  /** Keeps what was made from objects; it may be lost at any time. */
  keepDerived?(snapshot: Snapshot, key: string, bytes: Uint8Array<ArrayBuffer>): Promise<void>;

  /**
   * Reads files whole, each checked against its Git id, one result a distinct id. A file that cannot be read is an
   * Error in its place and never fails the others.
   */
  readBlobs(
    snapshot: Snapshot,
    files: readonly FileRef[],
    caller: Caller,
  ): Promise<ReadonlyMap<string, BlobResult>>;

  /** The page that shows a file to a person; null for a source without web pages. */
  htmlUrl(snapshot: Snapshot, path: string): string | null;
}
