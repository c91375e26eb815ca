// The HTML of Markdown files. A rendered file depends on its text alone and is cached by its blob id, in the key-value
// store too; the addresses in it are resolved for each response.

import type { ItemBody } from "../api/contract.ts";
import { itemUrl } from "../api/parameters.ts";
import { jsonCodec, type ObjectKind } from "../cache/object_cache.ts";
import {
  addressResolver,
  joinHtml,
  type Rendered,
  RENDERER_VERSION,
  type RenderError,
} from "../markdown/rendered.ts";
import type { FileList } from "../source/file_list.ts";
import { compileRule } from "./cms.ts";
import { slugOf } from "./item_body.ts";
import { type ReadContext, repositoryOf, runJob } from "./read_context.ts";
import { type CollectionFolder, pathIn } from "./resolve_collection.ts";

/** The collection that links between items stay in; null without one. */
export interface LinkPlace {
  readonly collection: { readonly folder: CollectionFolder; readonly files: FileList } | null;
  readonly linkTemplate: string | undefined;
  readonly baseUrl: string;
}

/** A file to render, without its front matter. */
export interface MarkdownFile {
  readonly name: string;
  readonly sha: string;
  readonly text: string;
}

/** Results by {@linkcode htmlId}. */
type Results = Map<string, Rendered | RenderError>;

/** Rendering may fail for lack of time on a busy machine, so a failure is cached for a short time only. */
const FAILURE_TTL_MS = 5 * 60_000;

const renderedKind: ObjectKind<Rendered> = {
  name: `html-${RENDERER_VERSION}`,
  sizeOf: ({ parts, addresses, headings, excerpt }) =>
    500 + 2 * excerpt.length + parts.reduce((sum, part) => sum + 32 + 2 * part.length, 0) +
    addresses.reduce((sum, { path, fragment }) => sum + 150 + 2 * (path + fragment).length, 0) +
    headings.reduce((sum, { id, text }) => sum + 150 + 2 * (id + text).length, 0),
  codec: jsonCodec(4 << 20),
};
const failureKind: ObjectKind<RenderError & { readonly untilMs: number }> = {
  name: "html-failure",
  sizeOf: ({ message }) => 100 + 2 * message.length,
};

const isMdx = (name: string) => /\.mdx$/i.test(name);

/** The id of a file's result: MDX, which is not rendered, has one of its own, whatever its bytes are. */
export function htmlId({ name, sha }: Omit<MarkdownFile, "text">): string {
  return isMdx(name) ? `mdx ${sha}` : sha;
}

/** Results that are known without rendering. */
export async function cachedHtml(
  files: readonly Omit<MarkdownFile, "text">[],
  read: ReadContext,
): Promise<Results> {
  const failures: Results = new Map();
  const ids = files.map(htmlId);
  for (const id of ids) {
    const failure = read.objects.peek(failureKind, repositoryOf(read), id);
    if (failure !== undefined && failure.untilMs > read.clock.monotonicMs()) {
      failures.set(id, failure);
    }
  }
  const others = ids.filter((id) => !failures.has(id));
  return new Map([
    ...failures,
    ...await read.objects.getMany(renderedKind, repositoryOf(read), others),
  ]);
}

/** Renders files, those of a list's page by a background job, since each may take seconds. @throws {CollectionsError} */
export async function renderHtml(
  files: readonly MarkdownFile[],
  read: ReadContext,
  { list }: { list: string | null },
): Promise<Results> {
  const work = async (read: ReadContext) => {
    const results: Results = new Map();
    for (const file of files) results.set(htmlId(file), await render(file, read));
    return results;
  };
  // MDX is refused without work.
  if (files.every(({ name }) => isMdx(name))) return await work(read);
  if (list !== null) {
    const key = `html ${files.map(htmlId).join(" ")}`;
    return await runJob(read, { key, usesSource: false, collection: list, work });
  }
  read.context.recordMiss();
  return await work(read);
}

async function render(file: MarkdownFile, read: ReadContext): Promise<Rendered | RenderError> {
  const { objects, clock, markdown, context: { client, signal } } = read;
  const repository = repositoryOf(read);
  const result = await markdown.render(file, { signal, client });
  if ("parts" in result) objects.set(renderedKind, repository, htmlId(file), result);
  else {
    const untilMs = clock.monotonicMs() + FAILURE_TTL_MS;
    objects.set(failureKind, repository, htmlId(file), { ...result, untilMs });
  }
  return result;
}

/** Gives what `includeHtml` adds to a file. Made once for a page, since its files link to the same places. */
export function htmlJoiner(
  { collection, linkTemplate, baseUrl }: LinkPlace,
  { source, snapshot }: ReadContext,
): (rendered: Rendered | RenderError, path: string) => Partial<ItemBody> {
  const { name: { owner, repo }, branch } = snapshot;
  // The path is the last part of the address, which is the same for all files up to there.
  const urlStart = itemUrl(baseUrl, { owner, repo, branch, path: "" });
  const contentUrl = (path: string) => urlStart + encodeURIComponent(path);
  const accepts = compileRule(collection?.folder.declared?.rule);
  const prefix = pathIn(collection?.folder.path ?? "", "");
  const targets = {
    linkTemplate: linkTemplate ?? null,
    contentUrl,
    rawUrl: (path: string) => `${contentUrl(path)}&format=raw`,
    htmlUrl: (path: string) => source.webUrl(snapshot, path),
    slugOf(path: string) {
      const inside = path.startsWith(prefix) ? path.slice(prefix.length) : "";
      const isItem = collection !== null && collection.files.indexOf(inside) >= 0;
      return isItem && accepts(inside) ? slugOf(inside) : null;
    },
  };
  /** Addresses as they are written in the files of each folder. */
  const writtenIn = new Map<string, Map<string, string>>();
  return (rendered, path) => {
    if (!("parts" in rendered)) return { htmlError: { message: rendered.message } };
    const { headings, excerpt, words } = rendered;
    const folder = path.slice(0, path.lastIndexOf("/") + 1);
    const written = writtenIn.get(folder) ?? new Map<string, string>();
    writtenIn.set(folder, written);
    const html = joinHtml(rendered, addressResolver({ ...targets, filePath: path }), written);
    return { html, headings, excerpt, words };
  };
}
