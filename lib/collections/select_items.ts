// Which files of a folder a list has in what order, with the facets: selected on the content thread, once per tree and
// query.

import { displayPath } from "../api/names.ts";
import type { ListParameters } from "../api/parameters.ts";
import type { ObjectKind } from "../cache/object_cache.ts";
import type { SelectInput, Selection } from "../content/select.ts";
import { selectTask } from "../content/tasks.ts";
import { collectionNotReady, queryTooExpensive } from "../errors.ts";
import type { FileList } from "../source/file_list.ts";
import { TimeLimitError } from "../thread/compute.ts";
import { deriveFiles } from "./derive.ts";
import { type ReadContext, repositoryOf, runJob, runTask } from "./read_context.ts";
import { type CollectionFolder, pathIn } from "./resolve_collection.ts";

/** Another client's files may take the place of what was derived, before it is used. */
const MAX_ROUNDS = 3;

const selectedKind: ObjectKind<Selection> = {
  name: "selection",
  sizeOf: ({ indices, facets }) => indices.byteLength + 2 * JSON.stringify(facets).length,
};

/**
 * Selects files of a folder by checked parameters; `indices` null: all of them by path.
 * @throws {CollectionsError} collection-too-large, query-too-expensive, or as {@linkcode runJob}.
 */
export async function selectItems(
  files: FileList,
  parameters: Pick<ListParameters, "sort" | "filter" | "recursive" | "facets">,
  { folder, read }: { folder: CollectionFolder; read: ReadContext },
): Promise<{ readonly indices: Uint32Array | null } & Pick<Selection, "facets">> {
  const { sort = "path", filter = [], recursive = true, facets = [] } = parameters;
  const isPlain = sort === "path" && filter.length === 0 && facets.length === 0;
  if (isPlain && folder.declared === null) return { indices: null, facets: {} };
  const repository = repositoryOf(read);
  const rule = folder.declared?.rule;
  const id = JSON.stringify([folder.treeId, rule, sort, filter, recursive, ...facets]);
  const cached = read.objects.peek(selectedKind, repository, id);
  if (cached !== undefined) return cached;
  const input: SelectInput = {
    ...{ repository, folder: folder.path, files: files.bytes, rule, sort, filter, facets },
    maxItemBytes: read.limits.maxItemBytes,
  };
  const collection = displayPath(folder.path);
  const work = async (read: ReadContext) => {
    const selected = await select(input, files, read).catch((error) => {
      throw error instanceof TimeLimitError ? queryTooExpensive(collection) : error;
    });
    read.objects.set(selectedKind, repository, id, selected);
    return selected;
  };
  return await runJob(read, { key: `selection ${id}`, collection, work });
}

async function select(input: SelectInput, files: FileList, read: ReadContext): Promise<Selection> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const result = await runTask(read, selectTask, input);
    if ("indices" in result) return result;
    const missing = result.missing.values().map((index) => {
      const file = files.at(index);
      return { ...file, path: pathIn(input.folder, file.path) };
    });
    for (const failure of (await deriveFiles(missing, read)).values()) throw failure;
  }
  throw collectionNotReady(displayPath(input.folder));
}
