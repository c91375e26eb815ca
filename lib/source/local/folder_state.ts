// The state of a local folder after a scan. It has trees by their ids as in
// Git. Lists files and reads files whose bytes still match their ids.

import { Buffer } from "node:buffer";
import { STEPS_PER_YIELD, yieldToEventLoop } from "../../work/clock.ts";
import { serviceBusy } from "../../errors.ts";
import { bytesFor, type FileList, FileListBuilder } from "../file_list.ts";
import {
  hashOf,
  orderKey,
  treeIdOfSorted,
  type TreeObjectEntry,
} from "../git_object_id.ts";
import type { FileRef } from "../source.ts";
import { addEntry, TreeEntries, type TreeEntry } from "../tree_entries.ts";
import {
  type CheckedPath,
  nullIfMissing,
  pathIn,
  readChecked,
  wholeBlocks,
} from "./checked_file.ts";

/** The work of scans and reads, whether they succeed or fail. */
export interface ScanWork {
  /** The number of listed names. */
  names: number;
  /** The number of files that were read. `blocks` counts their whole blocks. */
  reads: number;
  blocks: number;
}

/** Lists of up to this size are made however little memory is left. */
const FREE_BYTES = 1 << 20;
/** What the process keeps for work that it has accepted. */
const RESERVED_BYTES = 64 << 20;

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
 * order. Returns null if the list takes more than `maxBytes`. Adds the visited
 * files to `work`.
 * @throws {CollectionsError} service-busy if the list takes more than 1 MiB and
 * less than 64 MiB of memory would be left.
 */
export async function listFiles(
  state: FolderState,
  treeId: string,
  { maxBytes, memoryLeft, work, signal }: {
    maxBytes: number;
    memoryLeft: () => number;
    work: { listed: number };
    signal: AbortSignal;
  },
): Promise<FileList | null> {
  let [count, pathBytes] = [0, 0];
  const visit = (visitFile: Parameters<typeof visitFiles>[2]) =>
    visitFiles(state, treeId, visitFile, signal);
  await visit((list, index, prefix) => {
    count++;
    work.listed++;
    pathBytes += prefix.length + list.pathBytes(index).length;
    return bytesFor(count, pathBytes) <= maxBytes;
  });
  const bytes = bytesFor(count, pathBytes);
  if (bytes > maxBytes) return null;
  if (bytes > FREE_BYTES && bytes > memoryLeft() - RESERVED_BYTES) {
    throw serviceBusy("Cannot list the folder: too little memory is left");
  }
  const builder = new FileListBuilder({ count, pathBytes });
  const omitted = await visit((...of) => {
    builder.addFrom(...of);
    return true;
  });
  builder.omit(omitted);
  return builder.build();
}

/**
 * Visits the files below a folder in order while `visit` returns true. It gets
 * a file's place in the list of its folder and the path of that folder. Returns
 * the number of omitted files.
 * @throws the signal's reason if it is aborted.
 */
async function visitFiles(
  { folders }: FolderState,
  treeId: string,
  visit: (list: FileList, index: number, prefix: Uint8Array) => boolean,
  signal: AbortSignal,
): Promise<number> {
  signal.throwIfAborted();
  let [steps, omitted, goesOn] = [0, 0, true];
  const visitFolder = async (treeId: string, prefix: Uint8Array) => {
    const { list } = folders.get(treeId)!;
    omitted += list.omitted;
    for (let index = 0; index < list.length && goesOn; index++) {
      if (++steps % STEPS_PER_YIELD === 0) await yieldToEventLoop(signal);
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
 * Reads a file that a scan of the repository in `folder` listed, or a Git LFS
 * object. Returns null if it has changed, is deleted or is behind a link. Bytes
 * are returned only if they match the id. What is read is added to `work`.
 */
export async function readExact(
  folder: CheckedPath,
  path: string,
  { id, size }: Pick<FileRef, "id" | "size">,
  work: Pick<ScanWork, "reads" | "blocks">,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const at = pathIn(folder, path);
  const info = await nullIfMissing(Deno.lstat(at.path));
  // A file that has grown is not read into memory.
  if (!info?.isFile || info.size !== size) return null;
  work.reads++;
  work.blocks += wholeBlocks(size);
  const content = await readChecked(at, info, { hash: hashOf(id, size) });
  return content?.id === id ? content.bytes : null;
}
