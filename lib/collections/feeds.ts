// Feeds and sitemaps of a collection. The content thread writes them.

import { createHash } from "node:crypto";
import { FEED_TYPES } from "../api/feed_formats.ts";
import { displayPath } from "../api/names.ts";
import type { ListParameters } from "../api/parameters.ts";
import type { FeedInput } from "../content/feed.ts";
import { feedTask, sitemapTask } from "../content/tasks.ts";
import { collectionTooLarge } from "../errors.ts";
import type { FileList } from "../source/file_list.ts";
import type { FileRef } from "../source/source.ts";
import { yieldToEventLoop } from "../work/clock.ts";
import { MAX_JSON_BYTES } from "./describe_items.ts";
import { MAX_DATED, readDates } from "./histories.ts";
import {
  type Answer,
  type ReadContext,
  runJob,
  runTask,
} from "./read_context.ts";
import type { CollectionFolder } from "./resolve_collection.ts";
import type { selectItems } from "./select_items.ts";

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
 * Returns the feed of described items. Files have the order of the items.
 * @throws {CollectionsError} collection-too-large.
 * @throws what {@linkcode runTask} throws.
 */
export async function feedOf(
  feed: Pick<FeedInput, "format" | "items" | "self">,
  files: readonly FileRef[],
  { folder, parameters, read }: Request,
): Promise<Answer> {
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
  const input = {
    ...feed,
    maxBytes,
    linkTemplate,
    collection: folder.path,
    title: feedTitle,
    author: owner,
    idStart,
  };
  const subject = { subject: input.collection };
  const contentType = FEED_TYPES[feed.format];
  const bytes = await runTask(read, feedTask, input, subject);
  if (!("undated" in bytes)) return { bytes, contentType };
  const undated = bytes.undated.map((index) => files[index]!);
  const { dates, cacheForMs } = await readDates(undated, read);
  const dated = await runTask(read, feedTask, { ...input, dates }, subject);
  return { bytes: dated as Uint8Array<ArrayBuffer>, contentType, cacheForMs };
}

/**
 * Returns the sitemap of the selected files.
 * @throws {CollectionsError} collection-too-large.
 * @throws what {@linkcode runTask} throws.
 */
export async function sitemapOf(
  { bytes: files }: FileList,
  { indices, total, files: filesAt }: Awaited<ReturnType<typeof selectItems>>,
  { folder, parameters: { linkTemplate = "" }, read }: Request,
): Promise<Answer> {
  const collection = folder.path;
  if (total > MAX_ADDRESSES) {
    const why = `a sitemap has at most ${MAX_ADDRESSES} addresses`;
    throw collectionTooLarge(collection, why);
  }
  const length = total > MAX_DATED ? 0 : total;
  const dated = await filesAt(0, length, "filter them");
  const { dates, cacheForMs } = await runJob(read, {
    key: `dates ${read.snapshot.commit} ${await digestOf(dated, read)}`,
    collection,
    work: (read) => readDates(dated, read),
  });
  const maxBytes = MAX_JSON_BYTES;
  await read.reserveBytes(maxBytes);
  const input = {
    files,
    indices: indices!,
    linkTemplate,
    collection,
    maxBytes,
    dates: dated.map(({ path }) => dates.get(path)),
  };
  return {
    bytes: await runTask(read, sitemapTask, input, { subject: collection }),
    contentType: FEED_TYPES.sitemap,
    cacheForMs,
  };
}

/** Returns what identifies these files within a commit. Paths may be long. */
async function digestOf(
  files: readonly FileRef[],
  { context: { signal } }: ReadContext,
): Promise<string> {
  const hash = createHash("sha256");
  for (const { path } of files) {
    await yieldToEventLoop(signal);
    hash.update(path).update("\0");
  }
  return hash.digest("hex");
}
