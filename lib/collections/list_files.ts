// Lists the files below a folder. One request is enough if the source answers
// it whole. Otherwise a background job reads folder by folder.

import type { ListPart } from "../content/join_lists.ts";
import { joinListsTask } from "../content/tasks.ts";
import { collectionTooLarge, sourceFailed } from "../errors.ts";
import {
  FileList,
  fileListKind,
  isListedPath,
  MAX_LIST_BYTES,
} from "../source/file_list.ts";
import type { TreeEntry } from "../source/tree_entries.ts";
import {
  countTreeRead,
  type ReadContext,
  readTree,
  repositoryOf,
  runJob,
  runTask,
} from "./read_context.ts";
import { yieldToEventLoop } from "../work/clock.ts";
import type { CollectionFolder } from "./resolve_collection.ts";

const MAX_FILES = 1_000_000;
const READS_AT_ONCE = 8;

/**
 * Returns the sorted files below a folder or only those directly in it. Omits
 * paths with a segment that begins with a dot. Each response of the source is
 * cached. A listing that was stopped by a spent quota continues from there.
 * @throws {CollectionsError} collection-too-large over the limits,
 * collection-not-ready, or a source failure.
 */
export async function listFiles(
  folder: CollectionFolder,
  read: ReadContext,
  recursive = true,
): Promise<FileList> {
  const { path, treeId } = folder;
  if (!recursive) {
    const { list } = await readTree(read, treeId, path);
    const part = { entries: list.bytes, folders: null };
    return await join(part, list.bytes.length, path, read);
  }
  countTreeRead(read, path);
  const whole = await read.source.files(read.snapshot, treeId, read.context);
  if (whole !== null) {
    requireFew(whole.length, path);
    return whole;
  }
  const work = async (read: ReadContext) => {
    const files = await listInParts(folder, read);
    read.objects.set(fileListKind, repositoryOf(read), treeId, files);
    return files;
  };
  // The path is in the key because a remembered error names it.
  const key = `files ${treeId} ${path}`;
  return await runJob(read, { key, collection: path, work });
}

/**
 * Lists a truncated folder in parts. Reads its plain tree and then each
 * subfolder with one recursive request. Subfolders that are truncated too are
 * read in the same way, one after the other.
 */
async function listInParts(
  { path, treeId }: CollectionFolder,
  read: ReadContext,
) {
  let count = 0;
  let bytes = 0;
  const add = (files: number, list: FileList) => {
    bytes += list.bytes.length;
    count += files;
    requireFew(count, path);
    if (bytes > MAX_LIST_BYTES) throw tooLong(path);
  };
  const top = new Map<string, ListPart>();
  const cut = [{ id: treeId, key: "", siblings: top }];
  for (const { id, key, siblings } of cut) {
    const entries = await readTree(read, id, path);
    add(entries.length - entries.count("folder"), entries.list);
    const folders = new Map<string, ListPart>();
    siblings.set(key, { entries: entries.list.bytes, folders });
    const names = new Set<string>();
    const readFolder = async ({ name, id }: TreeEntry) => {
      // Git has no such trees. The join would visit both folders twice.
      if (names.has(name)) {
        throw sourceFailed('Cannot read "tree": it names a folder twice');
      }
      names.add(name);
      countTreeRead(read, path);
      const files = await read.source.files(read.snapshot, id, read.context);
      const key = `${name}/`;
      if (files === null) cut.push({ id, key, siblings: folders });
      else {
        add(files.length, files);
        folders.set(key, files.bytes);
      }
    };
    // There may be very many folders. Each is taken when it is its turn. The
    // first failure ends the iterator, so no more requests start.
    const rest = entries.ofKind("folder");
    const readFolders = async () => {
      for (const folder of rest) {
        const { name } = folder;
        // GitHub writes U+FFFD for bytes that are not UTF-8. The join omits
        // such folders.
        if (isListedPath(name) && !name.includes("\uFFFD")) {
          await readFolder(folder);
        }
        // Any number of folders that are not listed, or whose trees come from
        // the cache, may follow each other without a pause.
        await yieldToEventLoop(read.context.signal);
      }
    };
    await Promise.all(Array.from({ length: READS_AT_ONCE }, readFolders));
  }
  return await join(top.get("")!, bytes, path, read);
}

async function join(
  part: ListPart,
  linearIn: number,
  path: string,
  read: ReadContext,
): Promise<FileList> {
  const input = { part, maxBytes: MAX_LIST_BYTES };
  const bytes = await runTask(read, joinListsTask, input, { linearIn });
  if (bytes === null) throw tooLong(path);
  return new FileList(bytes);
}

const tooLong = (path: string) =>
  collectionTooLarge(
    path,
    `its paths take more than ${MAX_LIST_BYTES} bytes of memory`,
  );

function requireFew(count: number, path: string) {
  if (count > MAX_FILES) {
    throw collectionTooLarge(path, `it has more than ${MAX_FILES} files`);
  }
}
