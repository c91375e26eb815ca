// Which files of a folder a list has and in what order. First what paths alone decide, so that no more files are read
// than can be in the list; then, with their front matter, the rest. Long lists are worked through in slices.

import { Slices } from "../give_way.ts";
import type { FileList } from "../repository/file_list.ts";
import { fileName } from "./file_name.ts";
import { type Filter, matchesFilters } from "./filter_items.ts";
import type { PlainObject } from "./plain_data.ts";
import { type Sort, sortIndices } from "./sort_items.ts";

/** Which items are asked for. `key` tells this selection from others of the same folder. */
export interface Selection {
  readonly key: string;
  readonly sort: Sort;
  readonly filters: readonly Filter[];
}

/** The files that a rule for paths and the filters by name and path let through, in byte order of path. */
export async function selectByPath(
  files: FileList,
  { filters }: Selection,
  accepts: (path: string) => boolean,
): Promise<Uint32Array> {
  const byPath = filters.filter((filter) => "glob" in filter);
  const slices = new Slices();
  const chosen: number[] = [];
  for (let index = 0; index < files.length; index++) {
    if (slices.isOver()) await slices.giveWay();
    const path = files.pathAt(index);
    const item = { path, name: fileName(path), frontMatter: null };
    if (accepts(path) && matchesFilters(byPath, item)) chosen.push(index);
  }
  return Uint32Array.from(chosen);
}

/** What is left of the chosen files by their front matter, in the order of the selection. */
export async function arrange(
  { files, chosen }: { files: FileList; chosen: Uint32Array },
  { sort, filters }: Selection,
  frontMatterAt: (index: number) => PlainObject | null,
): Promise<Uint32Array> {
  const byFrontMatter = filters.filter((filter) => "text" in filter);
  const left = byFrontMatter.length === 0
    ? chosen
    : chosen.filter((index) =>
      matchesFilters(byFrontMatter, { path: "", name: "", frontMatter: frontMatterAt(index) })
    );
  const order = await sortIndices(left.length, sort, {
    name: (place) => fileName(files.pathAt(left[place]!)),
    size: (place) => files.sizeAt(left[place]!),
    frontMatter: (place) => frontMatterAt(left[place]!),
  });
  return order.map((place) => left[place]!);
}
