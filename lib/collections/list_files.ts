// The files below a folder, by one request where the source answers it whole, else by a background job that reads folder by
// folder; and which of them a list has in what order, with the facets, prepared once per tree and query. The filters by path
// run first, so that no more files are read than the list can have; then the filters and the sort by front matter.

import pLimit from "p-limit";
import type { FacetsBody } from "../api/contract.ts";
import type { ListParameters } from "../api/parameters.ts";
import type { ObjectKind } from "../cache/object_cache.ts";
import { STEPS_PER_YIELD, yieldToEventLoop } from "../clock.ts";
import { collectionTooLarge } from "../errors.ts";
import { type FileList, FileListBuilder, fileListKind, isListedPath } from "../source/file_list.ts";
import type { FileRef, TreeEntries } from "../source/source.ts";
import { compileRule } from "./cms.ts";
import { parseFilters } from "./filter.ts";
import { type FrontMatter, needsReading, readFrontMatters } from "./front_matter.ts";
import { fileName } from "./item_body.ts";
import { parseFrontMatterKey, type PlainObject, readFrontMatterKey } from "./plain_data.ts";
import { countTreeRead, type ReadContext, readTree, repositoryOf, runJob } from "./read_context.ts";
import { type CollectionFolder, displayPath, pathIn } from "./resolve_collection.ts";
import { compareKeys, parseSort, sortIndices, sortKeyOf } from "./sort.ts";

const MAX_FILES = 1_000_000;
const READS_AT_ONCE = 8;
/** GitHub shows names that are not UTF-8 with this character. */
const NOT_UTF8 = "\uFFFD";
/** What sorting and filtering by front matter may read at most. */
const MAX_READ = { files: 20_000, bytes: 256 << 20 };
const MAX_FACET_VALUES = 100;
/** Longer text is not useful as a facet, and 500 of them would make a large response. */
const MAX_FACET_CHARS = 1024;

/** The files directly in a folder; the key-value store has them as part of its tree. */
const directFilesKind: ObjectKind<FileList> = {
  name: "direct-files",
  sizeOf: (files) => files.bytes.length,
};

/**
 * The files below a folder, or only those directly in it, sorted and without those that have a segment that begins with a
 * dot. Each answer is cached, so that a listing stopped by a spent quota continues from there.
 * @throws {CollectionsError} collection-too-large past the bounds, collection-not-ready, or a source failure.
 */
export async function listFiles(
  folder: CollectionFolder,
  read: ReadContext,
  recursive = true,
): Promise<FileList> {
  const { path, treeId } = folder;
  const repository = repositoryOf(read);
  if (!recursive) {
    const cached = read.objects.peek(directFilesKind, repository, treeId);
    if (cached !== undefined) return cached;
    const builder = new FileListBuilder();
    const entries = await readTree(read, treeId, path);
    addEntries(builder, entries.filter(({ kind }) => kind === "file"));
    const files = builder.build();
    read.objects.set(directFilesKind, repository, treeId, files);
    return files;
  }
  countTreeRead(read, path);
  const whole = await read.source.files(read.snapshot, treeId, read.context);
  if (whole !== null) {
    requireFew(whole.length, path);
    return whole;
  }
  const work = async (read: ReadContext) => {
    const files = await listInParts(folder, read);
    read.objects.set(fileListKind, repository, treeId, files);
    return files;
  };
  // The path is in the key since a remembered error names it.
  const job = { key: `files ${treeId} ${path}`, usesSource: true, collection: displayPath(path) };
  return await runJob(read, { ...job, work });
}

/** One listing in parts: the plain tree of what was truncated, then each folder in it by one recursive request. */
async function listInParts({ path, treeId }: CollectionFolder, read: ReadContext) {
  const builder = new FileListBuilder();
  const limit = pLimit(READS_AT_ONCE);
  const failure = new AbortController();
  /** Runs one read; after the first failure no more begin. */
  const run = <T>(work: () => Promise<T>) =>
    limit(() => {
      failure.signal.throwIfAborted();
      read.context.signal?.throwIfAborted();
      return work();
    }).catch((error) => {
      failure.abort(error);
      throw error;
    });
  const addTree = async (treeId: string, prefix: string): Promise<void> => {
    const entries = await run(() => readTree(read, treeId, path));
    const folders = addEntries(builder, entries, prefix);
    requireFew(builder.length, path);
    await Promise.all(folders.map(addFolder));
  };
  const addFolder = async (folder: { id: string; path: string }): Promise<void> => {
    const files = await run(() => {
      countTreeRead(read, path);
      return read.source.files(read.snapshot, folder.id, read.context);
    });
    if (files === null) return await addTree(folder.id, `${folder.path}/`);
    builder.addAll(files, folder.path);
    requireFew(builder.length, path);
  };
  await addTree(treeId, "");
  return builder.build();
}

/** Adds the files among a folder's entries; returns its folders. */
function addEntries(builder: FileListBuilder, entries: TreeEntries, prefix = "") {
  const folders: { id: string; path: string }[] = [];
  for (const { name, kind, id, size } of entries) {
    if (!isListedPath(name) || (kind !== "file" && kind !== "folder")) continue;
    const path = prefix + name;
    if (name.includes(NOT_UTF8)) builder.omit();
    else if (kind === "file") builder.add({ path, id, size });
    else folders.push({ id, path });
  }
  return folders;
}

function requireFew(count: number, path: string): void {
  if (count > MAX_FILES) {
    throw collectionTooLarge(displayPath(path), `it has more than ${MAX_FILES} files`);
  }
}

/** The indices of the selected files in their order, null for all of them by path; and the requested facets. */
interface Selected {
  readonly indices: Uint32Array | null;
  readonly facets: FacetsBody;
}

const selectedKind: ObjectKind<Selected> = {
  name: "selection",
  sizeOf: ({ indices, facets }) => (indices?.byteLength ?? 0) + 2 * JSON.stringify(facets).length,
};

/** Selects files of a folder by checked parameters. @throws {CollectionsError} collection-too-large, or as {@linkcode runJob}. */
export async function selectItems(
  files: FileList,
  parameters: Pick<ListParameters, "sort" | "filter" | "recursive" | "facets">,
  { folder, read }: { folder: CollectionFolder; read: ReadContext },
): Promise<Selected> {
  const { sort = "path", filter = [], recursive = true, facets = [] } = parameters;
  const isPlain = sort === "path" && filter.length === 0 && facets.length === 0;
  if (isPlain && folder.declared === null) return { indices: null, facets: {} };
  const rule = folder.declared?.rule;
  const id = JSON.stringify([folder.treeId, rule, sort, filter, recursive, ...facets]);
  const cached = read.objects.peek(selectedKind, repositoryOf(read), id);
  if (cached !== undefined) return cached;
  const order = parseSort(sort);
  const { byPath, byFrontMatter } = parseFilters(filter);
  const usesSource = typeof order.by !== "string" || byFrontMatter.length + facets.length > 0;

  const collection = displayPath(folder.path);
  const work = async (read: ReadContext) => {
    const { signal } = read.context;
    const accepts = compileRule(rule);
    const chosen: number[] = [];
    const readable = new Map<number, FileRef>();
    let bytes = 0;
    for (let index = 0; index < files.length; index++) {
      if (index % STEPS_PER_YIELD === 0) await yieldToEventLoop(signal);
      const path = files.pathAt(index);
      if (!accepts(path) || !byPath.every((passes) => passes(path))) continue;
      chosen.push(index);
      const file = usesSource ? files.at(index) : null;
      if (file === null || !needsReading(file, read)) continue;
      readable.set(index, { ...file, path: pathIn(folder.path, path) });
      bytes += file.size;
      if (readable.size > MAX_READ.files || bytes > MAX_READ.bytes) {
        const hasMany = readable.size > MAX_READ.files;
        const most = hasMany ? `${MAX_READ.files} files` : `${MAX_READ.bytes} bytes`;
        const why = `sorting or filtering by front matter reads at most ${most}`;
        throw collectionTooLarge(collection, why);
      }
    }
    const found = await readFrontMatters([...readable.values()], read, { folder: collection });
    // Of a folder's files every failure is thrown.
    const frontMatterAt = (index: number) =>
      (found.get(readable.get(index)?.id ?? "") as FrontMatter | undefined)?.frontMatter ?? null;
    const left: number[] = [];
    for (const [step, index] of chosen.entries()) {
      if (step % STEPS_PER_YIELD === 0) await yieldToEventLoop(signal);
      const frontMatter = frontMatterAt(index);
      if (byFrontMatter.every((passes) => passes(frontMatter))) left.push(index);
    }
    const indices = await sortIndices(left, order, {
      name: (index) => fileName(files.pathAt(index)),
      size: (index) => files.sizeAt(index),
      frontMatter: frontMatterAt,
    }, signal);
    const selected = {
      indices,
      facets: await countFacets(facets, left.map(frontMatterAt), signal),
    };
    read.objects.set(selectedKind, repositoryOf(read), id, selected);
    return selected;
  };
  return await runJob(read, { key: `selection ${id}`, usesSource, collection, work });
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
