// Which files of a folder a list has and in what order, with the facets, prepared once per tree and query; pages are cut
// from it. The filters by path run first, so that no more files are read than the list can have; then the filters and
// the sort by front matter. Reading front matter may take long, so a background job does it.

import type { FacetsBody } from "../api/contract.ts";
import type { ListParameters } from "../api/parameters.ts";
import type { ObjectKind } from "../cache/object_cache.ts";
import { collectionTooLarge } from "../errors.ts";
import type { FileList } from "../source/file_list.ts";
import { backgroundContext, type FileRef } from "../source/source.ts";
import { STEPS_PER_YIELD, yieldToEventLoop } from "../clock.ts";
import { compileRule } from "./cms/declaration.ts";
import { countFacets } from "./facets.ts";
import { type Filter, matchesFilters, needsFrontMatter, parseFilters } from "./filter.ts";
import { needsReading, readFrontMatters } from "./front_matter.ts";
import { fileName } from "./item_body.ts";
import type { PlainObject } from "./plain_data.ts";
import { type ReadContext, repositoryOf, runJob } from "./read_context.ts";
import { type CollectionFolder, displayPath, pathIn } from "./resolve_collection.ts";
import { parseSort, type Sort, sortIndices } from "./sort.ts";

/** The items that a query selects. `key` distinguishes it from other selections of the same folder. */
export interface Selection {
  readonly key: string;
  readonly sort: Sort;
  readonly filters: readonly Filter[];
  readonly facets: readonly string[];
}

/** A selection's result: the indices of the files in their order, null for all of them by path; facets where requested. */
export interface Selected {
  readonly indices: Uint32Array | null;
  readonly facets: FacetsBody | null;
}

/** The selection that checked parameters mean. */
export function selectionOf(
  { sort = "path", filter = [], recursive = true, facets = [] }: Pick<
    ListParameters,
    "sort" | "filter" | "recursive" | "facets"
  >,
): Selection {
  return {
    key: JSON.stringify([sort, filter, recursive, ...facets]),
    sort: parseSort(sort),
    filters: parseFilters(filter).filters,
    facets,
  };
}

/** What sorting and filtering by front matter may read at most. */
const FRONT_MATTER_LIMITS = { maxFiles: 20_000, maxBytes: 256 << 20 };

const selectedKind: ObjectKind<Selected> = {
  name: "selection",
  sizeOf: ({ indices, facets }) =>
    (indices?.byteLength ?? 0) + 2 * (JSON.stringify(facets)?.length ?? 0),
};

/**
 * Selects files of a folder.
 * @throws {CollectionsError} collection-not-ready, collection-too-large, too-many-requests, or a source failure.
 */
export async function selectItems(
  files: FileList,
  selection: Selection,
  { folder, read }: { folder: CollectionFolder; read: ReadContext },
): Promise<Selected> {
  const { sort, filters, facets } = selection;
  const isPlain = sort.by === "path" && !sort.descending && filters.length === 0;
  if (isPlain && facets.length === 0 && folder.declared === null) {
    return { indices: null, facets: null };
  }
  const id = JSON.stringify([folder.treeId, folder.declared?.id, selection.key]);
  const cached = read.objects.peek(selectedKind, repositoryOf(read), id);
  if (cached !== undefined) return cached;
  return await runJob(read, {
    key: `selection ${id}`,
    usesSource: facets.length > 0 || needsFrontMatter(sort, filters),
    collection: displayPath(folder.path),
    async work(signal) {
      const context = backgroundContext(read.context.client, signal);
      const selected = await select(files, selection, { folder, read: { ...read, context } });
      read.objects.set(selectedKind, repositoryOf(read), id, selected);
      return selected;
    },
  });
}

interface Place {
  readonly folder: CollectionFolder;
  readonly read: ReadContext;
}

async function select(files: FileList, selection: Selection, place: Place): Promise<Selected> {
  const { sort, filters, facets } = selection;
  const { signal } = place.read.context;
  const chosen = await selectByPath(files, filters, place);
  const frontMatterAt = facets.length > 0 || needsFrontMatter(sort, filters)
    ? await readAll(files, chosen, place)
    : () => null;
  const left: number[] = [];
  const byFrontMatter = filters.filter((filter) => !("glob" in filter));
  for (const [step, index] of chosen.entries()) {
    if (step % STEPS_PER_YIELD === 0) await yieldToEventLoop(signal);
    const item = { path: "", name: "", frontMatter: frontMatterAt(index) };
    if (matchesFilters(byFrontMatter, item)) left.push(index);
  }
  const order = await sortIndices(left.length, sort, {
    name: (place) => fileName(files.pathAt(left[place]!)),
    size: (place) => files.sizeAt(left[place]!),
    frontMatter: (place) => frontMatterAt(left[place]!),
  }, signal);
  return {
    indices: order.map((place) => left[place]!),
    facets: facets.length === 0 ? null : await countFacets(facets, left.map(frontMatterAt), signal),
  };
}

/** The files that the folder's rule and the filters by name and path let through, in byte order of path. */
async function selectByPath(
  files: FileList,
  filters: readonly Filter[],
  { folder, read }: Place,
): Promise<number[]> {
  const accepts = compileRule(folder.declared?.rule ?? {});
  const byPath = filters.filter((filter) => "glob" in filter);
  const chosen: number[] = [];
  for (let index = 0; index < files.length; index++) {
    if (index % STEPS_PER_YIELD === 0) await yieldToEventLoop(read.context.signal);
    const path = files.pathAt(index);
    const item = { path, name: fileName(path), frontMatter: null };
    if (accepts(path) && matchesFilters(byPath, item)) chosen.push(index);
  }
  return chosen;
}

/**
 * Reads the front matter of the chosen files; the result gives that of a file by its index.
 * @throws {CollectionsError} collection-too-large for more than {@linkcode FRONT_MATTER_LIMITS}.
 */
async function readAll(
  files: FileList,
  chosen: readonly number[],
  { folder, read }: Place,
): Promise<(index: number) => PlainObject | null> {
  const { maxFiles, maxBytes } = FRONT_MATTER_LIMITS;
  const readable = new Map<number, FileRef>();
  let bytes = 0;
  for (const [step, index] of chosen.entries()) {
    if (step % STEPS_PER_YIELD === 0) await yieldToEventLoop(read.context.signal);
    const file = files.at(index);
    if (!needsReading(file, read)) continue;
    bytes += file.size;
    readable.set(index, { ...file, path: pathIn(folder.path, file.path) });
    if (readable.size > maxFiles || bytes > maxBytes) {
      const bound = readable.size > maxFiles ? `${maxFiles} files` : `${maxBytes} bytes`;
      const why = `sorting or filtering by front matter reads at most ${bound}`;
      throw collectionTooLarge(displayPath(folder.path), why);
    }
  }
  const found = await readFrontMatters([...readable.values()], read, {
    folder: displayPath(folder.path),
  });
  return (index) => {
    const id = readable.get(index)?.id;
    const value = id === undefined ? undefined : found.get(id);
    return value === undefined || value instanceof Error ? null : value.frontMatter ?? null;
  };
}
