// One page of a collection's items, as the wire contract has it.

import type { ItemBody, ListBody } from "../api/contract.ts";
import { DEFAULTS, type ListParameters } from "../api/parameters.ts";
import { itemUrl, listUrl } from "../api/urls.ts";
import { CollectionsError, itemTooLarge, pageTooLarge, sourceFailed } from "../errors.ts";
import type { ListedFile } from "../repository/file_list.ts";
import type { BlobResult, FileRef } from "../repository/repository.ts";
import { contentTypeOf } from "./content_type.ts";
import type { Reading } from "./find_entry.ts";
import { itemContent } from "./item_content.ts";
import { listFiles } from "./list_files.ts";
import { paginate } from "./paginate.ts";
import { resolveCollection } from "./resolve_collection.ts";

/** Bytes of files that one page carries at most. */
export const MAX_PAGE_BYTES = 16 << 20;

/** What is asked, and where the answer's addresses begin. */
export interface ListRequest {
  readonly parameters: ListParameters;
  readonly baseUrl: string;
  /** Size cap of one file. */
  readonly maxItemBytes: number;
}

/** A page, and whether everything in it could be read; one that is not complete must not be kept. */
export interface ItemPage {
  readonly body: ListBody;
  readonly complete: boolean;
}

/**
 * Lists one page of a collection.
 * @throws {CollectionsError} collection-not-found, collection-too-large, or a source failure.
 */
export async function listItems(request: ListRequest, reading: Reading): Promise<ItemPage> {
  const { parameters, baseUrl } = request;
  const folder = await resolveCollection(parameters.collection, reading);
  const files = await listFiles(folder, reading);
  const { start, end, pagination, pages } = paginate(files.length, {
    page: parameters.page ?? DEFAULTS.page,
    limit: parameters.limit ?? DEFAULTS.limit,
  });
  const page = Array.from({ length: end - start }, (_, index) => files.at(start + index));
  const items = page.map((file) => describe(file, folder.path, { request, reading }));
  const complete = parameters.includeContent === true
    ? await addContents(items, { request, reading })
    : true;
  const { snapshot } = reading;
  const pageUrl = (page: number) => listUrl(baseUrl, { ...parameters, page });
  return {
    body: {
      repository: { ...snapshot.name, branch: snapshot.branch, commit: snapshot.commit },
      collection: { name: parameters.collection, path: folder.path },
      items,
      pagination,
      links: {
        self: listUrl(baseUrl, parameters),
        first: pageUrl(pages.first),
        previous: pages.previous === null ? null : pageUrl(pages.previous),
        next: pages.next === null ? null : pageUrl(pages.next),
        last: pageUrl(pages.last),
      },
    },
    complete,
  };
}

function describe(
  file: ListedFile,
  folder: string,
  { request, reading }: { request: ListRequest; reading: Reading },
): ItemBody {
  const path = folder === "" ? file.path : `${folder}/${file.path}`;
  const name = file.path.slice(file.path.lastIndexOf("/") + 1);
  const { snapshot } = reading;
  const { owner, repo } = snapshot.name;
  const htmlUrl = reading.repository.htmlUrl(snapshot, path);
  return {
    name,
    path,
    slug: slugOf(file.path, name),
    sha: file.id,
    size: file.size,
    contentType: contentTypeOf(name),
    contentUrl: itemUrl(request.baseUrl, { owner, repo, branch: snapshot.branch, path }),
    ...(htmlUrl === null ? {} : { htmlUrl }),
  };
}

/** The path inside the collection without its extension; a name that is all extension stays whole. */
function slugOf(path: string, name: string): string {
  const dot = name.lastIndexOf(".");
  return dot <= 0 ? path : path.slice(0, path.length - (name.length - dot));
}

/** Puts content or an error into each item; false where the source failed for one. */
async function addContents(
  items: ItemBody[],
  { request, reading }: { request: ListRequest; reading: Reading },
): Promise<boolean> {
  const errors = new Map<string, Error>();
  const wanted: FileRef[] = [];
  let pageBytes = 0;
  for (const { path, sha, size } of items) {
    if (size > request.maxItemBytes) {
      errors.set(path, itemTooLarge(path, { size, maxBytes: request.maxItemBytes }));
    } else if (pageBytes + size > MAX_PAGE_BYTES) {
      errors.set(path, pageTooLarge(path, MAX_PAGE_BYTES));
    } else {
      pageBytes += size;
      wanted.push({ path, id: sha, size });
    }
  }
  const { repository, snapshot, caller } = reading;
  const blobs = await repository.readBlobs(snapshot, wanted, caller);
  let complete = true;
  for (const item of items) {
    const result: BlobResult = errors.get(item.path) ?? blobs.get(item.sha) ??
      sourceFailed(`Cannot read "${item.sha}": no answer held it`);
    if (result instanceof Error) {
      item.error = itemError(result);
      if (item.error.code.startsWith("source-")) complete = false;
    } else {
      const { body: _, ...content } = await itemContent(result);
      Object.assign(item, content);
    }
  }
  return complete;
}

type ItemError = NonNullable<ItemBody["error"]>;
const ITEM_CODES: readonly string[] = [
  "item-too-large",
  "page-too-large",
  "source-failed",
  "source-timeout",
  "source-rate-limited",
];

function itemError(error: Error): ItemError {
  const known = error instanceof CollectionsError && ITEM_CODES.includes(error.code)
    ? error
    : sourceFailed(error.message);
  return { code: known.code as ItemError["code"], detail: known.detail };
}
