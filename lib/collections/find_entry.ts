// From a path to its entry: one folder after the other, reading only those on the way.

import { FileList, fileListKind } from "../source/file_list.ts";
import type { EntryKind } from "../source/source.ts";
import { type ReadContext, readTree, repositoryOf } from "./read_context.ts";

/** The entry at a path; a file's `size` is in bytes. `id` of the root is its tree's. */
export interface FoundEntry {
  readonly kind: EntryKind;
  readonly id: string;
  readonly size: number;
}

/**
 * The entry at `path` ("" is the root), or null. A file list in memory saves the folders below its own.
 * @throws {CollectionsError} collection-too-large for a path with too many folders, or a source failure.
 */
export async function findEntry(path: string, read: ReadContext): Promise<FoundEntry | null> {
  let entry: FoundEntry = { kind: "folder", id: read.snapshot.commit, size: 0 };
  let rest = path;
  while (rest !== "") {
    if (entry.kind !== "folder") return null;
    const list = read.objects.peek(fileListKind, repositoryOf(read), entry.id);
    const index = list instanceof FileList ? list.indexOf(rest) : -1;
    if (list instanceof FileList && index >= 0) return { kind: "file", ...list.at(index) };

    const slash = rest.indexOf("/");
    const name = slash < 0 ? rest : rest.slice(0, slash);
    rest = slash < 0 ? "" : rest.slice(slash + 1);
    const entries = await readTree(read, entry.id, path);
    const next = entries.find((candidate) => candidate.name === name);
    if (next === undefined) return null;
    entry = next;
  }
  return entry;
}
