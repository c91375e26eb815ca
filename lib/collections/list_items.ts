// One page of a collection's items as the API contract defines it.

import type { FacetsBody } from "../api/contract.ts";
import {
  DEFAULTS,
  type ListParameters,
  listUrl,
  warningsOf,
} from "../api/parameters.ts";
import type { DescribedFile } from "../content/describe.ts";
import { FEED_FIELDS, needsOf } from "../content/fields.ts";
import {
  collectionTooLarge,
  invalidParameters,
  sourceFailed,
} from "../errors.ts";
import { describeItems, MAX_JSON_BYTES } from "./describe_items.ts";
import { feedOf, sitemapOf } from "./feeds.ts";
import { listFiles } from "./list_files.ts";
import type { FileList } from "../source/file_list.ts";
import type { FileRef } from "../source/source.ts";
import { findDataFile, listRows } from "./list_rows.ts";
import type { Answer, ReadContext } from "./read_context.ts";
import { resolveCollection } from "./resolve_collection.ts";
import { joinBytes } from "../work/bytes.ts";
import { freeBuffer } from "../work/memory.ts";
import { selectItems } from "./select_items.ts";

/** Facets of many long texts are the most of it. */
const ENVELOPE_BYTES = 4 << 20;

/**
 * Returns one page of a collection in the format that the parameters name.
 * @throws {CollectionsError} what finding, listing and selecting files throw.
 * @throws what {@linkcode ReadContext.reserveBytes} throws.
 */
export async function listItems(
  parameters: ListParameters,
  read: ReadContext,
): Promise<Answer> {
  const file = await findDataFile(parameters.collection, read);
  if (file !== null) return await rowsBody(file, parameters, read);
  const folder = await resolveCollection(parameters.collection, read);
  const listed = await listFiles(folder, read, parameters.recursive);
  const { format = "json", sort, search } = parameters;
  const selected = await selectItems(listed, {
    ...parameters,
    ...format !== "json" && {
      kind: ["markdown"],
      latestFirst: format !== "sitemap" && (sort ?? search) === undefined,
    },
  }, { folder, read });
  const request = { folder, parameters, read };
  if (format === "sitemap") return await sitemapOf(listed, selected, request);
  const { page, limit = DEFAULTS.limit, linkTemplate } = parameters;
  const fields = format === "json" ? parameters.fields : FEED_FIELDS;
  const { total: totalItems, facets } = selected;
  const start = (page - 1) * limit;
  const matches = await selected.matches(start, start + limit);
  const found = await selected.files(start, start + limit);
  const files: DescribedFile[] = found.map((file, at) => ({
    ...file,
    match: matches[at],
  }));
  const warnings = [
    ...warningsOf(parameters),
    ...folder.warnings,
    ...omittedWarnings(listed),
  ];
  const { head, tail, links } = envelopeOf(parameters, read, {
    path: folder.path,
    source: folder.declared?.source,
    totalItems,
    facets,
    warnings,
  });
  const { json, isCut, ...described } = await describeItems({
    files,
    needs: needsOf({ ...parameters, fields }),
    fields,
    linkTemplate,
    folder,
    linked: { folder, files: listed },
    maxBytes: MAX_JSON_BYTES - 3 * (head.length + tail.length) - files.length,
    aroundBytes: head.length + tail.length,
  }, read);
  if (isCut && json.length === 0) throw tooLarge(folder.path, limit);
  const cacheForMs = Math.min(described.cacheForMs, selected.cacheForMs);
  if (format !== "json") {
    // Readers would show an entry without its content as a new one later.
    if (cacheForMs === 0) throw sourceFailed("A file of a feed is not there");
    const feed = { format, items: json, self: links.self };
    const made = await feedOf(feed, files, request);
    const { cacheForMs: datesForMs = Infinity } = made;
    return { ...made, links, cacheForMs: Math.min(cacheForMs, datesForMs) };
  }
  return { bytes: await join(head, json, tail), links, cacheForMs };
}

async function rowsBody(
  file: FileRef,
  parameters: ListParameters,
  read: ReadContext,
): Promise<Answer> {
  const { path } = file;
  if (parameters.format !== undefined && parameters.format !== "json") {
    const message = "must be json because the collection is a data file";
    throw invalidParameters([{ parameter: "format", message }]);
  }
  const { json, total: totalItems, facets } = await listRows(
    file,
    parameters,
    MAX_JSON_BYTES - ENVELOPE_BYTES,
    read,
  );
  if (json === null) throw tooLarge(path, parameters.limit ?? DEFAULTS.limit);
  const { head, tail, links } = envelopeOf(parameters, read, {
    path,
    totalItems,
    facets,
    warnings: warningsOf(parameters),
  });
  return { bytes: await join(head, json, tail), links };
}

/** Returns what is before and after the items of a page. */
function envelopeOf(
  parameters: ListParameters,
  read: ReadContext,
  { path, source, totalItems, facets, warnings }: {
    path: string;
    source?: string | undefined;
    totalItems: number;
    facets: FacetsBody;
    warnings: readonly string[];
  },
) {
  const { page, limit = DEFAULTS.limit } = parameters;
  const totalPages = Math.ceil(totalItems / limit);
  const hasNext = page < totalPages;
  // Pages past the end link to the last page that has items.
  const hasPrevious = totalItems > 0 && page > 1;
  const pageUrl = (page: number) =>
    listUrl(read.baseUrl, { ...parameters, page });
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
    collection: { name: parameters.collection, path, source },
  });
  const tail = JSON.stringify({
    pagination: { page, limit, totalItems, totalPages, hasNext, hasPrevious },
    links,
    facets: parameters.facets && facets,
    warnings: warnings[0] && warnings,
  });
  return { head, tail, links };
}

async function join(
  head: string,
  items: Uint8Array<ArrayBuffer>,
  tail: string,
) {
  const open = `${head.slice(0, -1)},"items":[`;
  const joined = await joinBytes([open, items, `],${tail.slice(1)}`]);
  freeBuffer(items.buffer);
  return joined;
}

function tooLarge(path: string, limit: number) {
  const size = `more than ${MAX_JSON_BYTES} bytes`;
  return collectionTooLarge(
    path,
    `a page of ${limit} items has ${size}; lower limit`,
  );
}

/** Returns what a response says about files that were omitted. */
export function omittedWarnings({ omitted }: FileList): string[] {
  if (omitted === 0) return [];
  return [
    omitted === 1
      ? "Left out a file whose name is not UTF-8"
      : `Left out ${omitted} files whose names are not UTF-8`,
  ];
}
