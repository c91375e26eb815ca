// One page of a collection's items as the API contract defines it.

import type { ListBody } from "../api/contract.ts";
import { displayPath } from "../api/names.ts";
import { DEFAULTS, type ListParameters, listUrl } from "../api/parameters.ts";
import { needsOf } from "../content/fields.ts";
import { problem } from "../errors.ts";
import { describeItems, MAX_JSON_BYTES } from "./describe_items.ts";
import { listFiles } from "./list_files.ts";
import type { FileRef } from "../source/source.ts";
import { yieldToEventLoop } from "../work/clock.ts";
import type { ReadContext } from "./read_context.ts";
import { resolveCollection } from "./resolve_collection.ts";
import { selectItems } from "./select_items.ts";

/** A JSON body and how long it may be cached, in ms. */
export interface JsonBody {
  readonly json: Uint8Array<ArrayBuffer>;
  readonly cacheForMs: number;
}

/**
 * Returns one page of a collection.
 * @throws {CollectionsError} what finding, listing and selecting files throw.
 * @throws what {@linkcode ReadContext.reserveBytes} throws.
 */
export async function listItems(
  parameters: ListParameters,
  read: ReadContext,
): Promise<JsonBody & { readonly links: ListBody["links"] }> {
  const folder = await resolveCollection(parameters.collection, read);
  const listed = await listFiles(folder, read, parameters.recursive);
  const selected = await selectItems(listed, parameters, { folder, read });
  const { page = DEFAULTS.page, limit = DEFAULTS.limit, linkTemplate, fields } =
    parameters;
  const { total: totalItems, facets } = selected;
  const start = (page - 1) * limit;
  const files: FileRef[] = [];
  for (let at = start; at < Math.min(start + limit, totalItems); at++) {
    await yieldToEventLoop(read.context.signal);
    files.push(selected.at(at)!);
  }

  const totalPages = Math.ceil(totalItems / limit);
  const hasNext = page < totalPages;
  // Pages past the end link to the last page that has items.
  const hasPrevious = totalItems > 0 && page > 1;
  const pageUrl = (page: number) =>
    listUrl(read.baseUrl, { ...parameters, page });
  const { omitted } = listed;
  const warnings = [...folder.warnings];
  if (omitted === 1) warnings.push("Left out a file whose name is not UTF-8");
  if (omitted > 1) {
    warnings.push(`Left out ${omitted} files whose names are not UTF-8`);
  }
  const { name: repository, branch, commit } = read.snapshot;
  const links = {
    self: pageUrl(page),
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

  const { json, isCut, cacheForMs } = await describeItems({
    files,
    needs: needsOf(parameters),
    fields,
    linkTemplate,
    folder,
    linked: { folder, files: listed },
    maxBytes: MAX_JSON_BYTES - 3 * (head.length + tail.length) - files.length,
  }, read);
  if (isCut && json.length === 0) {
    const why =
      `a page of ${limit} items has more than ${MAX_JSON_BYTES} bytes; lower limit`;
    throw problem("collection-too-large", {
      collection: displayPath(folder.path),
      why,
    });
  }
  const body = new Blob([
    `${head.slice(0, -1)},"items":[`,
    json,
    `],${tail.slice(1)}`,
  ]);
  return { json: await body.bytes(), links, cacheForMs };
}
