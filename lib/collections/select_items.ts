// Selects and orders the files of a list and counts its facets. The content
// thread does this once per tree and query.

import { displayPath } from "../api/names.ts";
import type { ListParameters } from "../api/parameters.ts";
import type { ObjectKind } from "../cache/object_cache.ts";
import type { Selection } from "../content/select.ts";
import { selectTask } from "../content/tasks.ts";
import type { FileList } from "../source/file_list.ts";
import type { FileRef } from "../source/source.ts";
import { runOverFrontMatter } from "./derive.ts";
import { type ReadContext, repositoryOf, runJob } from "./read_context.ts";
import { type CollectionFolder, pathIn } from "./resolve_collection.ts";

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
  parameters: Pick<ListParameters, "sort" | "filter" | "recursive" | "facets">,
  { folder, read }: { folder: CollectionFolder; read: ReadContext },
) {
  const { sort = "path", filter = [], recursive = true, facets = [] } =
    parameters;
  const { path, treeId, declared } = folder;
  const repository = repositoryOf(read);
  const fileAt = (index: number): FileRef => {
    const file = files.at(index);
    return { ...file, path: pathIn(path, file.path) };
  };

  const rule = declared?.rule;
  const id = JSON.stringify([treeId, rule, sort, filter, recursive, ...facets]);
  const work = async (read: ReadContext) => {
    const { maxItemBytes } = read.limits;
    const query = { rule, sort, filter, facets, maxItemBytes };
    const input = { repository, folder: path, files: files.bytes, ...query };
    const selection = await runOverFrontMatter(read, selectTask, input, {
      subject: displayPath(path),
      fileAt,
      onFailure: (_, error) => {
        throw error;
      },
    });
    read.objects.set(selectedKind, repository, id, selection);
    return selection;
  };
  const isWhole = sort === "path" && filter.length + facets.length === 0 &&
    declared === null;
  const job = { key: `selection ${id}`, collection: displayPath(path), work };
  const selection = isWhole
    ? null
    : read.objects.peek(selectedKind, repository, id) ??
      await runJob(read, job);

  const total = selection?.indices.length ?? files.length;
  return {
    total,
    facets: selection?.facets ?? {},
    /** Returns the file at a position of the selection, or null. */
    at: (position: number): FileRef | null =>
      position < 0 || position >= total
        ? null
        : fileAt(selection?.indices[position] ?? position),
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
