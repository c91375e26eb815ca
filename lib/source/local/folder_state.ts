// The state of a local folder after a scan. It has trees by their ids as in
// Git. Lists files and reads files whose bytes still match their ids.

import { Buffer } from "node:buffer";
import { STEPS_PER_YIELD, yieldToEventLoop } from "../../work/clock.ts";
import { bytesFor, type FileList, FileListBuilder } from "../file_list.ts";
import {
  hasId,
  orderKey,
  treeIdOfSorted,
  type TreeObjectEntry,
} from "../git_object_id.ts";
import type { FileRef } from "../source.ts";
import { addEntry, TreeEntries, type TreeEntry } from "../tree_entries.ts";
import {
  checkedPath,
  nullIfMissing,
  pathIn,
  readChecked,
} from "./checked_file.ts";

/**
 * A file, a folder or a symbolic link. The id of a link is the id of its
 * target's path.
 */
export type ScannedEntry = TreeEntry & TreeObjectEntry;

export interface FolderState {
  /** The tree id of the scanned folder itself. */
  readonly id: string;
  /**
   * The scanned folder and the folders below it by tree id. Folders without
   * files do not exist, as in Git.
   */
  readonly folders: ReadonlyMap<string, TreeEntries>;
  /** Blob ids by the `lstat` data of their files. */
  readonly blobIds: ReadonlyMap<string, string>;
}

/**
 * Runs the task that orders the entries of a folder by their joined keys.
 * Resolves to the indices of the entries in order.
 */
export type Order = (keys: Uint8Array<ArrayBuffer>) => Promise<Uint32Array>;

/**
 * Makes a folder of entries in any order. Reuses the same folder of an earlier
 * scan.
 */
export async function folderOf(
  entries: readonly ScannedEntry[],
  omitted: number,
  previous: FolderState | null,
  order: Order,
): Promise<{ id: string; tree: TreeEntries }> {
  let length = 0;
  for (const [index, entry] of entries.entries()) {
    if (index % STEPS_PER_YIELD === 0) await yieldToEventLoop();
    length += Buffer.byteLength(orderKey(entry));
  }
  const keys = Buffer.from(new ArrayBuffer(length));
  let at = 0;
  for (const [index, entry] of entries.entries()) {
    if (index % STEPS_PER_YIELD === 0) await yieldToEventLoop();
    at += keys.write(orderKey(entry), at);
  }
  const sorted: ScannedEntry[] = [];
  for (const index of await order(keys)) {
    if (sorted.length % STEPS_PER_YIELD === 0) await yieldToEventLoop();
    sorted.push(entries[index]!);
  }
  const id = await treeIdOfSorted(sorted);
  const known = previous?.folders.get(id);
  if (known?.list.omitted === omitted) return { id, tree: known };
  const builder = new FileListBuilder();
  builder.omit(omitted);
  for (const entry of sorted) {
    if (builder.length % STEPS_PER_YIELD === 0) await yieldToEventLoop();
    addEntry(builder, entry);
  }
  return { id, tree: new TreeEntries(builder.build()) };
}

/** Returns the entry at a path. */
export function entryAt(
  { id, folders }: FolderState,
  path: string,
): TreeEntry | undefined {
  let entry: TreeEntry | undefined = { name: "", kind: "folder", id, size: 0 };
  for (const name of path.split("/")) {
    entry = entry?.kind === "folder"
      ? folders.get(entry.id)?.find(name)
      : undefined;
  }
  return entry;
}

/**
 * Lists every file below a folder. Entries in Git's order give paths in byte
 * order. `files` is null if the list takes more than `maxBytes`. `count` is the number of files that were visited.
 */
export async function listFiles(
  state: FolderState,
  treeId: string,
  maxBytes: number,
): Promise<{ files: FileList | null; count: number }> {
  let [count, pathBytes] = [0, 0];
  await visitFiles(state, treeId, (list, index, prefix) => {
    count++;
    pathBytes += prefix.length + list.pathBytes(index).length;
    return bytesFor(count, pathBytes) <= maxBytes;
  });
  if (bytesFor(count, pathBytes) > maxBytes) {
    return { files: null, count };
  }
  const builder = new FileListBuilder({ count, pathBytes });
  const omitted = await visitFiles(state, treeId, (...of) => {
    builder.addFrom(...of);
    return true;
  });
  builder.omit(omitted);
  return { files: builder.build(), count };
}

/**
 * Visits the files below a folder in order while `visit` returns true. It gets
 * a file's place in the list of its folder and the path of that folder. Returns
 * the number of omitted files.
 */
async function visitFiles(
  { folders }: FolderState,
  treeId: string,
  visit: (list: FileList, index: number, prefix: Uint8Array) => boolean,
): Promise<number> {
  let [steps, omitted, goesOn] = [0, 0, true];
  const visitFolder = async (treeId: string, prefix: Uint8Array) => {
    const { list } = folders.get(treeId)!;
    omitted += list.omitted;
    for (let index = 0; index < list.length && goesOn; index++) {
      if (++steps % STEPS_PER_YIELD === 0) await yieldToEventLoop();
      const kind = list.kindAt(index);
      if (kind === "file") goesOn = visit(list, index, prefix);
      if (kind !== "folder") continue;
      const path = Buffer.concat([prefix, list.pathBytes(index)]);
      await visitFolder(list.idAt(index), path);
    }
  };
  await visitFolder(treeId, new Uint8Array());
  return omitted;
}

/**
 * Reads a file that a scan of the repository in `folder` listed. Returns null
 * if it has changed, is deleted or is behind a link. Bytes are returned only if
 * they match the id from the scan.
 */
export async function readExact(
  folder: string,
  path: string,
  { id, size }: Pick<FileRef, "id" | "size">,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const at = pathIn(checkedPath(folder), path);
  const info = await nullIfMissing(Deno.lstat(at.path));
  // A file that has grown is not read into memory.
  const content = info?.isFile && info.size === size
    ? await readChecked(at, info)
    : null;
  return content && (content.id === id || hasId(content.bytes, id))
    ? content.bytes
    : null;
}
