// Adds to items what their files contain: the content, the HTML, or the front matter alone. A rendered file depends on its
// text alone and is cached by its blob id, in the key-value store too; its addresses are resolved for each response.

import { type ItemBody, itemErrorBody } from "../api/contract.ts";
import { itemUrl } from "../api/parameters.ts";
import { jsonCodec, type ObjectKind } from "../cache/object_cache.ts";
import { yieldToEventLoop } from "../clock.ts";
import { itemTooLarge, pageTooLarge, sourceFailed } from "../errors.ts";
import {
  addressResolver,
  joinHtml,
  type Rendered,
  RENDERER_VERSION,
  type RenderError,
} from "../markdown/rendered.ts";
import { isMarkdown } from "../markdown/renderer.ts";
import { comparePaths, type FileList, type ListedFile } from "../source/file_list.ts";
import type { Blobs, FileRef } from "../source/source.ts";
import { compileRule } from "./cms.ts";
import type { ItemNeeds } from "./fields.ts";
import { needsReading, readFrontMatter, readFrontMatters } from "./front_matter.ts";
import {
  BYTES_PER_CONTENT_BYTE,
  fileBody,
  mayHaveFrontMatter,
  slugOf,
  textOf,
} from "./item_body.ts";
import { type ReadContext, repositoryOf, runJob } from "./read_context.ts";
import { type CollectionFolder, pathIn } from "./resolve_collection.ts";

/** A file in either operation. */
type Item = Omit<ItemBody, "slug">;

/** Where the items of a response are. */
interface Place {
  /** The collection that links between items stay in. */
  readonly collection: { readonly folder: CollectionFolder; readonly files: FileList } | null;
  readonly linkTemplate: string | undefined;
  /** How errors name the list; null for one file. */
  readonly list: string | null;
}

/** Bytes of files that one page carries at most, and reads at most for their front matter alone. */
const MAX_PAGE_BYTES = { content: 16 << 20, frontMatter: 32 << 20 };
/** Resolving the addresses of more HTML than this takes long enough to be charged, rendered before or not. */
const MAX_UNCHARGED_HTML_BYTES = 1 << 20;
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

/** An item of a collection, without its contents. */
export function itemOf(file: ListedFile, folder: CollectionFolder, read: ReadContext): ItemBody {
  const whole = { ...file, path: pathIn(folder.path, file.path) };
  const { name, path, ...rest } = fileBody(whole, read);
  return { name, path, slug: slugOf(file.path), ...rest };
}

/** Memory that the contents of files of these sizes take in a page, at most. */
export function contentBytes(
  sizes: readonly number[],
  needs: ItemNeeds,
  { limits }: ReadContext,
): number {
  const bytes = sizes.reduce((sum, size) => size > limits.maxItemBytes ? sum : sum + size, 0);
  const perByte = (need: keyof ItemNeeds) => needs[need] ? BYTES_PER_CONTENT_BYTE[need] : 0;
  return Math.max(
    Math.min(bytes, MAX_PAGE_BYTES.content) * (perByte("content") + perByte("html")),
    Math.min(bytes, MAX_PAGE_BYTES.frontMatter) * perByte("frontMatter"),
  );
}

/** Adds to the items of a page what `needs` names. One whose file cannot be read carries the error; the page does not fail. */
export async function addContents(
  items: readonly Item[],
  needs: ItemNeeds,
  { place, read }: { place: Place; read: ReadContext },
): Promise<void> {
  if (needs.content || needs.html) {
    const wanted = needs.content ? items : items.filter(({ name }) => isMarkdown(name));
    await addTexts(takeFitting(wanted, MAX_PAGE_BYTES.content, read), needs, { place, read });
  }
  if (needs.frontMatter) await addFrontMatters(items, read);
}

/** Adds front matter alone to items; one that has its content has it already. */
export async function addFrontMatters(items: readonly Item[], read: ReadContext): Promise<void> {
  const left = items.filter((item) =>
    item.encoding === undefined && (item.error?.code ?? "page-too-large") === "page-too-large" &&
    needsReading(item, read)
  );
  const fitting = takeFitting(left, MAX_PAGE_BYTES.frontMatter, read);
  const found = await readFrontMatters(fitting.map(fileOf), read);
  for (const item of fitting) {
    const result = found.get(item.sha)!;
    if (result instanceof Error) item.error = itemError(result);
    else Object.assign(item, result);
  }
}

/** For how long a response with these items may be cached, in ms: not at all where the source failed to give a file. */
export function cacheTime(items: readonly Item[]): number {
  if (items.some(({ error }) => error?.code.startsWith("source-"))) return 0;
  const mayEnd = ({ htmlError, name }: Item) => htmlError !== undefined && !isMdx(name);
  return items.some(mayEnd) ? FAILURE_TTL_MS : Infinity;
}

/** The items whose files fit into a page together, the first by path first; the others get an error. */
function takeFitting(
  items: readonly Item[],
  maxPageBytes: number,
  { limits: { maxItemBytes: maxBytes } }: ReadContext,
): Item[] {
  let bytes = 0;
  return items.toSorted((a, b) => comparePaths(a.path, b.path)).filter((item) => {
    const { path, size } = item;
    const fits = size <= maxBytes && bytes + size <= maxPageBytes;
    if (fits) bytes += size;
    else if (size > maxBytes) item.error = itemError(itemTooLarge(path, { size, maxBytes }));
    else item.error = itemError(pageTooLarge(path, maxPageBytes));
    return fits;
  });
}

/** Puts content and HTML into items; `blobs` are their files where those are read already. */
export async function addTexts(
  items: readonly Item[],
  needs: Pick<ItemNeeds, "content" | "html">,
  { place, read, blobs }: { place: Place; read: ReadContext; blobs?: Blobs },
): Promise<void> {
  const markdown = needs.html ? items.filter(({ name }) => isMarkdown(name)) : [];
  const rendered = await cachedHtml(markdown.map(htmlId), read);
  const unread = items.filter((item) => needs.content || !rendered.has(htmlId(item)));
  blobs ??= await read.source.blobs(read.snapshot, unread.map(fileOf), read.context);
  const texts = new Map<string, MarkdownFile>();
  for (const item of unread) {
    await yieldToEventLoop();
    const bytes = blobs.get(item.sha)!;
    if (bytes instanceof Error) {
      item.error = itemError(bytes);
      continue;
    }
    const content = textOf(bytes);
    const parsed = content !== null && mayHaveFrontMatter(item.contentType)
      ? await readFrontMatter(content)
      : null;
    const { body = content, ...frontMatter } = parsed ?? {};
    if (needs.content) {
      const fields = content === null
        ? { encoding: "base64", content: bytes.toBase64() } as const
        : { encoding: "utf-8", content, ...frontMatter } as const;
      // Front matter that does not parse leaves the body out.
      Object.assign(item, fields, parsed?.frontMatter === undefined ? {} : { body });
    }
    const id = htmlId(item);
    const isUnrendered = markdown.includes(item) && !rendered.has(id);
    if (isUnrendered && body !== null) texts.set(id, { id, name: item.name, text: body });
  }
  for (const [id, result] of await renderHtml([...texts.values()], place.list, read)) {
    rendered.set(id, result);
  }
  const isLarge = markdown.reduce((sum, item) => {
    const result = rendered.get(htmlId(item));
    return result !== undefined && "parts" in result ? sum + renderedKind.sizeOf(result) : sum;
  }, 0) > MAX_UNCHARGED_HTML_BYTES;
  if (isLarge) read.context.recordMiss();
  const join = htmlJoiner(place, read);
  for (const item of markdown) {
    await yieldToEventLoop();
    const result = rendered.get(htmlId(item));
    if (result !== undefined && item.error === undefined) {
      Object.assign(item, join(result, item.path));
    }
  }
}

/** A file to render, without its front matter. */
type MarkdownFile = Readonly<Record<"id" | "name" | "text", string>>;
/** Results by {@linkcode htmlId}. */
type Results = Map<string, Rendered | RenderError>;

const isMdx = (name: string) => /\.mdx$/i.test(name);

/** The id of a file's result: MDX, which is not rendered, has one of its own, whatever its bytes are. */
function htmlId({ name, sha }: Item): string {
  return isMdx(name) ? `mdx ${sha}` : sha;
}

/** Results that are known without rendering. */
async function cachedHtml(ids: readonly string[], read: ReadContext): Promise<Results> {
  const { objects, clock } = read;
  const results: Results = new Map();
  for (const id of ids) {
    const failure = objects.peek(failureKind, repositoryOf(read), id);
    if (failure !== undefined && failure.untilMs > clock.monotonicMs()) results.set(id, failure);
  }
  const others = ids.filter((id) => !results.has(id));
  const rendered = await objects.getMany(renderedKind, repositoryOf(read), others);
  return new Map([...results, ...rendered]);
}

/** Renders files, those of a list's page by a background job, since each may take seconds. @throws {CollectionsError} */
async function renderHtml(files: readonly MarkdownFile[], list: string | null, read: ReadContext) {
  const work = async (read: ReadContext) => {
    const results: Results = new Map();
    for (const file of files) results.set(file.id, await render(file, read));
    return results;
  };
  // MDX is refused without work.
  if (files.every(({ name }) => isMdx(name))) return await work(read);
  if (list !== null) {
    const key = `html ${files.map(({ id }) => id).join(" ")}`;
    return await runJob(read, { key, usesSource: false, collection: list, work });
  }
  read.context.recordMiss();
  return await work(read);
}

async function render(file: MarkdownFile, read: ReadContext): Promise<Rendered | RenderError> {
  const { objects, clock, markdown, context: { client, signal } } = read;
  const repository = repositoryOf(read);
  const result = await markdown.render(file, { signal, client });
  if ("parts" in result) objects.set(renderedKind, repository, file.id, result);
  else {
    const untilMs = clock.monotonicMs() + FAILURE_TTL_MS;
    objects.set(failureKind, repository, file.id, { ...result, untilMs });
  }
  return result;
}

/** Gives what `includeHtml` adds to a file. Made once for a page, since its files link to the same places. */
function htmlJoiner(
  { collection, linkTemplate }: Place,
  { source, snapshot, baseUrl }: ReadContext,
): (rendered: Rendered | RenderError, path: string) => Partial<Item> {
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

function fileOf({ path, sha, size }: Item): FileRef {
  return { path, id: sha, size };
}

function itemError(error: Error): NonNullable<Item["error"]> {
  const known = itemErrorBody.safeParse(error);
  return known.success ? known.data : itemErrorBody.parse(sourceFailed(error.message));
}
