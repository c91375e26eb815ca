// Adds to the items of a page what their files contain, as pieces of JSON that the content thread makes: content, front
// matter, HTML. A rendered file depends on its text alone and is cached by its blob id, in the key-value store too. Its
// addresses are resolved for each response.

import { type ItemBody, itemErrorBody } from "../api/contract.ts";
import { itemUrl } from "../api/parameters.ts";
import type { ObjectKind } from "../cache/object_cache.ts";
import type { DescribedFile, DescribedPart, LinkTargets } from "../content/describe.ts";
import type { ItemNeeds } from "../content/fields.ts";
import { isMarkdown, isMdx, needsReading } from "../content/file_names.ts";
import type { LfsPointer } from "../content/lfs_pointer.ts";
import { RENDERER_VERSION } from "../content/rendered.ts";
import { describeTask } from "../content/tasks.ts";
import {
  itemTooLarge,
  pageTooLarge,
  queryTooExpensive,
  serviceBusy,
  sourceFailed,
} from "../errors.ts";
import { comparePaths, type FileList } from "../source/file_list.ts";
import type { Blobs, FileRef } from "../source/source.ts";
import { TimeLimitError } from "../thread/compute.ts";
import { deriveFiles, renderFiles } from "./derive.ts";
import { type ReadContext, repositoryOf, runJob, runTask } from "./read_context.ts";
import { readFiles } from "./read_files.ts";
import { type CollectionFolder, pathIn } from "./resolve_collection.ts";

/** A file in either operation. */
export type Item = Omit<ItemBody, "slug">;

/** What the files of a response are described by. */
export interface Description {
  readonly needs: ItemNeeds;
  /** As in `DescribeInput`. */
  readonly fields?: readonly string[] | "frontMatter" | undefined;
  readonly linkTemplate?: string | undefined;
  /** The collection that links between items stay in. */
  readonly collection: { readonly folder: CollectionFolder; readonly files: FileList } | null;
  /** How errors name the list; null for one file. */
  readonly list: string | null;
  /** Bytes of JSON that the contents may have. */
  readonly maxBytes: number;
  /** Files that were read already. */
  readonly blobs?: Blobs;
}

export interface Contents {
  /** Properties of each item. */
  readonly parts: ReadonlyMap<Item, DescribedPart>;
  /** Of the items that turned out to be Git LFS pointers. */
  readonly pointers: ReadonlyMap<Item, LfsPointer>;
  /** For how long they may be cached, in ms: not at all where the source failed to give a file. */
  readonly cacheForMs: number;
}

/** Bytes of files that one page carries at most, and reads at most for their front matter alone. */
const MAX_PAGE_BYTES = { content: 4 << 20, frontMatter: 32 << 20 };
/** Rendering may fail for lack of time on a busy machine, so a failure is cached for a short time only. */
const FAILURE_TTL_MS = 5 * 60_000;
/** Another client's files may take the place of what was derived, before it is used. */
const MAX_ROUNDS = 3;
/** What every page may take. */
const MIN_JSON_BYTES = 1 << 20;
const MDX_ERROR = "MDX is a program, which this service does not execute; it has no HTML.";

/** Rendered files as the content thread makes and reads them. */
const renderedKind: ObjectKind<Uint8Array> = {
  name: `html-${RENDERER_VERSION}`,
  sizeOf: (bytes) => bytes.length,
  codec: { encode: (bytes) => bytes, decode: (bytes) => bytes },
};
const failureKind: ObjectKind<{ readonly message: string; readonly untilMs: number }> = {
  name: "html-failure",
  sizeOf: ({ message }) => 100 + 2 * message.length,
};

/** One file of a page while it is described. */
type PageFile =
  & { -readonly [Key in keyof DescribedFile]: DescribedFile[Key] }
  & { readonly item: Item; readonly isCarried: boolean; readonly hasHtml: boolean };

/**
 * What `needs` names of the files of a page. One that cannot be read has an error instead; the page does not fail.
 * @throws {CollectionsError} as {@linkcode runJob}, where Markdown has to be rendered for a list.
 */
export async function describeItems(
  items: readonly Item[],
  description: Description,
  read: ReadContext,
): Promise<Contents> {
  const { needs } = description;
  if (!needs.content && !needs.frontMatter && !needs.html) {
    return { parts: new Map(), pointers: new Map(), cacheForMs: Infinity };
  }
  const room = roomOf(description, read);
  const files = planPage(items, description, { room, read });
  const pointers = new Map<Item, LfsPointer>();
  await addHtml(files, description, { room, pointers, read });
  const carried = files.filter(({ isCarried }) => isCarried);
  const contents = description.blobs === undefined
    ? await readFiles(carried.map(refOf), room.refuse, read)
    : { blobs: description.blobs, pointers: new Map<string, LfsPointer>() };
  const blobs = new Map(contents.blobs);
  for (const file of carried) {
    const blob = blobs.get(file.id)!;
    const pointer = contents.pointers.get(file.id);
    if (pointer !== undefined) {
      pointers.set(file.item, pointer);
      // What is derived of the object is not that of the pointer, by which lists are sorted and filtered.
      file.id = pointer.oid;
      blobs.set(file.id, blob);
    }
    if (blob instanceof Error) fail(file, blob);
    else file.bytes = blob;
  }
  const parts = await describeFiles(files, { ...description, blobs }, read);
  const hasFailed = files.some(({ error }) => error?.code.startsWith("source-"));
  const mayEnd = files.some(({ error, htmlError, path }) =>
    error?.code === "item-not-found" || htmlError !== undefined && !isMdx(path)
  );
  return {
    parts: new Map(files.map(({ item }, index) => [item, parts[index]!])),
    pointers,
    cacheForMs: hasFailed ? 0 : mayEnd ? FAILURE_TTL_MS : Infinity,
  };
}

type Room = ReturnType<typeof roomOf>;

/** What is left of a page's bytes. */
function roomOf({ list }: Description, { limits: { maxItemBytes: maxBytes } }: ReadContext) {
  // A single file is bounded by its own size.
  const bytesLeft = { ...MAX_PAGE_BYTES, ...(list !== null ? {} : { content: maxBytes }) };
  const take = (kind: keyof typeof bytesLeft, size: number) => {
    const isFitting = size <= bytesLeft[kind];
    if (isFitting) bytesLeft[kind] -= size;
    return isFitting;
  };
  /** What is read for its HTML and for its content counts once. */
  const known = new Map<string, Error | null>();
  /** Why a file, or the object of a Git LFS pointer, cannot be in the page; null where it has its room. */
  const refuse = (path: string, size: number): Error | null => {
    const key = `${size} ${path}`;
    const error = known.get(key) ??
      (size > maxBytes
        ? itemTooLarge(path, { size, maxBytes })
        : known.has(key) || take("content", size)
        ? null
        : pageTooLarge(path, MAX_PAGE_BYTES.content));
    known.set(key, error);
    return error;
  };
  return { take, refuse };
}

/** The files in byte order of path, which is the order in which they get their part of the page. */
function planPage(
  items: readonly Item[],
  { needs }: Description,
  { room, read }: { readonly room: Room; readonly read: ReadContext },
): PageFile[] {
  return items.toSorted((a, b) => comparePaths(a.path, b.path)).map((item) => {
    const { name, path, size } = item;
    const { id } = contentRef(item);
    const isText = needsReading(name, size, read.limits.maxItemBytes);
    const wantsHtml = needs.html && isMarkdown(name);
    const isRead = needs.content || wantsHtml;
    let error = isRead && room.refuse(path, size) || undefined;
    const isCarried = needs.content && error === undefined;
    // No object is read for its front matter alone.
    let frontMatter = isText && (isCarried || needs.frontMatter && item.lfs === undefined);
    if (frontMatter && !isCarried && !room.take("frontMatter", size)) {
      frontMatter = false;
      error = pageTooLarge(path, MAX_PAGE_BYTES.frontMatter);
    }
    const hasHtml = wantsHtml && error === undefined;
    const htmlError = hasHtml && isMdx(name) ? MDX_ERROR : undefined;
    const none = { bytes: null, rendered: null };
    return {
      ...{ item, path, id, frontMatter, isCarried, hasHtml, htmlError, ...none },
      error: error && itemError(error),
    };
  });
}

/** Finds or makes the HTML of files. */
async function addHtml(
  files: readonly PageFile[],
  { blobs: known, list }: Description,
  { room, pointers, read }: {
    readonly room: Room;
    readonly pointers: Map<Item, LfsPointer>;
    readonly read: ReadContext;
  },
): Promise<void> {
  const { clock, objects } = read;
  const repository = repositoryOf(read);
  const markdown = files.filter(({ hasHtml, htmlError }) => hasHtml && htmlError === undefined);
  const rendered = await objects.getMany(renderedKind, repository, markdown.map(({ id }) => id));
  for (const file of markdown) {
    file.rendered = rendered.get(file.id) ?? null;
    const failure = objects.peek(failureKind, repository, file.id);
    if (failure !== undefined && failure.untilMs > clock.monotonicMs()) {
      file.htmlError = failure.message;
    }
  }
  const missing = markdown.filter(({ rendered, htmlError }) =>
    rendered === null && htmlError === undefined
  );
  if (missing.length === 0) return;
  const work = async (read: ReadContext) => {
    const contents = known === undefined
      ? await readFiles(missing.map(refOf), room.refuse, read)
      : { blobs: known, pointers: new Map<string, LfsPointer>() };
    const results = new Map<string, Uint8Array | string | Error>();
    const readable: { id: string; bytes: Uint8Array }[] = [];
    for (const id of new Set(missing.map(({ id }) => id))) {
      const bytes = contents.blobs.get(id)!;
      if (bytes instanceof Error) results.set(id, bytes);
      else readable.push({ id, bytes });
    }
    await renderFiles(readable, read, (id, result) => {
      results.set(id, result);
      if (typeof result !== "string") return objects.set(renderedKind, repository, id, result);
      const untilMs = clock.monotonicMs() + FAILURE_TTL_MS;
      objects.set(failureKind, repository, id, { message: result, untilMs });
    });
    return { results, found: contents.pointers };
  };
  const ids = missing.map(({ id }) => id).join(" ");
  if (list === null) read.context.recordMiss();
  // Each file may take seconds, so that a list's page is rendered by a background job.
  const { results, found } = list === null
    ? await work(read)
    : await runJob(read, { key: `html ${ids}`, usesSource: false, collection: list, work });
  for (const file of missing) {
    const result = results.get(file.id)!;
    const pointer = found.get(file.id);
    if (pointer !== undefined) pointers.set(file.item, pointer);
    if (result instanceof Error) fail(file, result);
    else if (typeof result === "string") file.htmlError = result;
    else file.rendered = result;
  }
}

/** A file that cannot be read has its error alone. */
function fail(file: PageFile, error: Error): void {
  Object.assign(file, { error: itemError(error), frontMatter: false, bytes: null, rendered: null });
}

async function describeFiles(
  files: readonly PageFile[],
  description: Description & { readonly blobs: Blobs },
  read: ReadContext,
): Promise<readonly DescribedPart[]> {
  const { blobs, fields, list, maxBytes } = description;
  const repository = repositoryOf(read);
  const targets = targetsOf(description, read);
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const derived = files.filter(({ frontMatter }) => frontMatter);
    const failures = await deriveFiles(derived.map(refOf), read, blobs);
    for (const file of derived) {
      const failure = failures.get(file.id);
      if (failure !== undefined) fail(file, failure);
    }
    const described = files.map((file): DescribedFile => {
      const { item: _, isCarried: _isCarried, hasHtml: _hasHtml, ...described } = file;
      return described;
    });
    // Few files need as much as they may: escapes and addresses can make them many times as large.
    const likely = MIN_JSON_BYTES +
      4 *
        sum(described.map(({ bytes, rendered }) => (bytes?.length ?? 0) + (rendered?.length ?? 0)));
    for (const most of [Math.min(likely, maxBytes), maxBytes]) {
      await read.reserveBytes(most);
      const input = { repository, files: described, fields, targets, maxBytes: most };
      const parts = await runTask(read, describeTask, input).catch((error) => {
        throw error instanceof TimeLimitError ? queryTooExpensive(list ?? files[0]!.path) : error;
      });
      if (parts === null) break;
      if (most === maxBytes || !parts.some(({ isCut }) => isCut)) return parts;
    }
  }
  throw serviceBusy();
}

const sum = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0);

function targetsOf(
  { collection, linkTemplate }: Pick<Description, "collection" | "linkTemplate">,
  { baseUrl, snapshot, source }: ReadContext,
): LinkTargets {
  const { name: { owner, repo }, branch } = snapshot;
  return {
    // The path is the last part of the address.
    contentUrlStart: itemUrl(baseUrl, { owner, repo, branch, path: "" }),
    webUrlStart: source.webUrl(snapshot, ""),
    linkTemplate: linkTemplate ?? null,
    collection: collection && {
      prefix: pathIn(collection.folder.path, ""),
      files: collection.files.bytes,
      rule: collection.folder.declared?.rule,
    },
  };
}

/** What the content of an item is read by: its blob, or the object of a known Git LFS pointer. */
export function contentRef({ path, sha, size, lfs }: Item): FileRef {
  return { path, id: lfs?.oid ?? sha, size };
}

const refOf = ({ id, item: { path, size } }: PageFile): FileRef => ({ path, id, size });

function itemError(error: Error): NonNullable<Item["error"]> {
  const known = itemErrorBody.safeParse(error);
  return known.success ? known.data : itemErrorBody.parse(sourceFailed(error.message));
}
