// Suggests names that are similar to an unknown name.

import { distance as countEdits } from "fastest-levenshtein";
import { collectionProblem } from "../api/names.ts";
import { FileList } from "../source/file_list.ts";
import { TreeEntries } from "../source/tree_entries.ts";

/**
 * A folder may have any number of entries. This limits the compared names and
 * the names from each folder.
 */
const MAX_CANDIDATES = 2_000;
const MAX_SUGGESTIONS = 5;
/**
 * Longer names are compared by their ends to save time. Their beginnings are
 * often the path of one parent.
 */
const MAX_COMPARED_CHARS = 32;

/** A folder whose entries may be suggested. */
export interface NamedFolder {
  /** The bytes of the list of its entries. */
  readonly entries: Uint8Array;
  /** Added before each name. */
  readonly prefix: string;
  /** Folders of the root are found without the `_` before their name. */
  readonly isRoot: boolean;
}

interface SuggestInput {
  name: string;
  names: readonly string[];
  folders: readonly NamedFolder[];
  /** Which entries of the folders are suggested. */
  kind?: "folder" | "file";
}

/**
 * Returns at most five names and folders that can be requested. The most
 * similar come first. Ties are sorted by name. The distance is 0 if only the
 * case differs. It is 1 if one name contains the other. Otherwise it is 1 plus
 * the number of edits divided by the longer name's length.
 */
export function suggest(
  { name, names, folders, kind = "folder" }: SuggestInput,
): string[] {
  const wanted = name.toLowerCase();
  const wantedEnd = wanted.slice(-MAX_COMPARED_CHARS);
  const distanceOf = (lower: string): number => {
    if (lower === wanted) return 0;
    if (lower.includes(wanted) || wanted.includes(lower)) return 1;
    const end = lower.slice(-MAX_COMPARED_CHARS);
    return 1 +
      countEdits(wantedEnd, end) / Math.max(end.length, wantedEnd.length);
  };
  const candidates = [
    ...names,
    ...folders.flatMap((folder) => namesIn(folder, kind)),
  ];
  const compared = new Set(candidates.slice(0, MAX_CANDIDATES)).values()
    .map((name) => ({ name, distance: distanceOf(name.toLowerCase()) }))
    .toArray()
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1));
  return compared.values().map(({ name }) => name)
    .filter((name) => collectionProblem(name) === null).take(MAX_SUGGESTIONS)
    .toArray();
}

function namesIn(
  { entries, prefix, isRoot }: NamedFolder,
  kind: "folder" | "file",
): string[] {
  return new TreeEntries(new FileList(entries)).ofKind(kind)
    .filter(({ name }) => !name.startsWith("."))
    .take(MAX_CANDIDATES)
    .map(({ name }) => prefix + (isRoot ? name.replace(/^_(?=.)/s, "") : name))
    .toArray();
}
