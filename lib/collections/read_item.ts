// One file with its content, as in the wire contract: by its path, or by its slug in a collection, where it may have
// neighbors.

import type { ContentBody, ItemBody, NeighborBody } from "../api/contract.ts";
import type { ItemParameters } from "../api/parameters.ts";
import { itemNotFound, itemTooLarge, slugAmbiguous, slugNotFound } from "../errors.ts";
import { isMarkdown } from "../markdown/renderer.ts";
import { STEPS_PER_YIELD, yieldToEventLoop } from "../clock.ts";
import { compileRule } from "./cms.ts";
import {
  BYTES_PER_CONTENT_BYTE,
  contentTypeOf,
  fileBody,
  fileName,
  slugOf,
  textOf,
} from "./item_body.ts";
import { addFrontMatters, addTexts, cacheTime, itemOf } from "./item_contents.ts";
import { listFiles, selectItems } from "./list_files.ts";
import { findEntry, readBlob, type ReadContext, reserve } from "./read_context.ts";
import {
  type CollectionFolder,
  displayPath,
  pathIn,
  resolveCollection,
} from "./resolve_collection.ts";

/**
 * Reads one file; `folder` is the collection that the request names.
 * @throws {CollectionsError} item-not-found, naming what is there instead; slug-ambiguous, item-too-large, and others.
 */
export async function readItem(parameters: ItemParameters, read: ReadContext) {
  const { collection, slug, format, includeHtml } = parameters;
  const folder = collection === undefined ? null : await resolveCollection(collection, read);
  const path = parameters.path ?? await findSlug(slug!, folder!, read);
  if (folder !== null && !path.startsWith(pathIn(folder.path, ""))) {
    throw itemNotFound(path, "outside");
  }
  const entry = await findEntry(path, read);
  if (entry?.kind !== "file") throw itemNotFound(path, entry?.kind);
  const { id, size } = entry;
  const { maxItemBytes: maxBytes } = read.limits;
  if (size > maxBytes) {
    const htmlUrl = read.source.webUrl(read.snapshot, path);
    throw itemTooLarge(path, { size, maxBytes, ...(htmlUrl === null ? {} : { htmlUrl }) });
  }
  const { content, html } = BYTES_PER_CONTENT_BYTE;
  const factor = content + (includeHtml === true ? html : 0);
  await reserve(read, format === "raw" ? size : size * factor);
  const bytes = await readBlob({ path, id, size }, read);
  const name = fileName(path);
  return { name, path, id, size, contentType: contentTypeOf(name), bytes, folder };
}

/**
 * The JSON body for a file, and for how long it may be cached, by {@linkcode cacheTime}.
 * @throws {CollectionsError} as lists do.
 */
export async function itemBody(
  file: Awaited<ReturnType<typeof readItem>>,
  parameters: ItemParameters,
  read: ReadContext,
): Promise<{ body: ContentBody; cacheForMs: number }> {
  const { path, folder } = file;
  const { includeHtml: html = false, includeNeighbors = false, linkTemplate } = parameters;
  const { name: repository, branch, commit } = read.snapshot;
  const hasLinks = html && folder !== null && isMarkdown(path) && textOf(file.bytes) !== null;
  const collection = hasLinks ? { folder, files: await listFiles(folder, read) } : null;
  const place = { collection, linkTemplate, list: null };
  const item = fileBody(file, read);
  const blobs = new Map([[file.id, file.bytes]]);
  await addTexts([item], { content: true, html }, { place, read, blobs });
  const neighbors = includeNeighbors && folder !== null
    ? await neighborsOf(path, parameters, { folder, read })
    : [];
  const [previous, next] = neighbors.map((item) => item && pickNeighbor(item));
  // The type is that of an item without its content.
  const first = { repository: { ...repository, branch, commit } };
  const body = { ...first, ...item, previous, next } as ContentBody;
  const items = [item, ...neighbors.filter((item) => item !== null)];
  return { body, cacheForMs: cacheTime(items) };
}

function pickNeighbor({ name, path, slug, contentUrl, frontMatter }: ItemBody): NeighborBody {
  return { name, path, slug, contentUrl, frontMatter };
}

/** The path of the item with a slug, of several the only Markdown file. A file with an extension sorts next to `slug.`. */
async function findSlug(slug: string, folder: CollectionFolder, read: ReadContext) {
  const files = await listFiles(folder, read);
  const accepts = compileRule(folder.declared?.rule);
  const found: string[] = [];
  const add = (path: string) => {
    if (slugOf(path) === slug && accepts(path)) found.push(path);
  };
  if (files.indexOf(slug) >= 0) add(slug);
  const first = files.lowerBound(`${slug}.`);
  for (let index = first; index < files.length; index++) {
    // `a.` begins the path of `a.b.md` too, of which a folder may have any number.
    if ((index - first) % STEPS_PER_YIELD === STEPS_PER_YIELD - 1) {
      read.context.recordMiss();
      await yieldToEventLoop(read.context.signal);
    }
    const path = files.pathAt(index);
    if (!path.startsWith(`${slug}.`)) break;
    add(path);
  }
  if (found.length === 0) throw slugNotFound(displayPath(folder.path), slug);
  const paths = found.map((path) => pathIn(folder.path, path));
  const markdown = paths.filter(isMarkdown);
  const [path, ...others] = markdown.length > 0 ? markdown : paths;
  if (others.length > 0) throw slugAmbiguous(slug, paths);
  return path!;
}

/** The items before and after a file in the order of the parameters' selection; null where it is not in it. */
async function neighborsOf(
  path: string,
  parameters: ItemParameters,
  { folder, read }: { folder: CollectionFolder; read: ReadContext },
): Promise<(ItemBody | null)[]> {
  const files = await listFiles(folder, read, parameters.recursive);
  const { indices } = await selectItems(files, parameters, { folder, read });
  const index = files.indexOf(path.slice(pathIn(folder.path, "").length));
  const at = index < 0 || indices === null ? index : indices.indexOf(index);
  const total = indices?.length ?? files.length;
  const items = [at - 1, at + 1].map((place) => {
    const isThere = at >= 0 && place >= 0 && place < total;
    return isThere ? itemOf(files.at(indices?.[place] ?? place), folder, read) : null;
  });
  await addFrontMatters(items.filter((item) => item !== null), read);
  return items;
}
