// One file with its content, as in the wire contract: by its path, or by its slug in a collection, where it may have
// neighbors.

import { displayPath } from "../api/names.ts";
import type { ItemParameters } from "../api/parameters.ts";
import { contentTypeOf, fileName, isMarkdown } from "../content/file_names.ts";
import { findSlugTask } from "../content/tasks.ts";
import {
  CollectionsError,
  itemNotFound,
  itemTooLarge,
  queryTooExpensive,
  slugAmbiguous,
  slugNotFound,
} from "../errors.ts";
import { TimeLimitError } from "../thread/compute.ts";
import { fileBody, itemOf } from "./item_body.ts";
import { contentRef, describeItems } from "./item_contents.ts";
import { encodeAll, joinPieces, MAX_JSON_BYTES, objectOf } from "./json_pieces.ts";
import type { JsonBody } from "./list_items.ts";
import { listFiles } from "./list_files.ts";
import { findEntry, type ReadContext, runTask } from "./read_context.ts";
import { readFiles } from "./read_files.ts";
import { type CollectionFolder, pathIn, resolveCollection } from "./resolve_collection.ts";
import { selectItems } from "./select_items.ts";

/** A file of the greatest size fits as base64, or as text that needs few escapes. */
const JSON_BYTES_PER_BYTE = 1.5;

/**
 * Reads one file; `folder` is the collection that the request names.
 * @throws {CollectionsError} item-not-found, naming what is there instead; slug-ambiguous, item-too-large, and others.
 */
export async function readItem(parameters: ItemParameters, read: ReadContext) {
  const { collection, slug } = parameters;
  const folder = collection === undefined ? null : await resolveCollection(collection, read);
  const path = parameters.path ?? await findSlug(slug!, folder!, read);
  if (folder !== null && !path.startsWith(pathIn(folder.path, ""))) {
    throw itemNotFound(path, "outside");
  }
  const entry = await findEntry(path, read);
  if (entry?.kind !== "file") throw itemNotFound(path, entry?.kind);
  const { id, size } = entry;
  const { maxItemBytes: maxBytes } = read.limits;
  const tooLarge = (path: string, size: number) => {
    if (size <= maxBytes) return null;
    const htmlUrl = read.source.webUrl(read.snapshot, path);
    return itemTooLarge(path, { size, maxBytes, ...(htmlUrl === null ? {} : { htmlUrl }) });
  };
  const error = tooLarge(path, size);
  if (error !== null) throw error;
  const { blobs, pointers } = await readFiles([{ path, id, size }], tooLarge, read);
  const bytes = blobs.get(id)!;
  if (bytes instanceof Error) throw bytes;
  const name = fileName(path);
  const lfs = pointers.get(id);
  const contentType = contentTypeOf(name);
  return { name, path, id, size: bytes.length, lfs, contentType, bytes, folder };
}

/** The JSON body for a file. @throws {CollectionsError} as lists do; item-too-large where it does not fit into JSON. */
export async function itemBody(
  file: Awaited<ReturnType<typeof readItem>>,
  parameters: ItemParameters,
  read: ReadContext,
): Promise<JsonBody> {
  const { path, size, folder } = file;
  const { includeHtml: html = false, includeNeighbors = false, linkTemplate } = parameters;
  const { name: repository, branch, commit } = read.snapshot;
  // What has a NUL is no text, and has no HTML.
  const hasLinks = html && folder !== null && isMarkdown(path) && !file.bytes.includes(0);
  const collection = hasLinks ? { folder, files: await listFiles(folder, read) } : null;
  const maxBytes = Math.max(MAX_JSON_BYTES, read.limits.maxItemBytes * JSON_BYTES_PER_BYTE);
  const item = fileBody(file, read);
  const { parts, cacheForMs } = await describeItems([item], {
    ...{ needs: { content: true, frontMatter: true, html }, linkTemplate, collection, maxBytes },
    list: null,
    blobs: new Map([[contentRef(item).id, file.bytes]]),
  }, read);
  const part = parts.get(item)!;
  if (part.isCut) throw jsonTooLarge(path, { size, maxBytes });
  const neighbors = includeNeighbors && folder !== null
    ? await neighborsOf(path, parameters, { folder, read })
    : null;
  const [own] = await encodeAll(
    [{ repository: { ...repository, branch, commit }, ...item }],
    (of) => of,
    read,
  );
  const [previous, next] = neighbors?.pieces ?? [];
  const json = await joinPieces([
    ...objectOf(own!, part.json).slice(0, -1),
    ...previous === undefined || next === undefined
      ? []
      : [',"previous":', ...previous, ',"next":', ...next],
    "}",
  ]);
  return { json, cacheForMs: Math.min(cacheForMs, neighbors?.cacheForMs ?? Infinity) };
}

const jsonTooLarge = (path: string, { size, maxBytes }: { size: number; maxBytes: number }) =>
  new CollectionsError(
    "item-too-large",
    `"${path}" does not fit into ${maxBytes} bytes of JSON. Read it with format=raw.`,
    { size, maxBytes },
  );

/** The path of the item with a slug, of several the only Markdown file. */
async function findSlug(slug: string, folder: CollectionFolder, read: ReadContext) {
  const list = await listFiles(folder, read);
  const input = { files: list.bytes, slug, rule: folder.declared?.rule };
  const collection = displayPath(folder.path);
  const { count, paths: inside } = await runTask(read, findSlugTask, input).catch((error) => {
    throw error instanceof TimeLimitError ? queryTooExpensive(collection) : error;
  });
  const paths = inside.map((path) => pathIn(folder.path, path));
  const [path] = paths;
  if (path === undefined) throw slugNotFound(collection, slug);
  if (count > 1) throw slugAmbiguous(slug, count, paths);
  return path;
}

/** The items before and after a file in the order of the parameters' selection; null where it is not in it. */
async function neighborsOf(
  path: string,
  parameters: ItemParameters,
  { folder, read }: { folder: CollectionFolder; read: ReadContext },
) {
  const files = await listFiles(folder, read, parameters.recursive);
  const { indices } = await selectItems(files, parameters, { folder, read });
  const index = files.indexOf(path.slice(pathIn(folder.path, "").length));
  const at = index < 0 || indices === null ? index : indices.indexOf(index);
  const total = indices?.length ?? files.length;
  const items = [at - 1, at + 1].map((place) => {
    const isThere = at >= 0 && place >= 0 && place < total;
    return isThere ? itemOf(files.at(indices?.[place] ?? place), folder, read) : null;
  });
  const { parts, cacheForMs } = await describeItems(items.filter((item) => item !== null), {
    needs: { content: false, frontMatter: true, html: false },
    ...{ fields: "frontMatter", collection: null, list: null, maxBytes: MAX_JSON_BYTES },
  }, read);
  const pieces: (string | Uint8Array)[][] = [];
  for (const item of items) {
    if (item === null) {
      pieces.push(["null"]);
      continue;
    }
    const { name, path, slug, contentUrl } = item;
    const [own] = await encodeAll([{ name, path, slug, contentUrl }], (of) => of, read);
    pieces.push(objectOf(own!, parts.get(item)?.json));
  }
  return { pieces, cacheForMs };
}
