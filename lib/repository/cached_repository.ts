// A Repository over another one that asks it as little as can be: refs by the rule of ref_checks.ts, objects once per
// id. Nothing from any cache is reached but through a snapshot, and so through a ref that was checked in time.

import { LRUCache } from "lru-cache";
import type { Cache } from "../cache/cache.ts";
import { Backoff } from "./backoff.ts";
import { FileList } from "./file_list.ts";
import { KeptObjects } from "./kept_objects.ts";
import { RefChecks } from "./ref_checks.ts";
import { RefStore } from "./ref_store.ts";
import {
  type BlobResult,
  type Caller,
  type FileRef,
  type RefQuestion,
  type Repository,
  repositoryKey,
  type Snapshot,
  type TreeEntry,
} from "./repository.ts";

/** What a {@linkcode CachedRepository} keeps where, and for how long. */
export interface CachedRepositoryOptions {
  readonly now: () => number;
  /** All tiers, for objects. */
  readonly objects: Cache;
  /** The fast tier, for what is too large for the others. */
  readonly memory: Cache;
  /** Bound of the folders that are held ready to be looked into, one that is larger aside. */
  readonly treesMaxBytes: number;
  /** The tier that outlives the process, for refs. */
  readonly refs: Cache;
  /** The branch that null stands for, so that it is asked once under one name. */
  readonly defaultBranch: string;
  /** How long a checked ref is good for, in ms. */
  readonly freshMs: number;
  /** How old a check is when {@linkcode CachedRepository.refreshDue} repeats it, in ms. */
  readonly refreshAfterMs: number;
}

/** What an entry of a folder takes as an object, measured. */
const ENTRY_BYTES = 200;

function treeBytes(entries: readonly TreeEntry[]): number {
  return (entries.length + 1) * ENTRY_BYTES;
}

/** A list that its source cannot give in one answer is kept as no bytes at all. */
const TRUNCATED = new Uint8Array(0);

/** See the head of this file. */
export class CachedRepository implements Repository {
  private readonly objects: KeptObjects;
  /** The folders on the way to what is asked for, as they were read last: one request may look into one many times. */
  private readonly trees: LRUCache<string, readonly TreeEntry[]>;
  /** The last folder that they have no room for: to read it from its text each time blocks for a tenth of a second. */
  private largeTree: { readonly key: string; readonly entries: readonly TreeEntry[] } | null = null;
  private readonly refs: RefChecks;
  private readonly store: RefStore;

  constructor(
    private readonly source: Repository,
    private readonly options: CachedRepositoryOptions,
  ) {
    this.trees = new LRUCache({
      maxSize: Math.max(1, Math.floor(options.treesMaxBytes)),
      sizeCalculation: treeBytes,
    });
    const backoff = new Backoff(options.now);
    this.store = new RefStore(options.refs);
    this.objects = new KeptObjects({ cache: options.objects, memory: options.memory, backoff });
    this.refs = new RefChecks({ ...options, source, store: this.store, backoff });
  }

  /** Bytes of the folders that are held ready. */
  get bytes(): number {
    const { largeTree, trees } = this;
    return trees.calculatedSize + (largeTree === null ? 0 : treeBytes(largeTree.entries));
  }

  resolve(question: RefQuestion, caller: Caller): Promise<Snapshot> {
    const branch = question.branch ?? this.options.defaultBranch;
    return this.refs.resolve({ ...question, branch }, caller);
  }

  /** Checks ahead of need the refs that are in use; to be called every second or so. Never throws. */
  refreshDue(): Promise<void> {
    return this.refs.refreshDue();
  }

  async readTree(
    snapshot: Snapshot,
    treeId: string,
    caller: Caller,
  ): Promise<readonly TreeEntry[]> {
    const key = ["tree", repositoryKey(snapshot.name), treeId];
    const text = key.join("\n");
    const known = this.largeTree?.key === text ? this.largeTree.entries : this.trees.get(text);
    if (known !== undefined) return known;
    const entries = await this.objects.read(key, caller, {
      fetch: (caller) => this.source.readTree(snapshot, treeId, caller),
      encode: (entries) => new TextEncoder().encode(JSON.stringify(entries)),
      decode: decodeTree,
    });
    this.trees.set(text, entries);
    if (!this.trees.has(text)) this.largeTree = { key: text, entries };
    return entries;
  }

  readTreeRecursive(snapshot: Snapshot, treeId: string, caller: Caller): Promise<FileList | null> {
    return this.objects.read(filesKey(snapshot, treeId), caller, {
      fetch: (caller) => this.source.readTreeRecursive(snapshot, treeId, caller),
      ...listForm,
    });
  }

  readFolders(snapshot: Snapshot, treeId: string, caller: Caller): Promise<FileList | null> {
    return this.objects.read(["folders", repositoryKey(snapshot.name), treeId], caller, {
      fetch: (caller) => this.source.readFolders(snapshot, treeId, caller),
      ...listForm,
    });
  }

  async keptFiles(snapshot: Snapshot, treeId: string): Promise<FileList | null> {
    return await this.objects.kept(wholeKey(snapshot, treeId), listForm.decode) ??
      await this.objects.kept(filesKey(snapshot, treeId), listForm.decode) ?? null;
  }

  keepFiles(snapshot: Snapshot, treeId: string, files: FileList): Promise<void> {
    return this.objects.keep(wholeKey(snapshot, treeId), files.toBytes());
  }

  async keptDerived(snapshot: Snapshot, key: string): Promise<Uint8Array<ArrayBuffer> | null> {
    return await this.objects.kept(derivedKey(snapshot, key), (bytes) => bytes) ?? null;
  }

  keepDerived(snapshot: Snapshot, key: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    return this.objects.keep(derivedKey(snapshot, key), bytes);
  }

  readBlobs(
    snapshot: Snapshot,
    files: readonly FileRef[],
    caller: Caller,
  ): Promise<ReadonlyMap<string, BlobResult>> {
    return this.objects.readBlobs(repositoryKey(snapshot.name), files, {
      caller,
      fetch: (files, caller) => this.source.readBlobs(snapshot, files, caller),
    });
  }

  htmlUrl(snapshot: Snapshot, path: string): string | null {
    return this.source.htmlUrl(snapshot, path);
  }

  /** Resolves when all that was to be kept of refs is. */
  settled(): Promise<void> {
    return this.store.settled();
  }
}

function filesKey(snapshot: Snapshot, treeId: string) {
  return ["files", repositoryKey(snapshot.name), treeId];
}

function wholeKey(snapshot: Snapshot, treeId: string) {
  return ["whole", repositoryKey(snapshot.name), treeId];
}

function derivedKey(snapshot: Snapshot, key: string) {
  return ["derived", repositoryKey(snapshot.name), key];
}

function decodeTree(bytes: Uint8Array): readonly TreeEntry[] | undefined {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

/** Null for a list that cannot be had in one answer, undefined for bytes that are none. */
const listForm = {
  encode: (list: FileList | null) => list === null ? TRUNCATED : list.toBytes(),
  decode: (bytes: Uint8Array<ArrayBuffer>) =>
    bytes.length === 0 ? null : FileList.fromBytes(bytes) ?? undefined,
};
