// Adds to the items of a page what their files contain: the content, the HTML, or the front matter alone. An item whose
// file cannot be read carries the error; the page does not fail.

import { type ItemBody, itemErrorBody } from "../api/contract.ts";
import { itemTooLarge, pageTooLarge, sourceFailed } from "../errors.ts";
import { isMarkdown } from "../markdown/renderer.ts";
import { comparePaths } from "../source/file_list.ts";
import type { FileRef } from "../source/source.ts";
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

/**
 * A file's bytes as content, and its front matter with the text after it where it has some. `markdown` is the text to
 * render, null where the bytes are no text.
 */
export async function readContent(bytes: Uint8Array, contentType: string) {
  const text = textOf(bytes);
  if (text === null) {
    const fields = { encoding: "base64", content: bytes.toBase64() } as const;
    return { fields, markdown: null };
  }
  const fields = { encoding: "utf-8", content: text } as const;
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
    Math.min(bytes, MAX_PAGE_BYTES.frontMatter) * (needs.frontMatter ? frontMatter : 0),
  );
}

/** Adds to the items what the query requests of their files; errors name the collection as `place.list`. */
export async function addContents(
  items: readonly ItemBody[],
  needs: ItemNeeds,
  { place, read }: { place: LinkPlace & { readonly list: string }; read: ReadContext },
): Promise<void> {
  if (needs.content || needs.html) await addTexts(items, needs, { place, read });
  if (!needs.frontMatter) return;
  // An item that has its content has its front matter, too.
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

/** Puts content and HTML into each item, in path order until the page is full. */
async function addTexts(
  items: readonly ItemBody[],
  needs: ItemNeeds,
  { place, read }: { place: LinkPlace & { readonly list: string }; read: ReadContext },
): Promise<void> {
  const wanted = needs.content ? items : items.filter(({ name }) => isMarkdown(name));
  const fitting = takeFitting(wanted, MAX_PAGE_BYTES.content, read);
  const markdown = needs.html ? fitting.filter(({ name }) => isMarkdown(name)) : [];
  const rendered = await cachedHtml(markdown, read);
  const unread = fitting.filter((item) => needs.content || !rendered.has(htmlId(item)));
  const blobs = await read.source.blobs(read.snapshot, unread.map(fileOf), read.context);
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
    const { name, sha } = item;
    const isUnrendered = markdown.includes(item) && !rendered.has(htmlId(item));
    if (isUnrendered && text !== null) texts.set(htmlId(item), { name, sha, text });
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

/** The items whose files fit into a page together, the first by path first; the others get an error. */
function takeFitting(
  items: readonly ItemBody[],
  maxPageBytes: number,
  { limits: { maxItemBytes: maxBytes } }: ReadContext,
): ItemBody[] {
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

function fileOf({ path, sha, size }: ItemBody): FileRef {
  return { path, id: sha, size };
}

function itemError(error: Error): NonNullable<ItemBody["error"]> {
  const known = itemErrorBody.safeParse(error);
  return known.success ? known.data : itemErrorBody.parse(sourceFailed(error.message));
}
