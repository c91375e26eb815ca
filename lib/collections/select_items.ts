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
import { type Filter, parseFilters } from "./filter.ts";
import { needsReading, readFrontMatters } from "./front_matter.ts";
import { fileName } from "./item_body.ts";
import { parseFrontMatterKey, type PlainObject, readFrontMatterKey } from "./plain_data.ts";
import { type ReadContext, repositoryOf, runJob } from "./read_context.ts";
import { type CollectionFolder, displayPath, pathIn } from "./resolve_collection.ts";
import { compareKeys, parseSort, sortIndices, sortKeyOf } from "./sort.ts";

/** The indices of the selected files in their order, null for all of them by path; facets where requested. */
export interface Selected {
  readonly indices: Uint32Array | null;
  readonly facets: FacetsBody | null;
}

type Selection = Pick<ListParameters, "sort" | "filter" | "recursive" | "facets">;

interface Place {
  readonly folder: CollectionFolder;
  readonly read: ReadContext;
}

/** What sorting and filtering by front matter may read at most. */
const FRONT_MATTER_LIMITS = { maxFiles: 20_000, maxBytes: 256 << 20 };
const MAX_FACET_VALUES = 100;
/** Longer text is not useful as a facet, and 500 of them would make a large response. */
const MAX_FACET_CHARS = 1024;

const selectedKind: ObjectKind<Selected> = {
  name: "selection",
  sizeOf: ({ indices, facets }) =>
    (indices?.byteLength ?? 0) + 2 * (JSON.stringify(facets)?.length ?? 0),
};

/**
 * Selects files of a folder by checked parameters.
 * @throws {CollectionsError} collection-not-ready, collection-too-large, too-many-requests, or a source failure.
 */
export async function selectItems(
  files: FileList,
  { sort = "path", filter = [], recursive = true, facets = [] }: Selection,
  { folder, read }: Place,
): Promise<Selected> {
  const isPlain = sort === "path" && filter.length === 0 && facets.length === 0;
  if (isPlain && folder.declared === null) return { indices: null, facets: null };
  const rule = folder.declared?.rule;
  const id = JSON.stringify([folder.treeId, rule, sort, filter, recursive, ...facets]);
  const cached = read.objects.peek(selectedKind, repositoryOf(read), id);
  if (cached !== undefined) return cached;
  const order = parseSort(sort);
  const { filters } = parseFilters(filter);
  const byPath = filters.filter(({ needsFrontMatter }) => !needsFrontMatter);
  const byFrontMatter = filters.filter(({ needsFrontMatter }) => needsFrontMatter);
  const usesSource = typeof order.by !== "string" || byFrontMatter.length + facets.length > 0;
  return await runJob(read, {
    key: `selection ${id}`,
    usesSource,
    collection: displayPath(folder.path),
    async work(read) {
      const { signal } = read.context;
      const chosen = await selectByPath(files, byPath, { folder, read });
      const frontMatterAt = usesSource
        ? await readAll(files, chosen, { folder, read })
        : () => null;
      const left: number[] = [];
      for (const [step, index] of chosen.entries()) {
        if (step % STEPS_PER_YIELD === 0) await yieldToEventLoop(signal);
        const item = { path: "", name: "", frontMatter: frontMatterAt(index) };
        if (byFrontMatter.every((filter) => filter.matches(item))) left.push(index);
      }
      const sorted = await sortIndices(left.length, order, {
        name: (place) => fileName(files.pathAt(left[place]!)),
        size: (place) => files.sizeAt(left[place]!),
        frontMatter: (place) => frontMatterAt(left[place]!),
      }, signal);
      const selected = {
        indices: sorted.map((place) => left[place]!),
        facets: facets.length === 0
          ? null
          : await countFacets(facets, left.map(frontMatterAt), signal),
      };
      read.objects.set(selectedKind, repositoryOf(read), id, selected);
      return selected;
    },
  });
}

/** The files that the folder's rule and the filters by name and path let through, in byte order of path. */
async function selectByPath(
  files: FileList,
  filters: readonly Filter[],
  { folder, read }: Place,
): Promise<number[]> {
  const accepts = compileRule(folder.declared?.rule ?? {});
  const chosen: number[] = [];
  for (let index = 0; index < files.length; index++) {
    if (index % STEPS_PER_YIELD === 0) await yieldToEventLoop(read.context.signal);
    const path = files.pathAt(index);
    const item = { path, name: fileName(path), frontMatter: null };
    if (accepts(path) && filters.every((filter) => filter.matches(item))) chosen.push(index);
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
    const value = found.get(readable.get(index)?.id ?? "");
    return value === undefined || value instanceof Error ? null : value.frontMatter ?? null;
  };
}

type Scalar = string | number | boolean;

/**
 * Counts the values of each key over items, each element of a list once an item; null, mappings and missing values are
 * not counted. The most frequent come first, then those that sorting puts first. @throws the signal's reason.
 */
async function countFacets(
  facets: readonly string[],
  items: readonly (PlainObject | null)[],
  signal: AbortSignal | undefined,
): Promise<FacetsBody> {
  const counted: FacetsBody = {};
  for (const facet of facets) {
    const key = parseFrontMatterKey(facet)!;
    const counts = new Map<Scalar, number>();
    for (const [index, frontMatter] of items.entries()) {
      if (index % STEPS_PER_YIELD === 0) await yieldToEventLoop(signal);
      for (const value of new Set([readFrontMatterKey(frontMatter, key)].flat(1))) {
        if (isCounted(value)) counts.set(value, (counts.get(value) ?? 0) + 1);
      }
    }
    counted[facet] = [...counts]
      .sort(([a, countA], [b, countB]) => countB - countA || compareValues(a, b))
      .slice(0, MAX_FACET_VALUES)
      .map(([value, count]) => ({ value, count }));
  }
  return counted;
}

function isCounted(value: unknown): value is Scalar {
  return typeof value === "number" || typeof value === "boolean" ||
    (typeof value === "string" && value.length <= MAX_FACET_CHARS);
}

/** As sorting does, then by the text, so that the order never depends on the files' paths. */
function compareValues(a: Scalar, b: Scalar): number {
  return compareKeys(sortKeyOf(a)!, sortKeyOf(b)!) || (String(a) < String(b) ? -1 : 1);
}
