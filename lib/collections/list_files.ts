// Every file below a folder. One question where the source answers it whole; else folder by folder, where each answer
// is kept, so that a listing that a spent quota cut off goes on from there.

import pLimit from "p-limit";
import { collectionTooLarge } from "../errors.ts";
import { type FileList, FileListBuilder, isListedPath } from "../repository/file_list.ts";
import type { CollectionFolder } from "./resolve_collection.ts";
import type { Reading } from "./find_entry.ts";

/** Bounds of one listing. */
export const LISTING_LIMITS = { maxFiles: 1_000_000, maxReads: 2_000 };

const READS_AT_ONCE = 8;

/**
 * The files below a folder, sorted and without what begins with a dot.
 * @throws {CollectionsError} collection-too-large past the bounds, or a source failure.
 */
export async function listFiles(
  folder: CollectionFolder,
  reading: Reading,
  /** Runs the walk through a folder that cannot be had in one answer, at once or in its turn. */
  inTurn: (walk: () => Promise<FileList>) => Promise<FileList>,
): Promise<FileList> {
  const { repository, snapshot, caller } = reading;
  const kept = await repository.keptFiles?.(snapshot, folder.treeId) ?? null;
  if (kept !== null) return kept;
  const whole = await repository.readTreeRecursive(snapshot, folder.treeId, caller);
  if (whole !== null) {
    requireFew(whole.length, folder);
    return whole;
  }
  const files = await inTurn(() => {
    caller.signal?.throwIfAborted();
    return new Walk(folder, reading).run();
  });
  await repository.keepFiles?.(snapshot, folder.treeId, files);
  return files;
}

/** The files directly in a folder, by one plain question. @throws {CollectionsError} as {@linkcode listFiles}. */
export async function listDirectFiles(
  folder: CollectionFolder,
  reading: Reading,
): Promise<FileList> {
  const { repository, snapshot, caller } = reading;
  const files = new FileListBuilder();
  for (
    const { name, kind, id, size } of await repository.readTree(snapshot, folder.treeId, caller)
  ) {
    if (kind === "file" && isListedPath(name)) files.add({ path: name, id, size });
  }
  return files.build();
}

/** One listing in parts: the plain tree of what was truncated, then each folder in it by one recursive question. */
class Walk {
  private readonly files = new FileListBuilder();
  private readonly limit = pLimit(READS_AT_ONCE);
  private readonly failure = new AbortController();
  private reads = 1;

  constructor(private readonly folder: CollectionFolder, private readonly reading: Reading) {}

  async run(): Promise<FileList> {
    await this.readPlain(this.folder.treeId, "");
    return this.files.build();
  }

  private async readPlain(treeId: string, prefix: string): Promise<void> {
    const { repository, snapshot, caller } = this.reading;
    const entries = await this.read(() => repository.readTree(snapshot, treeId, caller));
    const folders: [string, string][] = [];
    for (const { name, kind, id, size } of entries) {
      if (!isListedPath(name)) continue;
      if (kind === "file") this.files.add({ path: prefix + name, id, size });
      else if (kind === "folder") folders.push([id, prefix + name]);
    }
    requireFew(this.files.length, this.folder);
    await Promise.all(folders.map(([id, path]) => this.readFolder(id, path)));
  }

  private async readFolder(treeId: string, path: string): Promise<void> {
    const { repository, snapshot, caller } = this.reading;
    const files = await this.read(() => repository.readTreeRecursive(snapshot, treeId, caller));
    if (files === null) return await this.readPlain(treeId, `${path}/`);
    this.files.addAll(files, path);
    requireFew(this.files.length, this.folder);
  }

  /** Runs one read in its turn; after the first failure nothing more is begun. */
  private read<T>(work: () => Promise<T>): Promise<T> {
    return this.limit(async () => {
      this.failure.signal.throwIfAborted();
      try {
        if (++this.reads > LISTING_LIMITS.maxReads) {
          throw collectionTooLarge(
            this.folder.path,
            `it takes more than ${LISTING_LIMITS.maxReads} questions`,
          );
        }
        return await work();
      } catch (error) {
        this.failure.abort(error);
        throw error;
      }
    });
  }
}

function requireFew(count: number, folder: CollectionFolder): void {
  if (count > LISTING_LIMITS.maxFiles) {
    throw collectionTooLarge(folder.path, `it has more than ${LISTING_LIMITS.maxFiles} files`);
  }
}
