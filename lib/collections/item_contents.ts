// Adds to the items of a page what their files contain: the content, the HTML, or the front matter alone. An item whose
// file cannot be read carries the error; the page does not fail.

import { type ContentBody, type ItemBody, itemErrorBody } from "../api/contract.ts";
import { CollectionsError, itemTooLarge, pageTooLarge, sourceFailed } from "../errors.ts";
import { isMarkdown } from "../markdown/renderer.ts";
import { comparePaths } from "../source/file_list.ts";
import type { BlobResult, FileRef } from "../source/source.ts";
import { yieldToEventLoop } from "../clock.ts";
import type { ItemNeeds } from "./fields.ts";
import { needsReading, readFrontMatter, readFrontMatters } from "./front_matter.ts";
import {
  cachedHtml,
  htmlId,
  htmlJoiner,
  type LinkPlace,
  type MarkdownFile,
  renderHtml,
} from "./html.ts";
import { BYTES_PER_CONTENT_BYTE, mayHaveFrontMatter, textOf } from "./item_body.ts";
import type { ReadContext } from "./read_context.ts";

/** Bytes of files that one page carries at most, and reads at most for their front matter alone. */
const MAX_PAGE_BYTES = { content: 16 << 20, frontMatter: 32 << 20 };

type ItemError = NonNullable<ItemBody["error"]>;

/** The content of a file, and its front matter with the text after it where it has some. */
type ContentFields = Pick<
  ContentBody,
  "encoding" | "content" | "frontMatter" | "frontMatterError" | "body"
>;

/** A file's bytes as content: `markdown` is the text to render, null where the bytes are no text. */
export async function readContent(
  bytes: Uint8Array,
  contentType: string,
): Promise<{ fields: ContentFields; markdown: string | null }> {
  const text = textOf(bytes);
  if (text === null) {
    return { fields: { encoding: "base64", content: bytes.toBase64() }, markdown: null };
  }
  const fields: ContentFields = { encoding: "utf-8", content: text };
  const parsed = mayHaveFrontMatter(contentType) ? await readFrontMatter(text) : null;
  if (parsed === null) return { fields, markdown: text };
  const { body, ...frontMatter } = parsed;
  const isRead = "frontMatter" in frontMatter;
  return { fields: { ...fields, ...frontMatter, ...(isRead ? { body } : {}) }, markdown: body };
}

/** Memory that the contents of files of these sizes take in a page, at most. */
export function contentBytes(
  sizes: readonly number[],
  needs: ItemNeeds,
  { limits }: ReadContext,
): number {
  const bytes = sizes.reduce((sum, size) => size > limits.maxItemBytes ? sum : sum + size, 0);
  const { content, frontMatter, html } = BYTES_PER_CONTENT_BYTE;
  const factor = (needs.content ? content : 0) + (needs.html ? html : 0);
  return Math.max(
    Math.min(bytes, MAX_PAGE_BYTES.content) * factor,
    needs.frontMatter ? Math.min(bytes, MAX_PAGE_BYTES.frontMatter) * frontMatter : 0,
  );
}

/** Adds to the items what the query requests of their files; errors name the collection as `list`. */
export async function addContents(
  items: readonly ItemBody[],
  needs: ItemNeeds,
  { place, read }: { place: LinkPlace & { readonly list: string }; read: ReadContext },
): Promise<void> {
  if (needs.content || needs.html) await addTexts(items, needs, { place, read });
  if (!needs.frontMatter) return;
  // An item that has its content has its front matter, too.
  const left = items.filter(({ encoding, error }) =>
    encoding === undefined && (error === undefined || error.code === "page-too-large")
  );
  await addFrontMatters(left, read);
}

/** Puts content and HTML into each item, in path order until the page is full. */
async function addTexts(
  items: readonly ItemBody[],
  needs: ItemNeeds,
  { place, read }: { place: LinkPlace & { readonly list: string }; read: ReadContext },
): Promise<void> {
  const { source, snapshot, context, limits: { maxItemBytes: maxBytes } } = read;
  const wanted = needs.content ? items : items.filter(({ name }) => isMarkdown(name));
  const readable = wanted.filter((item) => {
    const { path, size } = item;
    if (size > maxBytes) item.error = itemError(itemTooLarge(path, { size, maxBytes }));
    return size <= maxBytes;
  });
  const fitting = takeFitting(readable, MAX_PAGE_BYTES.content);
  const markdown = needs.html ? fitting.filter(({ name }) => isMarkdown(name)) : [];
  const rendered = await cachedHtml(markdown, read);

  const unread = fitting.filter((item) => needs.content || !rendered.has(htmlId(item)));
  const blobs = unread.length === 0
    ? new Map<string, BlobResult>()
    : await source.blobs(snapshot, unread.map(fileOf), context);
  const texts = new Map<string, MarkdownFile>();
  for (const item of unread) {
    await yieldToEventLoop();
    const result = blobs.get(item.sha)!;
    if (result instanceof Error) {
      item.error = itemError(result);
      continue;
    }
    const { fields, markdown: text } = await readContent(result, item.contentType);
    if (needs.content) Object.assign(item, fields);
    const isUnrendered = needs.html && isMarkdown(item.name) && !rendered.has(htmlId(item));
    if (isUnrendered && text !== null) {
      texts.set(htmlId(item), { name: item.name, sha: item.sha, text });
    }
  }
  for (const [id, result] of await renderHtml([...texts.values()], read, place)) {
    rendered.set(id, result);
  }
  const join = htmlJoiner(place, read);
  for (const item of markdown) {
    await yieldToEventLoop();
    const result = rendered.get(htmlId(item));
    if (result !== undefined && item.error === undefined) {
      Object.assign(item, join(result, item.path));
    }
  }
}

/** Puts front matter into each item that has some, in path order until the page is full. */
async function addFrontMatters(items: readonly ItemBody[], read: ReadContext): Promise<void> {
  const readable = items.filter((item) => needsReading(item, read));
  const fitting = takeFitting(readable, MAX_PAGE_BYTES.frontMatter);
  const found = await readFrontMatters(fitting.map(fileOf), read);
  for (const item of fitting) {
    const result = found.get(item.sha)!;
    if (result instanceof Error) item.error = itemError(result);
    else Object.assign(item, result);
  }
}

/** The items whose files fit into a page together, the first by path first; the others get an error. */
function takeFitting(items: readonly ItemBody[], maxBytes: number): ItemBody[] {
  let bytes = 0;
  return items.toSorted((a, b) => comparePaths(a.path, b.path)).filter((item) => {
    const fits = bytes + item.size <= maxBytes;
    if (fits) bytes += item.size;
    else item.error = itemError(pageTooLarge(item.path, maxBytes));
    return fits;
  });
}

function fileOf({ path, sha, size }: ItemBody): FileRef {
  return { path, id: sha, size };
}

function itemError(error: Error): ItemError {
  const codes: readonly string[] = itemErrorBody.shape.code.options;
  const isKnown = error instanceof CollectionsError && codes.includes(error.code);
  const { code, detail } = isKnown ? error : sourceFailed(error.message);
  return { code: code as ItemError["code"], detail };
}
