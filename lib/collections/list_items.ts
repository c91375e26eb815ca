// One page of a collection's items, as the wire contract has it.

import type { ItemBody, ListBody } from "../api/contract.ts";
import { DEFAULTS, type ListParameters } from "../api/parameters.ts";
import { listUrl } from "../api/urls.ts";
import type { ListedFile } from "../repository/file_list.ts";
import { fileBody } from "./file_body.ts";
import { parseFilters } from "./filter_items.ts";
import type { Reading } from "./find_entry.ts";
import type { FrontMatterStore } from "./front_matter_store.ts";
import { addContents, addFrontMatters } from "./item_contents.ts";
import { listDirectFiles } from "./list_files.ts";
import { paginate } from "./paginate.ts";
import type { PreparedLists } from "./prepared_lists.ts";
import { resolveCollection } from "./resolve_collection.ts";
import type { Selection } from "./selection.ts";
import type { SharedListings } from "./shared_listings.ts";
import { parseSort } from "./sort_items.ts";

/** What is asked, and what it is answered with. */
export interface ListRequest {
  readonly parameters: ListParameters;
  /** Where the answer's addresses begin. */
  readonly baseUrl: string;
  /** Size cap of one file. */
  readonly maxItemBytes: number;
  readonly listings: SharedListings;
  readonly lists: PreparedLists;
  readonly frontMatters: FrontMatterStore;
  /** When the request came, by `performance.now()`. */
  readonly startedAtTick: number;
}

/** A page, and whether everything in it could be read; one that is not complete must not be kept. */
export interface ItemPage {
  readonly body: ListBody;
  readonly complete: boolean;
}

/**
 * Lists one page of a collection.
 * @throws {CollectionsError} collection-not-found, collection-too-large, collection-not-ready, or a source failure.
 */
export async function listItems(request: ListRequest, reading: Reading): Promise<ItemPage> {
  const { parameters, baseUrl, lists, startedAtTick } = request;
  const folder = await resolveCollection(parameters.collection, reading);
  const files = parameters.recursive === false
    ? await listDirectFiles(folder, reading)
    : await request.listings.list(folder, reading);
  const selected = await lists.select(files, selectionOf(parameters), {
    folder,
    reading,
    startedAtTick,
  });
  const { start, end, pagination, pages } = paginate(selected?.length ?? files.length, {
    page: parameters.page ?? DEFAULTS.page,
    limit: parameters.limit ?? DEFAULTS.limit,
  });
  const items = Array.from({ length: end - start }, (_, index) => {
    const place = start + index;
    return describe(files.at(selected === null ? place : selected[place]!), folder.path, {
      request,
      reading,
    });
  });
  const complete = await fill(items, { request, reading });
  const { snapshot } = reading;
  const pageUrl = (page: number) => listUrl(baseUrl, { ...parameters, page });
  return {
    body: {
      repository: { ...snapshot.name, branch: snapshot.branch, commit: snapshot.commit },
      collection: {
        name: parameters.collection,
        path: folder.path,
        ...(folder.declared === null ? {} : { source: folder.declared.source }),
      },
      items,
      pagination,
      links: {
        self: listUrl(baseUrl, parameters),
        first: pageUrl(pages.first),
        previous: pages.previous === null ? null : pageUrl(pages.previous),
        next: pages.next === null ? null : pageUrl(pages.next),
        last: pageUrl(pages.last),
      },
      ...(folder.warnings.length === 0 ? {} : { warnings: [...folder.warnings] }),
    },
    complete,
  };
}

/** Puts into the items what is asked for; false where the source failed for one. */
async function fill(
  items: ItemBody[],
  { request, reading }: { request: ListRequest; reading: Reading },
): Promise<boolean> {
  const { parameters, maxItemBytes, frontMatters: store } = request;
  if (parameters.includeContent === true) {
    await addContents(items, { reading, maxItemBytes });
  }
  if (parameters.includeFrontMatter === true) {
    // An item that has its content has its front matter, too.
    const left = items.filter(({ encoding, error }) =>
      encoding === undefined && (error === undefined || error.code === "page-too-large")
    );
    await addFrontMatters(left, { reading, store });
  }
  return !items.some(({ error }) => error?.code.startsWith("source-"));
}

/** The selection that checked parameters ask for. */
function selectionOf({ sort, filter, recursive }: ListParameters): Selection {
  return {
    key: JSON.stringify([sort ?? "path", filter ?? [], recursive ?? true]),
    sort: parseSort(sort ?? "path"),
    filters: parseFilters(filter ?? []).filters,
  };
}

function describe(
  file: ListedFile,
  folder: string,
  { request: { baseUrl }, reading }: { request: ListRequest; reading: Reading },
): ItemBody {
  const { name, path, ...rest } = fileBody(
    { ...file, path: folder === "" ? file.path : `${folder}/${file.path}` },
    { baseUrl, reading },
  );
  return { name, path, slug: slugOf(file.path, name), ...rest };
}

/** The path inside the collection without its extension; a name that is all extension stays whole. */
function slugOf(path: string, name: string): string {
  const dot = name.lastIndexOf(".");
  return dot <= 0 ? path : path.slice(0, path.length - (name.length - dot));
}
