// One file with its content as the API contract defines it. It is found by its
// path or by its slug in a collection. Items of a collection may have
// neighbors.

import { displayPath } from "../api/names.ts";
import { type ItemParameters, warningsOf } from "../api/parameters.ts";
import { needsOf } from "../content/fields.ts";
import { fileName, isMarkdown } from "../content/file_names.ts";
import { findSlugTask, suggestTask } from "../content/tasks.ts";
import {
  CollectionsError,
  itemNotFound,
  problem,
  shownPath,
} from "../errors.ts";
import type { FileRef } from "../source/source.ts";
import {
  describeItems,
  likelyBytes,
  MAX_JSON_BYTES,
  memoryFor,
} from "./describe_items.ts";
import { listFiles } from "./list_files.ts";
import {
  type Answer,
  bodyOf,
  findEntry,
  type ReadContext,
  readTree,
  runTask,
} from "./read_context.ts";
import { type ContentFile, contentRef, readContent } from "./read_contents.ts";
import {
  type CollectionFolder,
  pathIn,
  resolveCollection,
} from "./resolve_collection.ts";
import { selectItems } from "./select_items.ts";
import { freeBuffer } from "../work/memory.ts";

/** The largest file fits as base64 or as text that needs few escapes. */
const JSON_BYTES_PER_BYTE = 1.5;

/**
 * Reads one file. The answer is its JSON, or its bytes for the format `raw`.
 * @throws {CollectionsError} item-not-found, slug-ambiguous, item-too-large and
 * others. item-not-found says what exists at the path instead. item-too-large
 * also if the file does not fit into JSON.
 */
export async function readItem(
  parameters: ItemParameters,
  read: ReadContext,
): Promise<Answer> {
  const { collection, slug } = parameters;
  const folder = collection === undefined
    ? null
    : await resolveCollection(collection, read);
  const path = parameters.path ?? await findSlug(slug!, folder!, read);
  if (folder !== null && !path.startsWith(pathIn(folder.path, ""))) {
    throw itemNotFound(path, "outside");
  }
  const entry = await findEntry(path, read);
  if (entry?.kind !== "file") {
    const similar = entry === null ? similarPaths(path, read) : undefined;
    throw itemNotFound(path, entry?.kind, await similar);
  }
  const { id, size } = entry;
  const { maxItemBytes: maxBytes } = read.limits;
  const isRaw = parameters.format === "raw";
  const admit = async ({ size }: FileRef) => {
    const htmlUrl = read.source.webUrl(read.snapshot, path);
    if (size > maxBytes) {
      throw problem("item-too-large", {
        path: shownPath(path),
        size,
        maxBytes,
        ...(htmlUrl && { htmlUrl }),
      });
    }
    // The file stays in memory while its JSON is written.
    const jsonBytes = Math.min(likelyBytes(path, size), maxJsonBytes(read));
    await read.reserveBytes(isRaw ? size : memoryFor(size, jsonBytes));
  };
  // The job that sorts the neighbors may need memory too. A request that waits
  // for a job must not hold any.
  const neighbors = parameters.includeNeighbors && folder !== null
    ? await neighborsOf(path, parameters, { folder, read })
    : null;
  const file: ContentFile = { path, id, size };
  const bytes = await readContent(file, admit, read);
  return isRaw
    ? { bytes, fileName: fileName(path) }
    : await itemBody({ file, folder, bytes, neighbors }, parameters, read);
}

const maxJsonBytes = ({ limits: { maxItemBytes } }: ReadContext) =>
  Math.max(MAX_JSON_BYTES, maxItemBytes * JSON_BYTES_PER_BYTE);

/** Returns the JSON body for a file. */
async function itemBody(
  { file, folder, bytes, neighbors }: {
    file: ContentFile;
    folder: CollectionFolder | null;
    bytes: Uint8Array<ArrayBuffer>;
    neighbors: Awaited<ReturnType<typeof neighborsOf>> | null;
  },
  parameters: ItemParameters,
  read: ReadContext,
): Promise<Answer> {
  const { path } = file;
  const {
    includeHtml: html = false,
    includeHistory: history = false,
    linkTemplate,
  } = parameters;
  // A file with a NUL is not text and has no HTML.
  const hasLinks = html && folder !== null && isMarkdown(path) &&
    !bytes.includes(0);
  const maxBytes = maxJsonBytes(read);
  const { json, isCut, cacheForMs } = await describeItems({
    files: [file],
    needs: { content: true, frontMatter: true, html, history },
    linkTemplate,
    folder: null,
    linked: hasLinks ? { folder, files: await listFiles(folder, read) } : null,
    maxBytes,
    aroundBytes: neighbors?.json.length ?? 0,
    blobs: new Map([[contentRef(file).id, bytes]]),
  }, read);
  if (isCut) {
    const detail = `"${shownPath(path)}" does not fit into ${maxBytes} bytes ` +
      "of JSON. Read it with format=raw.";
    throw new CollectionsError("item-too-large", detail, {
      size: bytes.length,
      maxBytes,
    });
  }
  const fields = { warnings: warningsOf(parameters) };
  const tail = neighbors === null ? "}" : `,${neighbors.json.slice(1)}`;
  const body = await bodyOf(read, fields, json.subarray(1, -1), tail);
  freeBuffer(json.buffer);
  return {
    bytes: body,
    cacheForMs: Math.min(cacheForMs, neighbors?.cacheForMs ?? Infinity),
  };
}

/** Returns paths of files in the same folder with similar names. */
async function similarPaths(path: string, read: ReadContext) {
  const parent = path.slice(0, Math.max(0, path.lastIndexOf("/")));
  const folder = await findEntry(parent, read);
  if (folder?.kind !== "folder") return [];
  const { list } = await readTree(read, folder.id, parent);
  const prefix = pathIn(parent, "");
  const folders = [{ entries: list.bytes, prefix, isRoot: false }];
  const input = { name: path, names: [], folders, kind: "file" as const };
  return await runTask(read, suggestTask, input);
}

/**
 * Returns the path of the item with a slug. If several items have it, the only
 * Markdown file wins.
 */
async function findSlug(
  slug: string,
  folder: CollectionFolder,
  read: ReadContext,
) {
  const list = await listFiles(folder, read);
  const input = { files: list.bytes, slug, rule: folder.declared?.rule };
  const collection = displayPath(folder.path);
  const found = await runTask(read, findSlugTask, input, {
    subject: collection,
  });
  const paths = found.paths.map((path) => pathIn(folder.path, path));
  const [path] = paths;
  if (path === undefined) {
    const state = `The collection "${collection}" has no item with the slug ` +
      `"${slug}". Slugs are case-sensitive.`;
    throw problem("item-not-found", {
      state,
      suggestions: found.suggestions,
    });
  }
  if (found.count > 1) {
    const named = found.count > paths.length
      ? `the first ${paths.length}`
      : "all";
    throw problem("slug-ambiguous", { slug, count: found.count, named, paths });
  }
  return path;
}

/**
 * Returns the items before and after a file as JSON. The order is that of the
 * selection by the parameters. Both are null if the selection lacks the file.
 */
async function neighborsOf(
  path: string,
  parameters: ItemParameters,
  { folder, read }: { folder: CollectionFolder; read: ReadContext },
) {
  const listed = await listFiles(folder, read, parameters.recursive);
  const selected = await selectItems(listed, parameters, { folder, read });
  const position = selected.positionOf(path);
  const files = [position - 1, position + 1]
    .map((beside) => position < 0 ? null : selected.at(beside));
  const { json, cacheForMs } = await describeItems({
    files: files.filter((file) => file !== null),
    needs: needsOf({ includeFrontMatter: true }),
    fields: ["name", "path", "slug", "contentUrl", "frontMatter"],
    folder,
    maxBytes: MAX_JSON_BYTES,
    aroundBytes: 0,
  }, read);
  const items = JSON.parse(`[${new TextDecoder().decode(json)}]`);
  const [previous, next] = files.map((file) => {
    if (file === null) return null;
    // A file that cannot be read is still a neighbor.
    const { error: _, frontMatterError: _1, ...neighbor } = items.shift();
    return neighbor;
  });
  return { json: JSON.stringify({ previous, next }), cacheForMs };
}
