// Selects and orders the files of a list and counts its facets. The content
// thread does this once per tree and query.

import { Buffer } from "node:buffer";
import type { ListParameters } from "../api/parameters.ts";
import type { ObjectKind } from "../cache/object_cache.ts";
import type { Selection } from "../content/select.ts";
import { isByHistory, parseSort, sortIndices } from "../content/sort.ts";
import { selectTask } from "../content/tasks.ts";
import { collectionTooLarge } from "../errors.ts";
import type { FileList } from "../source/file_list.ts";
import type { FileRef } from "../source/source.ts";
import { runOverFrontMatter, runSearch } from "./derive.ts";
import { MAX_DATED, readHistories } from "./histories.ts";
import { type ReadContext, repositoryOf, runJob } from "./read_context.ts";
import { type CollectionFolder, pathIn } from "./resolve_collection.ts";
import { STEPS_PER_YIELD, yieldToEventLoop } from "../work/clock.ts";

/**
 * Limits the paths of an answer in UTF-8. Those of 2,000 files in a sitemap fit
 * with 4,096 bytes each. Git sets no limit. Strings take no more memory.
 */
const MAX_PATH_BYTES = 8 << 20;
const MANY_PATH_BYTES = 256 << 10;
/** To read a longer path is no cheap step. */
const LONG_PATH_CHARS = 1024;

/** A file and its index in the list that it was selected from. */
type SelectedFile = FileRef & { readonly index: number };

const selectedKind: ObjectKind<Selection> = {
  name: "selection",
  sizeOf: ({ indices, facets }) =>
    indices.byteLength + 2 * JSON.stringify(facets).length,
};

/**
 * Selects files of a folder by validated parameters.
 * @throws {CollectionsError} collection-too-large or query-too-expensive.
 * @throws what {@linkcode runJob} throws.
 */
export async function selectItems(
  files: FileList,
  parameters:
    & Pick<
      ListParameters,
      "sort" | "filter" | "recursive" | "facets" | "kind" | "search"
    >
    & { latestFirst?: boolean },
  { folder, read }: { folder: CollectionFolder; read: ReadContext },
) {
  const { sort, filter = [], kind, recursive = true, facets = [] } = parameters;
  const { search, latestFirst } = parameters;
  const { path, treeId, declared } = folder;
  const repository = repositoryOf(read);
  const fileAt = (index: number): FileRef => {
    const file = files.at(index);
    return { ...file, path: pathIn(path, file.path) };
  };
  const collect = async (
    indices: readonly number[],
    read: ReadContext,
    todo: string,
  ) => {
    const found: SelectedFile[] = [];
    const folderBytes = Buffer.byteLength(pathIn(path, ""));
    let pathBytes = 0;
    for (const index of indices) {
      const file = fileAt(index);
      pathBytes += folderBytes + files.pathBytes(index).length;
      if (pathBytes > MAX_PATH_BYTES) {
        const why = `the paths of ${indices.length} items are too long`;
        throw collectionTooLarge(path, `${why}; ${todo}`);
      }
      // Usual paths are short and need no more memory than the answer.
      if (pathBytes > MANY_PATH_BYTES) await read.reserveBytes(MAX_PATH_BYTES);
      found.push({ ...file, index });
      const isLong = file.path.length > LONG_PATH_CHARS;
      if (isLong || found.length % STEPS_PER_YIELD === 0) {
        await yieldToEventLoop(read.context.signal);
      }
    }
    return found;
  };

  const rule = declared?.rule;
  const { maxItemBytes } = read.limits;
  const searched = { repository, folder: path, files: files.bytes, rule };
  /** Finds the items, or their matches by their indices. */
  const find = (shown: readonly number[]) => {
    const index = JSON.stringify([read.snapshot.branch, path, recursive, rule]);
    const query = { index, maxItemBytes, search: search!, shown };
    return runSearch(read, { ...searched, ...query }, fileAt);
  };
  const order = parseSort(sort ?? "path");
  const isDated = isByHistory(order);
  const chosen = { sort, filter, kind, facets, latestFirst };
  const of = isDated ? [read.snapshot.commit, path] : treeId;
  const id = JSON.stringify([of, rule, recursive, search, chosen]);
  const work = async (read: ReadContext) => {
    const input = { ...searched, ...chosen, maxItemBytes, scores };
    if (isDated) input.sort = "path";
    const selected = await runOverFrontMatter(read, selectTask, input, {
      subject: path,
      fileAt,
      query: input,
    });
    const selection = isDated ? await byHistory(selected, read) : selected;
    const { cacheForMs = Infinity } = selection;
    if (cacheForMs === Infinity) {
      read.objects.set(selectedKind, repository, id, selection);
    }
    return selection;
  };
  const byHistory = async (selected: Selection, read: ReadContext) => {
    if (selected.indices.length > MAX_DATED) {
      throw collectionTooLarge(
        path,
        `sorting by lastChanged.date takes at most ${MAX_DATED} files`,
      );
    }
    const indices = [...selected.indices];
    const files = await collect(indices, read, "leave out the sort");
    const { histories, cacheForMs } = await readHistories(files, read);
    const dates = new Map(indices.map((index, at) => {
      const { lastChanged } = histories.get(files[at]!.path) ?? {};
      return [index, lastChanged?.date ?? null];
    }));
    const item = (index: number) => ({
      lastChanged: { date: dates.get(index)! },
    });
    return {
      ...selected,
      indices: sortIndices(indices, order, { item }),
      cacheForMs,
    };
  };
  const isWhole = (sort ?? "path") === "path" && search === undefined &&
    filter.length + facets.length === 0 && kind === undefined &&
    declared === null;
  const known = isWhole
    ? null
    : read.objects.peek(selectedKind, repository, id);
  const scores = search === undefined || known !== undefined
    ? undefined
    : (await find([])).scores;
  const job = { key: `selection ${id}`, collection: path, work };
  const selection = known === undefined ? await runJob(read, job) : known;

  const total = selection?.indices.length ?? files.length;
  return {
    total,
    facets: selection?.facets ?? {},
    cacheForMs: selection?.cacheForMs ?? Infinity,
    /** The selected files in their order. Null selects all files. */
    indices: selection?.indices ?? null,
    /** Returns the file at a position of the selection, or null. */
    at: (position: number): FileRef | null =>
      position < 0 || position >= total
        ? null
        : fileAt(selection?.indices[position] ?? position),
    /**
     * Returns the files from `start` to `end`, in their order. `todo` is what
     * an error tells the client to do.
     * @throws {CollectionsError} collection-too-large if their paths are.
     * @throws what {@linkcode ReadContext.reserveBytes} throws.
     */
    files(
      start: number,
      end: number,
      todo = "lower limit",
    ): Promise<SelectedFile[]> {
      const length = Math.max(0, Math.min(end, total) - start);
      const indices = Array.from(
        { length },
        (_, at) => selection?.indices[start + at] ?? start + at,
      );
      return collect(indices, read, todo);
    },
    /** Returns why the search found the items from `start` to `end`. */
    async matches(start: number, end: number) {
      if (search === undefined || selection === null) return [];
      const shown = [...selection.indices.subarray(start, end)];
      const { scores, snippets } = await find(shown);
      return shown.map((index, at) => ({
        score: scores.get(index)!,
        snippet: snippets[at]!,
      }));
    },
    /**
     * Returns the position of a file by its path from the repository's root.
     * Returns -1 if the file is not selected.
     */
    positionOf(filePath: string): number {
      const index = files.indexOf(filePath.slice(pathIn(path, "").length));
      return selection === null || index < 0
        ? index
        : selection.indices.indexOf(index);
    },
  };
}
