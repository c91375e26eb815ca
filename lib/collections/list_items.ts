// One page of a collection's items, as in the wire contract.

import type { ItemBody, ListBody } from "../api/contract.ts";
import { DEFAULTS, type ListParameters, listUrl } from "../api/parameters.ts";
import { needsOf, project } from "../content/fields.ts";
import { collectionTooLarge } from "../errors.ts";
import { itemOf } from "./item_body.ts";
import { describeItems } from "./item_contents.ts";
import { encodeAll, joinPieces, MAX_JSON_BYTES, objectOf } from "./json_pieces.ts";
import { listFiles } from "./list_files.ts";
import type { ReadContext } from "./read_context.ts";
import { displayPath } from "../api/names.ts";
import { resolveCollection } from "./resolve_collection.ts";
import { selectItems } from "./select_items.ts";

/** What an item without its contents may have: two addresses encode its path of at most 4,096 bytes. */
const MAX_ITEM_BYTES = 40 * 1024;

/** A body as JSON, and for how long it may be cached, in ms. */
export interface JsonBody {
  readonly json: Uint8Array<ArrayBuffer>;
  readonly cacheForMs: number;
}

/**
 * Lists one page of a collection.
 * @throws {CollectionsError} what finding, listing and selecting throw, or service-busy.
 */
export async function listItems(
  parameters: ListParameters,
  read: ReadContext,
): Promise<JsonBody & { readonly links: ListBody["links"] }> {
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
  const links = {
    self: listUrl(read.baseUrl, parameters),
    first: pageUrl(1),
    previous: hasPrevious ? pageUrl(Math.min(page - 1, totalPages)) : null,
    next: hasNext ? pageUrl(page + 1) : null,
    last: pageUrl(Math.max(totalPages, 1)),
  };
  const head = JSON.stringify({
    repository: { ...repository, branch, commit },
    collection: {
      name: parameters.collection,
      path: folder.path,
      source: folder.declared?.source,
    },
  });
  const tail = JSON.stringify({
    pagination: { page, limit, totalItems, totalPages, hasNext, hasPrevious },
    links,
    facets: parameters.facets && facets,
    warnings: warnings.length === 0 ? undefined : warnings,
  });

  await read.reserveBytes(Math.min(indices.length * MAX_ITEM_BYTES, MAX_JSON_BYTES));
  const items = indices.map((index) => itemOf(files.at(index), folder, read));
  const sent = (item: ItemBody) => fields === undefined ? item : project(item, fields);
  const encoded = await encodeAll(items, sent, read);
  const collection = displayPath(folder.path);
  const used = encoded.reduce(
    (sum, { length }) => sum + length + 3,
    3 * (head.length + tail.length),
  );
  if (used > MAX_JSON_BYTES) {
    const why = `a page of ${limit} items has more than ${MAX_JSON_BYTES} bytes; lower limit`;
    throw collectionTooLarge(collection, why);
  }
  const { parts, pointers, cacheForMs } = await describeItems(items, {
    ...{ needs: needsOf(parameters), fields, linkTemplate, list: collection },
    collection: { folder, files },
    maxBytes: MAX_JSON_BYTES - used,
  }, read);
  // What is an LFS pointer shows when it is read.
  const changed = items.map((item) => {
    const lfs = pointers.get(item);
    return lfs === undefined ? item : { ...item, size: lfs.size, lfs };
  });
  const shown = pointers.size === 0 ? encoded : await encodeAll(changed, sent, read);
  const json = await joinPieces([
    `${head.slice(0, -1)},"items":[`,
    ...shown.flatMap((own, index) => [
      index === 0 ? "" : ",",
      ...objectOf(own, parts.get(items[index]!)?.json),
    ]),
    `],${tail.slice(1)}`,
  ]);
  return { json, links, cacheForMs };
}
