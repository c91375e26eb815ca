// Which files of a folder a list has and in what order, with the facets, prepared once per tree and query; pages are cut
// from it. The filters by path run first, so that no more files are read than the list can have; then the filters and
// the sort by front matter. Reading front matter may take long, so a background job does it.

import type { FacetsBody } from "../api/contract.ts";
import type { ListParameters } from "../api/parameters.ts";
import type { ObjectKind } from "../cache/object_cache.ts";
import { collectionTooLarge } from "../errors.ts";
import type { FileList } from "../source/file_list.ts";
import type { FileRef } from "../source/source.ts";
import { STEPS_PER_YIELD, yieldToEventLoop } from "../clock.ts";
import { compileRule } from "./cms.ts";
import { parseFilters } from "./filter.ts";
import { needsReading, readFrontMatters } from "./front_matter.ts";
import { fileName } from "./item_body.ts";
import { parseFrontMatterKey, type PlainObject, readFrontMatterKey } from "./plain_data.ts";
import { type ReadContext, repositoryOf, runJob } from "./read_context.ts";
import { type CollectionFolder, displayPath, pathIn } from "./resolve_collection.ts";
import { compareKeys, parseSort, sortIndices, sortKeyOf } from "./sort.ts";

/** The indices of the selected files in their order, null for all of them by path; facets where requested. */
interface Selected {
  readonly indices: Uint32Array | null;
  readonly facets: FacetsBody | null;
}

/** What sorting and filtering by front matter may read at most. */
const MAX_FILES = 20_000;
const MAX_BYTES = 256 << 20;
const MAX_FACET_VALUES = 100;
/** Longer text is not useful as a facet, and 500 of them would make a large response. */
const MAX_FACET_CHARS = 1024;

const selectedKind: ObjectKind<Selected> = {
  name: "selection",
  sizeOf: ({ indices, facets }) =>
    (indices?.byteLength ?? 0) + 2 * (JSON.stringify(facets)?.length ?? 0),
};

/** Selects files of a folder by checked parameters. @throws {CollectionsError} collection-too-large, or as {@linkcode runJob}. */
export async function selectItems(
  files: FileList,
  parameters: Pick<ListParameters, "sort" | "filter" | "recursive" | "facets">,
  { folder, read }: { folder: CollectionFolder; read: ReadContext },
): Promise<Selected> {
  const { sort = "path", filter = [], recursive = true, facets = [] } = parameters;
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

  const work = async (read: ReadContext) => {
    const { signal } = read.context;
    const accepts = compileRule(rule);
    const chosen: number[] = [];
    for (let index = 0; index < files.length; index++) {
      if (index % STEPS_PER_YIELD === 0) await yieldToEventLoop(signal);
      const path = files.pathAt(index);
      const item = { path, name: fileName(path), frontMatter: null };
      if (accepts(path) && byPath.every((filter) => filter.matches(item))) chosen.push(index);
    }
    const frontMatterAt = usesSource ? await readAll(files, chosen, { folder, read }) : () => null;
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
    const counted = await countFacets(facets, left.map(frontMatterAt), signal);
    const selected = {
      indices: sorted.map((place) => left[place]!),
      facets: facets.length === 0 ? null : counted,
    };
    read.objects.set(selectedKind, repositoryOf(read), id, selected);
    return selected;
  };
  const collection = displayPath(folder.path);
  return await runJob(read, { key: `selection ${id}`, usesSource, collection, work });
}

/** Reads the front matter of files, which the result gives by index. @throws {CollectionsError} collection-too-large. */
async function readAll(
  files: FileList,
  chosen: readonly number[],
  { folder, read }: { folder: CollectionFolder; read: ReadContext },
): Promise<(index: number) => PlainObject | null> {
  const name = displayPath(folder.path);
  const readable = new Map<number, FileRef>();
  let bytes = 0;
  for (const [step, index] of chosen.entries()) {
    if (step % STEPS_PER_YIELD === 0) await yieldToEventLoop(read.context.signal);
    const file = files.at(index);
    if (!needsReading(file, read)) continue;
    bytes += file.size;
    readable.set(index, { ...file, path: pathIn(folder.path, file.path) });
    if (readable.size > MAX_FILES || bytes > MAX_BYTES) {
      const bound = readable.size > MAX_FILES ? `${MAX_FILES} files` : `${MAX_BYTES} bytes`;
      throw collectionTooLarge(name, `sorting or filtering by front matter reads at most ${bound}`);
    }
  }
  const found = await readFrontMatters([...readable.values()], read, { folder: name });
  return (index) => {
    const value = found.get(readable.get(index)?.id ?? "");
    return value === undefined || value instanceof Error ? null : value.frontMatter ?? null;
  };
}

/** Counts the scalar values of each key, each element of a list once an item; the most frequent first, then as sorted. */
async function countFacets(
  facets: readonly string[],
  items: readonly (PlainObject | null)[],
  signal: AbortSignal | undefined,
): Promise<FacetsBody> {
  const counted: FacetsBody = {};
  for (const facet of facets) {
    const key = parseFrontMatterKey(facet)!;
    const counts = new Map<string | number | boolean, number>();
    for (const [index, frontMatter] of items.entries()) {
      if (index % STEPS_PER_YIELD === 0) await yieldToEventLoop(signal);
      for (const value of new Set([readFrontMatterKey(frontMatter, key)].flat(1))) {
        if (value === undefined || typeof value === "object") continue;
        if (typeof value === "string" && value.length > MAX_FACET_CHARS) continue;
        counts.set(value, (counts.get(value) ?? 0) + 1);
      }
    }
    counted[facet] = [...counts].map(([value, count]) => ({ value, count }))
      .sort((a, b) =>
        b.count - a.count || compareKeys(sortKeyOf(a.value)!, sortKeyOf(b.value)!) ||
        (String(a.value) < String(b.value) ? -1 : 1)
      )
      .slice(0, MAX_FACET_VALUES);
  }
  return counted;
}
