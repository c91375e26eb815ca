// What the files of a page hold, put into its items: the content, or the front matter alone. An item whose file cannot
// be given says why, and never fails the page.

import { type ContentBody, type ItemBody, itemErrorBody } from "../api/contract.ts";
import { CollectionsError, itemTooLarge, pageTooLarge, sourceFailed } from "../errors.ts";
import { comparePaths } from "../source/file_list.ts";
import type { FileRef } from "../source/source.ts";
import { yieldToEventLoop } from "../yield.ts";
import { mayHaveFrontMatter } from "./content_type.ts";
import { needsReading, readFrontMatter, readFrontMatters } from "./front_matter.ts";
import { BYTES_PER_CONTENT_BYTE, textOf } from "./item_body.ts";
import type { ReadContext } from "./read_context.ts";

/** Bytes of files that one page carries at most. */
const MAX_PAGE_BYTES = 16 << 20;
/** Bytes of files that one page reads at most for their front matter alone. */
const MAX_FRONT_MATTER_PAGE_BYTES = 32 << 20;

type ItemError = NonNullable<ItemBody["error"]>;
const ITEM_CODES: readonly string[] = itemErrorBody.shape.code.options;

/** The content of a file, and its front matter with the text after it where it has some. */
export type ContentFields = Pick<
  ContentBody,
  "encoding" | "content" | "frontMatter" | "frontMatterError" | "body"
>;

/** The content of a file of this type. */
export async function contentFields(
  bytes: Uint8Array,
  contentType: string,
): Promise<ContentFields> {
  const text = textOf(bytes);
  if (text === null) return { encoding: "base64", content: bytes.toBase64() };
  const parsed = mayHaveFrontMatter(contentType) ? await readFrontMatter(text) : null;
  return { encoding: "utf-8", content: text, ...parsed ?? {} };
}

/** Memory that the contents of files of these sizes take in a page, at most. */
export function contentBytes(sizes: readonly number[], { limits }: ReadContext): number {
  const bytes = sizes.reduce((sum, size) => size > limits.maxItemBytes ? sum : sum + size, 0);
  return Math.min(bytes, MAX_FRONT_MATTER_PAGE_BYTES) * BYTES_PER_CONTENT_BYTE.listed;
}

/** Puts content into each item, in path order until the page is full. */
export async function addContents(items: readonly ItemBody[], read: ReadContext): Promise<void> {
  const { source, snapshot, context, limits: { maxItemBytes } } = read;
  for (const item of items.filter((item) => item.size > maxItemBytes)) {
    item.error = itemError(itemTooLarge(item.path, { size: item.size, maxBytes: maxItemBytes }));
  }
  const fitting = takeFitting(items.filter((item) => item.error === undefined), MAX_PAGE_BYTES);
  const blobs = await source.blobs(snapshot, fitting.map(fileOf), context);
  for (const item of fitting) {
    await yieldToEventLoop();
    const result = blobs.get(item.sha)!;
    if (result instanceof Error) item.error = itemError(result);
    else {
      const { body: _, ...content } = await contentFields(result, item.contentType);
      Object.assign(item, content);
    }
  }
}

/** Puts front matter into each item that has some, in path order until the page is full. */
export async function addFrontMatters(
  items: readonly ItemBody[],
  read: ReadContext,
): Promise<void> {
  const fitting = takeFitting(
    items.filter((item) => needsReading(item, read)),
    MAX_FRONT_MATTER_PAGE_BYTES,
  );
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
  const known = error instanceof CollectionsError && ITEM_CODES.includes(error.code)
    ? error
    : sourceFailed(error.message);
  return { code: known.code as ItemError["code"], detail: known.detail };
}
