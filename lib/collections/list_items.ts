// One page of a collection's items, as in the wire contract.

import type { ItemBody, ListBody } from "../api/contract.ts";
import { DEFAULTS, type ListParameters } from "../api/parameters.ts";
import { listUrl } from "../api/urls.ts";
import type { FileList } from "../source/file_list.ts";
import { yieldToEventLoop } from "../clock.ts";
import { needsOf, project } from "./fields.ts";
import { BYTES_PER_PATH_BYTE, fileBody, slugOf } from "./item_body.ts";
import { addContents, contentBytes } from "./item_contents.ts";
import { listDirectFiles, listFiles } from "./list_files.ts";
import { type ReadContext, reserve } from "./read_context.ts";
import { displayPath, pathIn, resolveCollection } from "./resolve_collection.ts";
import { selectionOf, selectItems } from "./selection.ts";

/** A page, and whether everything in it could be read; one that is not complete must not be cached. */
export interface ItemPage {
  readonly body: ListBody;
  readonly complete: boolean;
}

/**
 * Lists one page of a collection; addresses in it begin with `baseUrl`.
 * @throws {CollectionsError} collection-not-found, collection-too-large, collection-not-ready, service-busy,
 * too-many-requests, or a source failure.
 */
export async function listItems(
  parameters: ListParameters,
  read: ReadContext,
  { baseUrl }: { baseUrl: string },
): Promise<ItemPage> {
  const folder = await resolveCollection(parameters.collection, read);
  const files = parameters.recursive === false
    ? await listDirectFiles(folder, read)
    : await listFiles(folder, read);
  const selected = await selectItems(files, selectionOf(parameters), { folder, read });
  const { start, end, pagination, pages } = paginate(selected.indices?.length ?? files.length, {
    page: parameters.page ?? DEFAULTS.page,
    limit: parameters.limit ?? DEFAULTS.limit,
  });
  const indices = Array.from(
    { length: end - start },
    (_, offset) => selected.indices?.[start + offset] ?? start + offset,
  );
  const needs = needsOf(parameters);
  await reserve(
    read,
    pathBytes(indices, files, folder.path) +
      contentBytes(indices.map((index) => files.sizeAt(index)), needs, read),
  );
  const items: ItemBody[] = [];
  for (const index of indices) {
    // A path may have 4,096 bytes, which two addresses encode.
    await yieldToEventLoop();
    const file = files.at(index);
    const { name, path, ...rest } = fileBody(
      { ...file, path: pathIn(folder.path, file.path) },
      read,
      baseUrl,
    );
    items.push({ name, path, slug: slugOf(file.path), ...rest });
  }
  const { linkTemplate, fields } = parameters;
  const list = displayPath(folder.path);
  const place = { collection: { folder, files }, linkTemplate, baseUrl, list };
  await addContents(items, needs, { place, read });
  const { snapshot } = read;
  const pageUrl = (page: number) => listUrl(baseUrl, { ...parameters, page });
  const warnings = [...folder.warnings, ...omissionWarning(files)];
  return {
    body: {
      repository: { ...snapshot.name, branch: snapshot.branch, commit: snapshot.commit },
      collection: {
        name: parameters.collection,
        path: folder.path,
        ...(folder.declared === null ? {} : { source: folder.declared.source }),
      },
      // The type is that of whole items, which `fields` cuts.
      items: fields === undefined ? items : items.map((item) => project(item, fields) as ItemBody),
      pagination,
      links: {
        self: listUrl(baseUrl, parameters),
        first: pageUrl(pages.first),
        previous: pages.previous === null ? null : pageUrl(pages.previous),
        next: pages.next === null ? null : pageUrl(pages.next),
        last: pageUrl(pages.last),
      },
      ...(selected.facets === null ? {} : { facets: selected.facets }),
      ...(warnings.length === 0 ? {} : { warnings }),
    },
    complete: !items.some(({ error }) => error?.code.startsWith("source-")),
  };
}

/** Memory that the paths of a page take while it is made. */
function pathBytes(indices: readonly number[], files: FileList, folder: string): number {
  // A path has at most three bytes a character.
  const folderBytes = 3 * folder.length;
  const bytes = indices.reduce((sum, index) => sum + folderBytes + files.pathBytesAt(index), 0);
  return bytes * BYTES_PER_PATH_BYTE;
}

function omissionWarning({ omitted }: FileList): string[] {
  if (omitted === 0) return [];
  return [
    `Left out ${
      omitted === 1 ? "a file whose name is" : `${omitted} files whose names are`
    } not UTF-8`,
  ];
}

/** A page's place among all; counts are of items left after filters. */
export interface Pagination {
  readonly page: number;
  readonly limit: number;
  readonly totalItems: number;
  readonly totalPages: number;
  readonly hasNext: boolean;
  readonly hasPrevious: boolean;
}

/** The slice `[start, end)` of `totalItems` that a page has, empty past the end, and the numbers of the pages around it. */
function paginate(
  totalItems: number,
  { page, limit }: { page: number; limit: number },
): {
  start: number;
  end: number;
  pagination: Pagination;
  pages: { first: number; previous: number | null; next: number | null; last: number };
} {
  const totalPages = Math.ceil(totalItems / limit);
  const hasNext = page < totalPages;
  // Past the end the page before is the last one that has items.
  const hasPrevious = totalItems > 0 && page > 1;
  return {
    start: Math.min((page - 1) * limit, totalItems),
    end: Math.min(page * limit, totalItems),
    pagination: { page, limit, totalItems, totalPages, hasNext, hasPrevious },
    pages: {
      first: 1,
      previous: hasPrevious ? Math.min(page - 1, totalPages) : null,
      next: hasNext ? page + 1 : null,
      last: Math.max(totalPages, 1),
    },
  };
}
