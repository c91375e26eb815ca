// Names that are like one that leads nowhere.

import { distance as countEdits } from "fastest-levenshtein";
import { collectionProblem } from "../api/names.ts";
import { FileList } from "../source/file_list.ts";
import { TreeEntries } from "../source/tree_entries.ts";

/** A folder may have any number of entries: so many names are compared, and no more of each folder. */
const MAX_CANDIDATES = 2_000;
const MAX_SUGGESTIONS = 5;
/** Longer names are compared by their ends, which takes less time: beginnings are often one parent's path. */
const MAX_COMPARED_CHARS = 32;

/** A folder whose sub-folders may be meant. */
export interface NamedFolder {
  /** The bytes of the list of its entries. */
  readonly entries: Uint8Array;
  /** What comes before each name. */
  readonly prefix: string;
  /** Folders of the root are found without the `_` before their name. */
  readonly isRoot: boolean;
}

export interface SuggestInput {
  readonly name: string;
  readonly names: readonly string[];
  readonly folders: readonly NamedFolder[];
}

/**
 * At most five of the names and folders that can be requested, the likeliest first; ties by name. The distance is 0 for the
 * same name in another case, 1 where one contains the other, else 1 and the edits as a share of the longer name's length.
 */
export function suggest({ name, names, folders }: SuggestInput): string[] {
  const wanted = name.toLowerCase();
  const wantedEnd = wanted.slice(-MAX_COMPARED_CHARS);
  const distanceOf = (lower: string): number => {
    if (lower === wanted) return 0;
    if (lower.includes(wanted) || wanted.includes(lower)) return 1;
    const end = lower.slice(-MAX_COMPARED_CHARS);
    return 1 + countEdits(wantedEnd, end) / Math.max(end.length, wantedEnd.length);
  };
  const candidates = [...names, ...folders.flatMap((folder) => namesIn(folder))];
  const compared = new Set(candidates.slice(0, MAX_CANDIDATES)).values()
    .map((name) => ({ name, distance: distanceOf(name.toLowerCase()) })).toArray()
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1));
  return compared.values().map(({ name }) => name)
    .filter((name) => collectionProblem(name) === null).take(MAX_SUGGESTIONS).toArray();
}

function namesIn({ entries, prefix, isRoot }: NamedFolder): string[] {
  return new TreeEntries(new FileList(entries)).ofKind("folder")
    .filter(({ name }) => !name.startsWith("."))
    .take(MAX_CANDIDATES)
    .map(({ name }) => prefix + (isRoot ? name.replace(/^_(?=.)/s, "") : name)).toArray();
}
