// A local folder as a scan found it. Finds entries, lists files, and reads those whose bytes still fit their ids.

import { sortYielding, STEPS_PER_YIELD, yieldToEventLoop } from "../../clock.ts";
import { type FileList, FileListBuilder } from "../file_list.ts";
import { type GitMode, hasId, treeIdOfSorted } from "../git_object_id.ts";
import { addEntry, TreeEntries, type TreeEntry } from "../tree_entries.ts";
import type { FileRef } from "../source.ts";
import { checkedPath, nullIfMissing, pathIn, readChecked } from "./checked_file.ts";

/** A file, or a symbolic link, whose id is that of its target's path, as in Git. */
export interface ScannedFile extends TreeEntry {
  readonly kind: "file" | "symbolic link";
  readonly mode: GitMode;
  /** Size, times, inode and mode before it was read. While they stand, so does its id; "" has it read again. */
  stamp: string;
}

/** A folder, its entries in Git's order. One without files does not exist, as in Git. */
export interface ScannedFolder extends TreeEntry {
  readonly kind: "folder";
  readonly mode: "40000";
  readonly entries: readonly ScannedEntry[];
  /** How many names in it are not UTF-8; they are not among the entries. */
  readonly omitted: number;
  /** Every file below it, once that was requested. */
  list?: Promise<FileList>;
  /** Its entries as the port gives them, once they were requested. */
  tree?: Promise<TreeEntries>;
}

export type ScannedEntry = ScannedFile | ScannedFolder;

export interface FolderState {
  readonly root: ScannedFolder;
  /** By tree id. */
  readonly folders: ReadonlyMap<string, ScannedFolder>;
}

/** Makes a folder of entries in any order. */
export async function folderOf(
  { name, entries, omitted }: Pick<ScannedFolder, "name" | "entries" | "omitted">,
): Promise<ScannedFolder> {
  const sorted = await sortYielding(entries, (a, b) => compareBytes(keyOf(a), keyOf(b)));
  const id = await treeIdOfSorted(sorted);
  return { name, kind: "folder", mode: "40000", id, size: 0, entries: sorted, omitted };
}

/** The file or link at a path from a folder. */
export function fileAt(root: ScannedFolder, path: string): ScannedFile | undefined {
  const names = path.split("/");
  const name = names.pop()!;
  return findFile(names.reduce(findFolder, root as ScannedFolder | undefined), name);
}

/** The file or link with this name in a folder. */
export function findFile(folder: ScannedFolder | undefined, name: string): ScannedFile | undefined {
  const entry = find(folder, name);
  return entry?.kind === "folder" ? undefined : entry;
}

/** The sub-folder with this name. */
export function findFolder(
  folder: ScannedFolder | undefined,
  name: string,
): ScannedFolder | undefined {
  const entry = find(folder, `${name}/`);
  return entry?.kind === "folder" ? entry : undefined;
}

/** The entry with this key, in logarithmic time. */
function find(folder: ScannedFolder | undefined, key: string): ScannedEntry | undefined {
  const entries = folder?.entries ?? [];
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const order = compareBytes(keyOf(entries[middle]!), key);
    if (order === 0) return entries[middle];
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return undefined;
}

/** What Git orders entries by. */
const keyOf = ({ kind, name }: ScannedEntry) => kind === "folder" ? `${name}/` : name;

/** Orders strings by their bytes in UTF-8, without encoding them. Surrogates sort behind all other units. */
function compareBytes(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const [left, right] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (left !== right) return rankOf(left) - rankOf(right);
  }
  return a.length - b.length;
}

const rankOf = (unit: number) => unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;

/** The entries of a folder. */
export async function entriesOf({ entries }: ScannedFolder): Promise<TreeEntries> {
  const builder = new FileListBuilder();
  for (const [step, entry] of entries.entries()) {
    if (step % STEPS_PER_YIELD === 0) await yieldToEventLoop();
    addEntry(builder, entry);
  }
  return new TreeEntries(builder.build());
}

/** Lists every file below a folder. Entries in Git's order give paths in byte order. */
export async function listFiles(root: ScannedFolder): Promise<FileList> {
  const builder = new FileListBuilder();
  let steps = 0;
  const add = async (folder: ScannedFolder, prefix: string) => {
    builder.omit(folder.omitted);
    for (const entry of folder.entries) {
      if (++steps % STEPS_PER_YIELD === 0) await yieldToEventLoop();
      const path = prefix + entry.name;
      if (entry.kind === "folder") await add(entry, `${path}/`);
      else if (entry.kind === "file") builder.add({ path, id: entry.id, size: entry.size });
    }
  };
  await add(root, "");
  return builder.build();
}

/**
 * Reads a file that a scan of the repository in `folder` listed. Returns null if it has changed, is deleted, or is behind
 * a link. Bytes are given only if they fit the id from the scan.
 */
export async function readScanned(
  folder: string,
  path: string,
  file: ScannedFile,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const at = pathIn(await checkedPath(folder), path);
  const info = await nullIfMissing(Deno.lstat(at.path));
  // A file that grew is not read into memory.
  const isCandidate = info?.isFile && info.size === file.size;
  const content = isCandidate ? await readChecked(at, info) : null;
  if (content?.id === file.id) return content.bytes;
  file.stamp = "";
  return null;
}

/** Reads a Git LFS object of the checkout in `folder`, or returns null where it has none. */
export async function readLfsObject(
  folder: string,
  { id, size }: FileRef,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const path = `.git/lfs/objects/${id.slice(0, 2)}/${id.slice(2, 4)}/${id}`;
  const at = pathIn(await checkedPath(folder), path);
  const info = await nullIfMissing(Deno.lstat(at.path));
  const content = info?.isFile && info.size === size ? await readChecked(at, info) : null;
  return content !== null && hasId(content.bytes, id) ? content.bytes : null;
}
