// Feeds and sitemaps of a collection. The content thread writes them.

import { displayPath, encodePath } from "../api/names.ts";
import type { ListParameters } from "../api/parameters.ts";
import type { FeedInput } from "../content/feed.ts";
import { feedTask, sitemapTask } from "../content/tasks.ts";
import { collectionTooLarge } from "../errors.ts";
import type { FileList } from "../source/file_list.ts";
import { MAX_JSON_BYTES } from "./describe_items.ts";
import { type ReadContext, runTask } from "./read_context.ts";
import type { CollectionFolder } from "./resolve_collection.ts";

/** The protocol allows as many (sitemaps.org). */
const MAX_ADDRESSES = 50_000;
/** An escape in XML is at most this many times as long as in JSON. */
const XML_BYTES_PER_BYTE = 6;
const HEAD_BYTES = 64 * 1024;
/**
 * Ids are tag URIs (RFC 4151) of the repository and the path, so that they stay
 * when a site moves. Readers show entries with new ids again: never change it.
 */
const TAG_DATE = "2026";
const LOCAL_URL = "http://localhost";

interface Request {
  readonly folder: CollectionFolder;
  readonly parameters: ListParameters;
  readonly read: ReadContext;
}

/**
 * Returns the feed of described items.
 * @throws {CollectionsError} collection-too-large.
 * @throws what {@linkcode runTask} throws.
 */
export async function feedOf(
  feed: Pick<FeedInput, "format" | "items" | "self">,
  { folder, parameters, read }: Request,
): Promise<Uint8Array<ArrayBuffer>> {
  const { owner, repo, collection, linkTemplate = "" } = parameters;
  const { feedTitle = `${displayPath(collection)} - ${owner}/${repo}` } =
    parameters;
  const maxBytes = Math.min(
    MAX_JSON_BYTES,
    XML_BYTES_PER_BYTE * feed.items.length + HEAD_BYTES,
  );
  await read.reserveBytes(maxBytes);
  const webUrl = read.source.webUrl(read.snapshot, "") ?? LOCAL_URL;
  const name = `${owner}/${repo}`.toLowerCase();
  const idStart = `tag:${new URL(webUrl).hostname},${TAG_DATE}:${name}/`;
  return await runTask(read, feedTask, {
    ...feed,
    maxBytes,
    linkTemplate,
    collection: folder.path,
    title: feedTitle,
    author: owner,
    id: idStart + encodePath(folder.path),
    idStart,
  }, { subject: folder.path });
}

/**
 * Returns the sitemap of the selected files.
 * @throws {CollectionsError} collection-too-large.
 * @throws what {@linkcode runTask} throws.
 */
export async function sitemapOf(
  { bytes: files }: FileList,
  indices: Uint32Array,
  { folder, parameters: { linkTemplate = "" }, read }: Request,
): Promise<Uint8Array<ArrayBuffer>> {
  const collection = folder.path;
  if (indices.length > MAX_ADDRESSES) {
    const why = `a sitemap has at most ${MAX_ADDRESSES} addresses`;
    throw collectionTooLarge(collection, why);
  }
  const maxBytes = MAX_JSON_BYTES;
  await read.reserveBytes(maxBytes);
  const input = { files, indices, linkTemplate, collection, maxBytes };
  return await runTask(read, sitemapTask, input, { subject: collection });
}
