// One page of a collection's items, as in the wire contract.

import type { ItemBody, ListBody } from "../api/contract.ts";
import { DEFAULTS, type ListParameters, listUrl } from "../api/parameters.ts";
import { yieldToEventLoop } from "../clock.ts";
import { needsOf, project } from "./fields.ts";
import { BYTES_PER_PATH_BYTE } from "./item_body.ts";
import { addContents, cacheTime, contentBytes, itemOf } from "./item_contents.ts";
import { listFiles, selectItems } from "./list_files.ts";
import { type ReadContext, reserve } from "./read_context.ts";
import { displayPath, resolveCollection } from "./resolve_collection.ts";

/**
 * Lists one page of a collection, and for how long the page may be cached, by {@linkcode cacheTime}.
 * @throws {CollectionsError} what finding, listing and selecting throw, or service-busy.
 */
export async function listItems(
  parameters: ListParameters,
  read: ReadContext,
): Promise<{ body: ListBody; cacheForMs: number }> {
  const folder = await resolveCollection(parameters.collection, read);
  const files = await listFiles(folder, read, parameters.recursive);
  const { indices: selected, facets } = await selectItems(files, parameters, { folder, read });
  const { page = DEFAULTS.page, limit = DEFAULTS.limit, linkTemplate, fields } = parameters;
  const totalItems = selected?.length ?? files.length;
  const start = Math.min((page - 1) * limit, totalItems);
  const indices = Array.from(
    { length: Math.min(page * limit, totalItems) - start },
    (_, offset) => selected?.[start + offset] ?? start + offset,
  );

  const needs = needsOf(parameters);
  // A path has at most three bytes a character.
  const pathBytes = indices.reduce(
    (sum, index) => sum + 3 * folder.path.length + files.pathBytes(index).length,
    0,
  );
  const sizes = indices.map((index) => files.sizeAt(index));
  await reserve(read, pathBytes * BYTES_PER_PATH_BYTE + contentBytes(sizes, needs, read));
  const items: ItemBody[] = [];
  for (const index of indices) {
    // A path may have 4,096 bytes, which two addresses encode.
    await yieldToEventLoop();
    items.push(itemOf(files.at(index), folder, read));
  }
  const place = { collection: { folder, files }, linkTemplate, list: displayPath(folder.path) };
  await addContents(items, needs, { place, read });

  const totalPages = Math.ceil(totalItems / limit);
  const hasNext = page < totalPages;
  // Past the end the page before is the last one that has items.
  const hasPrevious = totalItems > 0 && page > 1;
  const pageUrl = (page: number) => listUrl(read.baseUrl, { ...parameters, page });
  const omitted = files.omitted === 1
    ? "a file whose name is"
    : `${files.omitted} files whose names are`;
  const warnings = [
    ...folder.warnings,
    ...files.omitted === 0 ? [] : [`Left out ${omitted} not UTF-8`],
  ];
  const { name: repository, branch, commit } = read.snapshot;
  const body = {
    repository: { ...repository, branch, commit },
    collection: {
      name: parameters.collection,
      path: folder.path,
      source: folder.declared?.source,
    },
    // The type is that of whole items, which `fields` cuts.
    items: fields === undefined ? items : items.map((item) => project(item, fields) as ItemBody),
    pagination: { page, limit, totalItems, totalPages, hasNext, hasPrevious },
    links: {
      self: listUrl(read.baseUrl, parameters),
      first: pageUrl(1),
      previous: hasPrevious ? pageUrl(Math.min(page - 1, totalPages)) : null,
      next: hasNext ? pageUrl(page + 1) : null,
      last: pageUrl(Math.max(totalPages, 1)),
    },
    facets: parameters.facets && facets,
    warnings: warnings.length === 0 ? undefined : warnings,
  };
  return { body, cacheForMs: cacheTime(items) };
}
