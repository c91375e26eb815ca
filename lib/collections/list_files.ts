// Every file below a folder. One request where the source answers it whole; else a background job that reads folder by
// folder. Each answer is cached, so that a listing stopped by a spent quota continues from there.

import pLimit from "p-limit";
import type { ObjectKind } from "../cache/object_cache.ts";
import { collectionTooLarge } from "../errors.ts";
import { type FileList, FileListBuilder, fileListKind, isListedPath } from "../source/file_list.ts";
import { countTreeRead, type ReadContext, readTree, repositoryOf, runJob } from "./read_context.ts";
import { type CollectionFolder, displayPath } from "./resolve_collection.ts";

const MAX_FILES = 1_000_000;
const READS_AT_ONCE = 8;
/** GitHub shows names that are not UTF-8 with this character. */
const NOT_UTF8 = "\uFFFD";

/** The files directly in a folder; the key-value store has them as part of its tree. */
const directFilesKind: ObjectKind<FileList> = {
  name: "direct-files",
  sizeOf: (files) => files.byteLength,
};

/**
 * The files below a folder, or only those directly in it, sorted and without those that have a segment that begins with a
 * dot. @throws {CollectionsError} collection-too-large past the bounds, collection-not-ready, or a source failure.
 */
export async function listFiles(
  folder: CollectionFolder,
  read: ReadContext,
  recursive = true,
): Promise<FileList> {
  if (!recursive) return await listDirectFiles(folder, read);
  countTreeRead(read, folder.path);
  const whole = await read.source.files(read.snapshot, folder.treeId, read.context);
  if (whole !== null) {
    requireFew(whole.length, folder);
    return whole;
  }
  return await runJob(read, {
    // The path is in the key since a remembered error names it.
    key: `files ${folder.treeId} ${folder.path}`,
    usesSource: true,
    collection: displayPath(folder.path),
    async work(read) {
      const files = await listInParts(folder, read);
      read.objects.set(fileListKind, repositoryOf(read), folder.treeId, files);
      return files;
    },
  });
}

/** The files directly in a folder, by one plain request. */
async function listDirectFiles(folder: CollectionFolder, read: ReadContext): Promise<FileList> {
  const repository = repositoryOf(read);
  const cached = read.objects.peek(directFilesKind, repository, folder.treeId);
  if (cached !== undefined) return cached;
  const builder = new FileListBuilder();
  for (const { name, kind, id, size } of await readTree(read, folder.treeId, folder.path)) {
    if (kind !== "file" || !isListedPath(name)) continue;
    if (name.includes(NOT_UTF8)) builder.omit();
    else builder.add({ path: name, id, size });
  }
  const files = builder.build();
  read.objects.set(directFilesKind, repository, folder.treeId, files);
  return files;
}

/** One listing in parts: the plain tree of what was truncated, then each folder in it by one recursive request. */
async function listInParts(folder: CollectionFolder, read: ReadContext): Promise<FileList> {
  const builder = new FileListBuilder();
  const limit = pLimit(READS_AT_ONCE);
  const failure = new AbortController();
  /** Runs one read; after the first failure no more begin. */
  const run = <T>(work: () => Promise<T>) =>
    limit(() => {
      failure.signal.throwIfAborted();
      read.context.signal?.throwIfAborted();
      return work();
    }).catch((error) => {
      failure.abort(error);
      throw error;
    });
  const addEntries = async (treeId: string, prefix: string): Promise<void> => {
    const folders: [treeId: string, path: string][] = [];
    const entries = await run(() => readTree(read, treeId, folder.path));
    for (const { name, kind, id, size } of entries) {
      if (!isListedPath(name) || (kind !== "file" && kind !== "folder")) continue;
      if (name.includes(NOT_UTF8)) builder.omit();
      else if (kind === "file") builder.add({ path: prefix + name, id, size });
      else folders.push([id, prefix + name]);
    }
    requireFew(builder.length, folder);
    await Promise.all(folders.map(addFolder));
  };
  const addFolder = async ([treeId, path]: [string, string]): Promise<void> => {
    const files = await run(() => {
      countTreeRead(read, folder.path);
      return read.source.files(read.snapshot, treeId, read.context);
    });
    if (files === null) return await addEntries(treeId, `${path}/`);
    builder.addAll(files, path);
    requireFew(builder.length, folder);
  };
  await addEntries(folder.treeId, "");
  return builder.build();
}

function requireFew(count: number, folder: CollectionFolder): void {
  if (count > MAX_FILES) {
    throw collectionTooLarge(displayPath(folder.path), `it has more than ${MAX_FILES} files`);
  }
}
