// A local folder as a scan found it: trees by their ids, as in Git. Lists files, and reads those whose bytes still fit
// their ids.

import { sortYielding, STEPS_PER_YIELD, yieldToEventLoop } from "../../work/clock.ts";
import { type FileList, FileListBuilder } from "../file_list.ts";
import { hasId, treeIdOfSorted, type TreeObjectEntry } from "../git_object_id.ts";
import type { FileRef } from "../source.ts";
import { addEntry, TreeEntries, type TreeEntry } from "../tree_entries.ts";
import { checkedPath, nullIfMissing, pathIn, readChecked } from "./checked_file.ts";

/** A file, a symbolic link, whose id is that of its target's path, or a folder. */
export type ScannedEntry = TreeEntry & TreeObjectEntry;

/** A folder. One without files does not exist, as in Git. */
export interface ScannedFolder {
  readonly tree: TreeEntries;
  /** Every file below it, once that was requested. */
  list?: Promise<FileList>;
}

export interface FolderState {
  /** The tree id of the folder itself. */
  readonly id: string;
  /** The folder and those below it, by tree id. */
  readonly folders: ReadonlyMap<string, ScannedFolder>;
  /** Blob ids by what `lstat` says of their files. */
  readonly blobIds: ReadonlyMap<string, string>;
}

/** Makes a folder of entries in any order, or takes the one of an earlier scan. */
export async function folderOf(
  entries: readonly ScannedEntry[],
  omitted: number,
  previous: FolderState | null,
): Promise<{ readonly id: string; readonly folder: ScannedFolder }> {
  const sorted = await sortYielding(entries, (a, b) => compareBytes(keyOf(a), keyOf(b)));
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

/** The entry at a path. */
export function entryAt({ id, folders }: FolderState, path: string): TreeEntry | undefined {
  let entry: TreeEntry | undefined = { name: "", kind: "folder", id, size: 0 };
  for (const name of path.split("/")) {
    entry = entry?.kind === "folder" ? folders.get(entry.id)?.tree.find(name) : undefined;
  }
  return entry;
}

/** Lists every file below a folder. Entries in Git's order give paths in byte order. */
export async function listFiles({ folders }: FolderState, treeId: string): Promise<FileList> {
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
 * Reads a file of the repository in `folder` whole. Returns null if it is missing, behind a link, or does not have this id
 * and size.
 */
export async function readExact(
  folder: string,
  path: string,
  { id, size }: Pick<FileRef, "id" | "size">,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const at = pathIn(await checkedPath(folder), path);
  const info = await nullIfMissing(Deno.lstat(at.path));
  // A file that grew is not read into memory.
  const content = info?.isFile && info.size === size ? await readChecked(at, info) : null;
  return content && (content.id === id || hasId(content.bytes, id)) ? content.bytes : null;
}
