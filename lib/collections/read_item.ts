// One file with its content, as in the wire contract: by its path, or by its slug in a collection, where it may have
// neighbors.

import type { ContentBody, NeighborBody } from "../api/contract.ts";
import type { ItemParameters } from "../api/parameters.ts";
import { itemNotFound, itemTooLarge, slugAmbiguous, slugNotFound } from "../errors.ts";
import { isMarkdown } from "../markdown/renderer.ts";
import type { FileList } from "../source/file_list.ts";
import { STEPS_PER_YIELD, yieldToEventLoop } from "../clock.ts";
import { compileRule } from "./cms/declaration.ts";
import { contentTypeOf } from "./content_type.ts";
import { findEntry } from "./find_entry.ts";
import { needsReading, readFrontMatters } from "./front_matter.ts";
import { cachedHtml, htmlId, htmlJoiner, renderHtml } from "./html.ts";
import { BYTES_PER_CONTENT_BYTE, fileBody, fileName, readBlob, slugOf } from "./item_body.ts";
import { readContent } from "./item_contents.ts";
import { listDirectFiles, listFiles } from "./list_files.ts";
import { type ReadContext, reserve } from "./read_context.ts";
import {
  type CollectionFolder,
  displayPath,
  pathIn,
  resolveCollection,
} from "./resolve_collection.ts";
import { selectionOf, selectItems } from "./selection.ts";

/** A file's bytes and the facts about them. */
export interface ItemFile {
  readonly name: string;
  readonly path: string;
  readonly id: string;
  readonly contentType: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The collection that the request names. */
  readonly folder: CollectionFolder | null;
}

/**
 * Reads one file.
 * @throws {CollectionsError} item-not-found (naming what is there instead), slug-ambiguous, collection-not-found,
 * item-too-large, collection-too-large for a path with too many folders, service-busy, or a source failure.
 */
export async function readItem(parameters: ItemParameters, read: ReadContext): Promise<ItemFile> {
  const { collection, slug, format } = parameters;
  const folder = collection === undefined ? null : await resolveCollection(collection, read);
  const path = parameters.path ?? await findSlug(slug!, folder!, read);
  if (folder !== null && !path.startsWith(pathIn(folder.path, ""))) throw itemNotFound(path);
  const entry = await findEntry(path, read);
  if (entry === null) throw itemNotFound(path);
  if (entry.kind !== "file") throw itemNotFound(path, entry.kind);
  const { id, size } = entry;
  const { maxItemBytes } = read.limits;
  if (size > maxItemBytes) {
    const htmlUrl = read.source.webUrl(read.snapshot, path);
    const facts = { size, maxBytes: maxItemBytes };
    throw itemTooLarge(path, htmlUrl === null ? facts : { ...facts, htmlUrl });
  }
  const { content, html } = BYTES_PER_CONTENT_BYTE;
  const factor = content + (parameters.includeHtml === true ? html : 0);
  await reserve(read, format === "raw" ? size : size * factor);
  const bytes = await readBlob({ path, id, size }, read);
  const name = fileName(path);
  return { name, path, id, contentType: contentTypeOf(name), bytes, folder };
}

/**
 * The JSON body for a file; addresses in it begin with `baseUrl`. One that is not complete lacks the front matter of a
 * neighbor that the source failed to give.
 * @throws {CollectionsError} too-many-requests, service-busy, collection-not-ready, or a source failure.
 */
export async function itemBody(
  { name, path, id, bytes, contentType, folder }: ItemFile,
  parameters: ItemParameters,
  { read, baseUrl }: { read: ReadContext; baseUrl: string },
): Promise<{ body: ContentBody; complete: boolean }> {
  const { snapshot } = read;
  const { fields, markdown } = await readContent(bytes, contentType);
  const body: ContentBody = {
    repository: { ...snapshot.name, branch: snapshot.branch, commit: snapshot.commit },
    ...fileBody({ path, id, size: bytes.length }, read, baseUrl),
    ...fields,
  };
  if (parameters.includeHtml === true && markdown !== null && isMarkdown(name)) {
    const collection = folder === null ? null : { folder, files: await listFiles(folder, read) };
    const file = { name, sha: id };
    const key = htmlId(file);
    const cached = await cachedHtml([file], read);
    const rendered = cached.get(key) ??
      (await renderHtml([{ id: key, name, text: markdown }], read, { list: null })).get(key)!;
    const place = { collection, linkTemplate: parameters.linkTemplate, baseUrl };
    Object.assign(body, htmlJoiner(place, read)(rendered, path));
  }
  if (parameters.includeNeighbors !== true || folder === null) return { body, complete: true };
  const neighbors = await neighborsOf(path, parameters, { folder, read, baseUrl });
  Object.assign(body, { previous: neighbors.previous, next: neighbors.next });
  return { body, complete: neighbors.complete };
}

/**
 * The path of the item with a slug: the file itself, or one with an extension, which sorts next to it. Of several
 * matches it is the only Markdown file.
 */
async function findSlug(
  slug: string,
  folder: CollectionFolder,
  read: ReadContext,
): Promise<string> {
  const files = await listFiles(folder, read);
  const accepts = compileRule(folder.declared?.rule ?? {});
  const found = files.indexOf(slug) >= 0 && slugOf(slug) === slug && accepts(slug) ? [slug] : [];
  const first = files.lowerBound(`${slug}.`);
  for (let index = first; index < files.length; index++) {
    // `a.` begins the path of `a.b.md` too, of which a folder may have any number.
    if ((index - first) % STEPS_PER_YIELD === STEPS_PER_YIELD - 1) {
      read.context.recordMiss();
      await yieldToEventLoop(read.context.signal);
    }
    const path = files.pathAt(index);
    if (!path.startsWith(`${slug}.`)) break;
    if (slugOf(path) === slug && accepts(path)) found.push(path);
  }
  const markdown = found.filter(isMarkdown);
  const [path, ...others] = markdown.length > 0 ? markdown : found;
  if (path === undefined) throw slugNotFound(displayPath(folder.path), slug);
  const paths = found.map((one) => pathIn(folder.path, one));
  if (others.length > 0) throw slugAmbiguous(slug, paths);
  return pathIn(folder.path, path);
}

/** The items before and after a file in the order of the parameters' selection; null where it is not in it. */
async function neighborsOf(
  path: string,
  parameters: ItemParameters,
  { folder, read, baseUrl }: { folder: CollectionFolder; read: ReadContext; baseUrl: string },
): Promise<{ previous: NeighborBody | null; next: NeighborBody | null; complete: boolean }> {
  const files = parameters.recursive === false
    ? await listDirectFiles(folder, read)
    : await listFiles(folder, read);
  const { indices } = await selectItems(files, selectionOf(parameters), { folder, read });
  const index = files.indexOf(path.slice(pathIn(folder.path, "").length));
  const at = index < 0 || indices === null ? index : indices.indexOf(index);
  const total = indices?.length ?? files.length;
  const places = at < 0 ? [-1, -1] : [at - 1, at + 1];
  const neighbors = places.map((place) =>
    place < 0 || place >= total ? null : neighborAt(indices?.[place] ?? place, files, folder)
  );
  const readable = neighbors.filter((file) => file !== null && needsReading(file, read))
    .map((file) => file!);
  const frontMatters = await readFrontMatters(readable, read);
  const [previous = null, next = null] = neighbors.map((file): NeighborBody | null => {
    if (file === null) return null;
    const { name, path, contentUrl } = fileBody(file, read, baseUrl);
    const value = frontMatters.get(file.id);
    const frontMatter = value instanceof Error ? undefined : value?.frontMatter;
    return {
      name,
      path,
      slug: file.slug,
      ...(contentUrl === undefined ? {} : { contentUrl }),
      ...(frontMatter === undefined ? {} : { frontMatter }),
    };
  });
  return {
    previous,
    next,
    complete: ![...frontMatters.values()].some((value) => value instanceof Error),
  };
}

function neighborAt(index: number, files: FileList, folder: CollectionFolder) {
  const { path, id, size } = files.at(index);
  return { path: pathIn(folder.path, path), id, size, slug: slugOf(path) };
}
