// What the files of a page hold, put into its items: the content, or the front matter alone. An item whose file cannot
// be given says why, and never fails the page.

import type { ItemBody } from "../api/contract.ts";
import { CollectionsError, itemTooLarge, pageTooLarge, sourceFailed } from "../errors.ts";
import type { FileRef } from "../repository/repository.ts";
import type { Reading } from "./find_entry.ts";
import type { FrontMatterStore } from "./front_matter_store.ts";
import { itemContent } from "./item_content.ts";

/** Bytes of files that one page carries at most. */
export const MAX_PAGE_BYTES = 16 << 20;

type ItemError = NonNullable<ItemBody["error"]>;
const ITEM_CODES: readonly string[] = [
  "item-too-large",
  "page-too-large",
  "source-failed",
  "source-timeout",
  "source-rate-limited",
];

/** Puts content into each item, in path order while the page has room; false where the source failed for one. */
export async function addContents(
  items: ItemBody[],
  { reading, maxItemBytes }: { reading: Reading; maxItemBytes: number },
): Promise<boolean> {
  const errors = new Map<ItemBody, Error>();
  const wanted: FileRef[] = [];
  let pageBytes = 0;
  for (const item of items.toSorted((a, b) => a.path < b.path ? -1 : 1)) {
    const { path, sha: id, size } = item;
    if (size > maxItemBytes) errors.set(item, itemTooLarge(path, { size, maxBytes: maxItemBytes }));
    else if (pageBytes + size > MAX_PAGE_BYTES) {
      errors.set(item, pageTooLarge(path, MAX_PAGE_BYTES));
    } else {
      pageBytes += size;
      wanted.push({ path, id, size });
    }
  }
  const { repository, snapshot, caller } = reading;
  const blobs = await repository.readBlobs(snapshot, wanted, caller);
  for (const item of items) {
    const result = errors.get(item) ?? blobs.get(item.sha) ?? noAnswer(item);
    if (result instanceof Error) item.error = itemError(result);
    else {
      const { body: _, ...content } = await itemContent(result);
      Object.assign(item, content);
    }
  }
  return isComplete(items);
}

/** Puts front matter into each text item that has some; false where the source failed for one. */
export async function addFrontMatters(
  items: ItemBody[],
  { reading, store }: { reading: Reading; store: FrontMatterStore },
): Promise<boolean> {
  const files = items.map(({ path, sha, size }): FileRef => ({ path, id: sha, size }));
  const found = await store.read(files, reading, { folder: null });
  for (const item of items) {
    const result = found.get(item.sha) ?? noAnswer(item);
    if (result instanceof Error) item.error = itemError(result);
    else Object.assign(item, result);
  }
  return isComplete(items);
}

function isComplete(items: readonly ItemBody[]): boolean {
  return !items.some((item) => item.error?.code.startsWith("source-"));
}

function noAnswer(item: ItemBody): Error {
  return sourceFailed(`Cannot read "${item.sha}": no answer held it`);
}

function itemError(error: Error): ItemError {
  const known = error instanceof CollectionsError && ITEM_CODES.includes(error.code)
    ? error
    : sourceFailed(error.message);
  return { code: known.code as ItemError["code"], detail: known.detail };
}
