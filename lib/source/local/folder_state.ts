// The state of a local folder after a scan. It has trees by their ids as in
// Git. Lists files and reads files whose bytes still match their ids.

import { STEPS_PER_YIELD, yieldToEventLoop } from "../../work/clock.ts";
import { type FileList, FileListBuilder } from "../file_list.ts";
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

/** A folder. Folders without files do not exist, as in Git. */
export interface ScannedFolder {
  readonly tree: TreeEntries;
  /** Every file below the folder. Set once it was requested. */
  list?: Promise<FileList>;
}

export interface FolderState {
  /** The tree id of the scanned folder itself. */
  readonly id: string;
  /** The scanned folder and the folders below it by tree id. */
  readonly folders: ReadonlyMap<string, ScannedFolder>;
  /** Blob ids by the `lstat` data of their files. */
  readonly blobIds: ReadonlyMap<string, string>;
}

/** Runs the task that orders the entries of a folder. */
export type Order = (keys: string) => Promise<Uint32Array>;

/**
 * Makes a folder of entries in any order. Reuses the same folder of an earlier
 * scan.
 */
export async function folderOf(
  entries: readonly ScannedEntry[],
  omitted: number,
  previous: FolderState | null,
  order: Order,
): Promise<{ id: string; folder: ScannedFolder }> {
  let keys = "";
  for (const [index, entry] of entries.entries()) {
    if (index % STEPS_PER_YIELD === 0) await yieldToEventLoop();
    keys += `${orderKey(entry)}\0`;
  }
  const sorted: ScannedEntry[] = [];
  for (const index of await order(keys)) {
    if (sorted.length % STEPS_PER_YIELD === 0) await yieldToEventLoop();
    sorted.push(entries[index]!);
  }
  const id = await treeIdOfSorted(sorted);
  const known = previous?.folders.get(id);
  if (known?.tree.list.omitted === omitted) return { id, folder: known };
  const builder = new FileListBuilder();
  builder.omit(omitted);
  for (const entry of sorted) {
    if (builder.length % STEPS_PER_YIELD === 0) await yieldToEventLoop();
    addEntry(builder, entry);
  }
  return { id, folder: { tree: new TreeEntries(builder.build()) } };
}

/** Returns the entry at a path. */
export function entryAt(
  { id, folders }: FolderState,
  path: string,
): TreeEntry | undefined {
  let entry: TreeEntry | undefined = { name: "", kind: "folder", id, size: 0 };
  for (const name of path.split("/")) {
    entry = entry?.kind === "folder"
      ? folders.get(entry.id)?.tree.find(name)
      : undefined;
  }
  return entry;
}

/**
 * Lists every file below a folder. Entries in Git's order give paths in byte
 * order.
 */
export async function listFiles(
  { folders }: FolderState,
  treeId: string,
): Promise<FileList> {
  const builder = new FileListBuilder();
  let steps = 0;
  const add = async (treeId: string, prefix: string) => {
    const { tree } = folders.get(treeId)!;
    builder.omit(tree.list.omitted);
    for (const { name, kind, id, size } of tree) {
      if (++steps % STEPS_PER_YIELD === 0) await yieldToEventLoop();
      const path = prefix + name;
      if (kind === "folder") await add(id, `${path}/`);
      else if (kind === "file") builder.add({ path, id, size });
    }
  };
  await add(treeId, "");
  return builder.build();
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
  const info = nullIfMissing(() => Deno.lstatSync(at.path));
  // A file that has grown is not read into memory.
  const content = info?.isFile && info.size === size
    ? await readChecked(at, info)
    : null;
  return content && (content.id === id || hasId(content.bytes, id))
    ? content.bytes
    : null;
}
