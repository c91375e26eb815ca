// From a path to what stands there: one folder after the other, reading only those on the way, and the rest of a long way
// in one answer.

import { isSourceFailure } from "../errors.ts";
import type { FileList } from "../repository/file_list.ts";
import type { Caller, EntryKind, Repository, Snapshot } from "../repository/repository.ts";

/** What stands at a path; a file's `size` is in bytes. `id` of the root is its tree's. */
export interface FoundEntry {
  readonly kind: EntryKind;
  readonly id: string;
  readonly size: number;
}

/** Where {@linkcode findEntry} looks. */
export interface Reading {
  readonly repository: Repository;
  readonly snapshot: Snapshot;
  readonly caller: Caller;
}

/** Folders that are read one after the other before the rest of a long way is looked up in one answer. */
const NEAR = 8;

/**
 * What stands at `path` ("" is the root), or null. A list of files that is kept for a folder on the way is used in
 * place of the folders below it. @throws {CollectionsError} a source failure.
 */
export async function findEntry(path: string, reading: Reading): Promise<FoundEntry | null> {
  const { repository, snapshot, caller } = reading;
  let entry: FoundEntry = { kind: "folder", id: snapshot.rootTreeId, size: 0 };
  const segments = path === "" ? [] : path.split("/");
  for (let depth = 0; depth < segments.length; depth++) {
    if (entry.kind !== "folder") return null;
    const rest = segments.slice(depth);
    const kept = await repository.keptFiles?.(snapshot, entry.id);
    const file = kept?.find(rest.join("/")) ?? null;
    if (file !== null) return { kind: "file", id: file.id, size: file.size };

    const folders = isLongWay(depth, rest.length) ? await foldersBelow(entry.id, reading) : null;
    if (folders !== null) {
      const parent = folders.find(rest.slice(0, -1).join("/"));
      if (parent === null) return null;
      entry = { kind: "folder", id: parent.id, size: 0 };
      depth = segments.length - 1;
    }
    const entries = await repository.readTree(snapshot, entry.id, caller);
    const next = entries.find((candidate) => candidate.name === segments[depth]);
    if (next === undefined) return null;
    entry = next;
  }
  return entry;
}

/** All folders below one, or null where they cannot be had in one answer: then the way is gone step by step. */
async function foldersBelow(
  treeId: string,
  { repository, snapshot, caller }: Reading,
): Promise<FileList | null> {
  try {
    return await repository.readFolders(snapshot, treeId, caller);
  } catch (error) {
    if (isSourceFailure(error) && error.code !== "source-rate-limited") return null;
    throw error;
  }
}

/** Where the answer may be truncated each time it is tried, it is tried at twice the depth only. */
function isLongWay(depth: number, left: number): boolean {
  return depth >= NEAR && left > NEAR && Number.isInteger(Math.log2(depth));
}

/** The names of the folders in the folder at `path`; none where there is no folder. */
export async function folderNames(path: string, reading: Reading): Promise<string[]> {
  const folder = await findEntry(path, reading);
  if (folder?.kind !== "folder") return [];
  const entries = await reading.repository.readTree(reading.snapshot, folder.id, reading.caller);
  return entries.filter((entry) => entry.kind === "folder" && !entry.name.startsWith("."))
    .map((entry) => entry.name);
}
