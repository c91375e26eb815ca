// The HTML of Markdown files. A rendered file depends on its text alone and is cached by its blob id, in the key-value
// store too; the addresses in it are resolved for each response.

import { itemUrl } from "../api/urls.ts";
import type { ItemBody } from "../api/contract.ts";
import type { ObjectKind } from "../cache/object_cache.ts";
import { serviceBusy } from "../errors.ts";
import { RenderQueueFullError } from "../markdown/renderer.ts";
import {
  addressResolver,
  joinHtml,
  type Rendered,
  RENDERER_VERSION,
  type RenderError,
} from "../markdown/rendered.ts";
import type { FileList } from "../source/file_list.ts";
import { compileRule } from "./cms/declaration.ts";
import { slugOf } from "./item_body.ts";
import { type ReadContext, repositoryOf, runJob } from "./read_context.ts";
import type { CollectionFolder } from "./resolve_collection.ts";

/** What `includeHtml` adds to an item. */
export type HtmlFields = Pick<
  ItemBody,
  "html" | "headings" | "excerpt" | "words" | "htmlError"
>;

/** A file to render, by {@linkcode htmlId}; its text is without front matter. */
export interface MarkdownFile {
  readonly id: string;
  readonly name: string;
  readonly text: string;
}

/** The collection that links between items stay in; null without one. */
export interface LinkPlace {
  readonly collection: { readonly folder: CollectionFolder; readonly files: FileList } | null;
  readonly linkTemplate: string | undefined;
  readonly baseUrl: string;
}

/** Rendering may fail for lack of time on a busy machine, so a failure is cached for a short time only. */
const FAILURE_TTL_MS = 5 * 60_000;
const RETRY_AFTER_SECONDS = 5;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const renderedKind: ObjectKind<Rendered> = {
  name: `html-${RENDERER_VERSION}`,
  sizeOf: ({ parts, addresses, headings, excerpt }) =>
    500 + 2 * excerpt.length + parts.reduce((sum, part) => sum + 32 + 2 * part.length, 0) +
    addresses.reduce((sum, { path, fragment }) => sum + 150 + 2 * (path + fragment).length, 0) +
    headings.reduce((sum, { id, text }) => sum + 150 + 2 * (id + text).length, 0),
  codec: {
    encode: (rendered) => encoder.encode(JSON.stringify(rendered)),
    decode(bytes) {
      try {
        return JSON.parse(decoder.decode(bytes));
      } catch {
        return null;
      }
    },
    maxBytes: 4 << 20,
  },
};

const failureKind: ObjectKind<RenderError & { readonly untilMs: number }> = {
  name: "html-failure",
  sizeOf: ({ message }) => 100 + 2 * message.length,
};

/** Results that are known without rendering, by {@linkcode htmlId}. */
export async function cachedHtml(
  files: readonly { readonly name: string; readonly sha: string }[],
  read: ReadContext,
): Promise<Map<string, Rendered | RenderError>> {
  const { objects, clock } = read;
  const ids = files.filter(({ name }) => !isMdx(name)).map(({ sha }) => sha);
  const found = new Map<string, Rendered | RenderError>(
    ids.length === 0 ? [] : await objects.getMany(renderedKind, repositoryOf(read), ids),
  );
  for (const id of ids) {
    const failure = objects.peek(failureKind, repositoryOf(read), id);
    if (failure !== undefined && failure.untilMs > clock.monotonicMs()) {
      found.set(id, { message: failure.message });
    }
  }
  return found;
}

/**
 * Renders files, by {@linkcode htmlId}, which is their `id` here. Those of a list's page are rendered by a background job, since they may take seconds each.
 * @throws {CollectionsError} too-many-requests, service-busy, or collection-not-ready for a list.
 */
export async function renderHtml(
  files: readonly MarkdownFile[],
  read: ReadContext,
  { list }: { list: string | null },
): Promise<Map<string, Rendered | RenderError>> {
  const results = new Map<string, Rendered | RenderError>();
  const renderOne = async (file: MarkdownFile, signal: AbortSignal | undefined) => {
    const result = await render(file, read, signal);
    results.set(file.id, result);
  };
  const costly = files.filter(({ name }) => !isMdx(name));
  for (const file of files) if (isMdx(file.name)) await renderOne(file, read.context.signal);
  if (costly.length > 0 && list === null) {
    read.context.recordMiss();
    for (const file of costly) await renderOne(file, read.context.signal);
  } else if (costly.length > 0 && list !== null) {
    const rendered = await runJob(read, {
      key: `html ${costly.map(({ id }) => id).join(" ")}`,
      usesSource: false,
      collection: list,
      async work(signal) {
        const rendered = new Map<string, Rendered | RenderError>();
        for (const file of costly) rendered.set(file.id, await render(file, read, signal));
        return rendered;
      },
    });
    for (const [id, result] of rendered) results.set(id, result);
  }
  return results;
}

async function render(
  file: MarkdownFile,
  read: ReadContext,
  signal: AbortSignal | undefined,
): Promise<Rendered | RenderError> {
  const { objects, clock, context: { client } } = read;
  try {
    const result = await read.markdown.render(file, { signal, client });
    if (isMdx(file.name)) return result;
    if ("parts" in result) objects.set(renderedKind, repositoryOf(read), file.id, result);
    else {
      const untilMs = clock.monotonicMs() + FAILURE_TTL_MS;
      objects.set(failureKind, repositoryOf(read), file.id, { ...result, untilMs });
    }
    return result;
  } catch (error) {
    if (error instanceof RenderQueueFullError) throw serviceBusy(RETRY_AFTER_SECONDS);
    throw error;
  }
}

/**
 * Gives what `includeHtml` adds to a file, with the addresses in its HTML resolved. Made once for a page, since its files
 * link to the same places.
 */
export function htmlJoiner(
  { collection, linkTemplate, baseUrl }: LinkPlace,
  { source, snapshot }: ReadContext,
): (rendered: Rendered | RenderError, path: string) => HtmlFields {
  const { owner, repo } = snapshot.name;
  // The path is the last part of the address, which is the same for all files up to there.
  const urlStart = itemUrl(baseUrl, { owner, repo, branch: snapshot.branch, path: "" });
  const contentUrl = (path: string) => urlStart + encodeURIComponent(path);
  const targets = {
    slugOf: memoized(itemSlugs(collection)),
    linkTemplate: linkTemplate ?? null,
    contentUrl,
    rawUrl: (path: string) => `${contentUrl(path)}&format=raw`,
    htmlUrl: (path: string) => source.webUrl(snapshot, path),
  };
  const writtenIn = memoized((_folder) => new Map<string, string>());
  return (rendered, path) => {
    if (!("parts" in rendered)) return { htmlError: { message: rendered.message } };
    const { headings, excerpt, words } = rendered;
    const written = writtenIn(path.slice(0, path.lastIndexOf("/") + 1));
    const html = joinHtml(rendered, addressResolver({ ...targets, filePath: path }), written);
    return { html, headings, excerpt, words };
  };
}

function memoized<T>(compute: (path: string) => T): (path: string) => T {
  const results = new Map<string, T>();
  return (path) => {
    const known = results.get(path);
    if (known !== undefined || results.has(path)) return known as T;
    const result = compute(path);
    results.set(path, result);
    return result;
  };
}

/** Gives the slug of the item at a path; null where the collection has none there. */
function itemSlugs(collection: LinkPlace["collection"]): (path: string) => string | null {
  if (collection === null) return () => null;
  const { folder, files } = collection;
  const accepts = compileRule(folder.declared?.rule ?? {});
  const prefix = folder.path === "" ? "" : `${folder.path}/`;
  return (path) => {
    const inside = path.startsWith(prefix) ? path.slice(prefix.length) : "";
    return files.indexOf(inside) >= 0 && accepts(inside) ? slugOf(inside) : null;
  };
}

/** The id of a file in the maps of this module: MDX has results of its own, whatever its bytes. */
export function htmlId({ name, sha }: { readonly name: string; readonly sha: string }): string {
  return isMdx(name) ? `mdx ${sha}` : sha;
}

function isMdx(name: string): boolean {
  return /\.mdx$/i.test(name);
}
