// What the files of a page hold, put into its items: the content, or the front matter alone. An item whose file cannot
// be given says why, and never fails the page.

import { type ItemBody, itemErrorBody } from "../api/contract.ts";
import { CollectionsError, itemTooLarge, pageTooLarge, sourceFailed } from "../errors.ts";
import { Slices } from "../give_way.ts";
import { comparePaths } from "../repository/file_list.ts";
import type { FileRef } from "../repository/repository.ts";
import type { Reading } from "./find_entry.ts";
import type { FrontMatterStore } from "./front_matter_store.ts";
import { GROWTH, itemContent } from "./item_content.ts";

/** Bytes of files that one page carries at most. */
const MAX_PAGE_BYTES = 16 << 20;
/** Bytes of files that one page reads at most for their front matter alone. */
const MAX_FRONT_MATTER_PAGE_BYTES = 32 << 20;

type ItemError = NonNullable<ItemBody["error"]>;
const ITEM_CODES: readonly string[] = itemErrorBody.shape.code.options;

/** Puts content into each item, in path order while the page has room. */
export async function addContents(
  items: readonly ItemBody[],
  { reading, maxItemBytes }: { reading: Reading; maxItemBytes: number },
): Promise<void> {
  for (const item of items.filter((item) => item.size > maxItemBytes)) {
    item.error = itemError(
      itemTooLarge(item.path, { size: item.size, maxBytes: maxItemBytes }),
    );
  }
  const fitting = takeFitting(items.filter((item) => item.error === undefined), MAX_PAGE_BYTES);
  const { repository, snapshot, caller } = reading;
  await makeRoom(fitting, reading);
  const blobs = await repository.readBlobs(snapshot, fitting.map(fileOf), caller);
  const slices = new Slices();
  for (const item of fitting) {
    if (slices.isOver({ costly: true })) await slices.giveWay();
    const result = blobs.get(item.sha)!;
    if (result instanceof Error) item.error = itemError(result);
    else {
      const { body: _, ...content } = await itemContent(result, item.contentType);
      Object.assign(item, content);
    }
  }
}

/** Puts front matter into each item that has some, in path order while the page has room. */
export async function addFrontMatters(
  items: readonly ItemBody[],
  { reading, store }: { reading: Reading; store: FrontMatterStore },
): Promise<void> {
  const fitting = takeFitting(
    items.filter((item) => store.mayHold(item)),
    MAX_FRONT_MATTER_PAGE_BYTES,
  );
  await makeRoom(fitting, reading);
  const found = await store.read(fitting.map(fileOf), reading, { folder: null });
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

async function makeRoom(items: readonly ItemBody[], { caller }: Reading): Promise<void> {
  const bytes = items.reduce((sum, item) => sum + item.size, 0);
  await caller.makeRoom?.(bytes * GROWTH.listed);
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
