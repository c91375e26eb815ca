// Makes the JSON of a page's items on the content thread. This file decides
// what is read for them, in what order, and what fits. Rendered HTML depends
// only on the text of a file. It is cached by blob id in memory and in the
// key-value store. Its URLs are resolved for each response.

import { itemErrorBody } from "../api/contract.ts";
import { itemUrl } from "../api/parameters.ts";
import type { ObjectKind } from "../cache/object_cache.ts";
import { FAILURE_TTL_MS } from "../content/derived.ts";
import type {
  DescribedFile,
  DescribeInput,
  Description,
} from "../content/describe.ts";
import type { ItemNeeds } from "../content/fields.ts";
import {
  derivedKey,
  fileName,
  isMarkdown,
  needsReading,
} from "../content/file_names.ts";
import { MAX_RENDERED_BYTES, RENDERER_VERSION } from "../content/rendered.ts";
import {
  describePlainTask,
  describeTask,
  renderTask,
} from "../content/tasks.ts";
import {
  pageTooLarge,
  problem,
  serviceBusy,
  shownPath,
  sourceFailed,
} from "../errors.ts";
import type { FileList } from "../source/file_list.ts";
import {
  type Blobs,
  BYTES_PER_PROCESSOR_MS,
  type FileRef,
} from "../source/source.ts";
import { yieldToEventLoop } from "../work/clock.ts";
import type { Permit } from "../work/fair_queue.ts";
import { runOverFrontMatter, workOn } from "./derive.ts";
import { readHistories } from "./histories.ts";
import {
  MAX_ROUNDS,
  type ReadContext,
  repositoryOf,
  runJob,
  SMALL_ANSWER_BYTES,
} from "./read_context.ts";
import {
  type ContentFile,
  contentRef,
  findObjects,
  readContents,
  withPointer,
} from "./read_contents.ts";
import { type CollectionFolder, pathIn } from "./resolve_collection.ts";

/**
 * Longer Markdown that is hostile fills the memory of the content thread within
 * the short first try of a task.
 */
const LONG_MARKDOWN_BYTES = 128 << 10;

/** The files of a response and what the response says about them. */
interface Page {
  files: readonly DescribedFile[];
  needs: ItemNeeds;
  /** See `DescribeInput`. */
  fields?: readonly string[] | undefined;
  linkTemplate?: string | undefined;
  /** The collection that contains the files. Null for a single file. */
  folder: CollectionFolder | null;
  /** The files that links between items may lead to. */
  linked?: {
    folder: CollectionFolder;
    files: FileList;
  } | null;
  /** Maximum size of the items as JSON. */
  maxBytes: number;
  /** How long the response is beside the items. */
  aroundBytes: number;
  /** Files that were read already. */
  blobs?: Blobs | undefined;
}

/** Maximum size of a JSON response. */
export const MAX_JSON_BYTES = 16 << 20;
/**
 * Estimated size of an item without its contents. Its name, slug and URLs
 * repeat its path.
 */
const LIKELY_BYTES = { item: 512, perPathCharacter: 8 };
/**
 * Estimated size of a plain item beyond its path. Small pages of them are
 * written on the thread that serves requests.
 */
const WRITTEN_BYTES = 256;
/**
 * Maximum bytes of files whose contents one page carries. Also the maximum that
 * a page reads only for front matter.
 */
const MAX_PAGE_BYTES = { content: 4 << 20, frontMatter: 32 << 20 };

/** Rendered files in the encoding of the content thread. */
const renderedKind: ObjectKind<Uint8Array> = {
  name: `html-${RENDERER_VERSION}`,
  sizeOf: (bytes) => bytes.length,
  codec: { encode: (bytes) => bytes, decode: (bytes) => bytes },
};
const failureKind: ObjectKind<
  { message: string; untilMs: number }
> = {
  name: "html-failure",
  sizeOf: ({ message }) => 100 + 2 * message.length,
};

const TOO_SLOW = "The file takes longer than 2 s, or too much memory.";

/**
 * Returns the items of a page and how long they may be cached, in ms. They are
 * not cached if the source failed to give a file. A file that cannot be read
 * has an error instead of its contents. It does not fail the page.
 * @throws {CollectionsError} what {@linkcode runJob} throws if Markdown has to
 * be rendered for a list.
 */
export async function describeItems(
  page: Page,
  read: ReadContext,
): Promise<Description & { cacheForMs: number }> {
  const { needs } = page;
  const files: DescribedFile[] = page.files.map((file) =>
    withPointer(file, read)
  );
  let historyForMs = Infinity;
  if (needs.history) {
    const isSingle = page.folder === null;
    const { histories, cacheForMs } = await readHistories(
      files,
      read,
      isSingle,
    );
    for (const file of files) Object.assign(file, histories.get(file.path));
    historyForMs = cacheForMs;
  }
  const take = await planReads(files, page, read);
  // HTML comes first because the memory for the page depends on its size. The
  // job that renders it reads the files itself because it may outlast the
  // request.
  using _memory = needs.html ? await addHtml(files, page, take, read) : null;
  let { blobs } = page;
  if (needs.content) {
    blobs ??= await readCarried(files, page, take, read);
    for (const file of files.filter(({ error }) => error === undefined)) {
      const bytes = blobs.get(contentRef(file).id)!;
      if (bytes instanceof Error) fail(file, bytes);
      else file.bytes = bytes;
    }
  }
  const described = await describeFiles(files, { ...page, blobs }, read);
  const hasFailed = files.some(({ error }) =>
    error?.code.startsWith("source-")
  );
  const mayEnd = files.some(({ error, htmlError }) =>
    error?.code === "item-not-found" || htmlError !== undefined
  );
  const filesForMs = hasFailed ? 0 : mayEnd ? FAILURE_TTL_MS : Infinity;
  return { ...described, cacheForMs: Math.min(filesForMs, historyForMs) };
}

/**
 * Reads the contents that a page carries. Reserves memory for them and their
 * JSON before, because they would stay in memory while they wait for it.
 */
async function readCarried(
  files: readonly DescribedFile[],
  { maxBytes, aroundBytes }: Page,
  take: (file: FileRef) => void,
  read: ReadContext,
): Promise<Blobs> {
  const isCarried = ({ error }: DescribedFile) => error === undefined;
  const reserve = () => {
    const sizes = files.map((file) =>
      isCarried(file) ? contentRef(file).size : 0
    );
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    const likely = files.reduce(
      (sum, file, index) => sum + likelyItemBytes(file, sizes[index]!),
      0,
    );
    const jsonBytes = Math.min(likely, maxBytes) + aroundBytes;
    return read.reserveBytes(memoryFor(bytes, jsonBytes));
  };
  return await readContents(files.filter(isCarried), take, read, reserve);
}

/** Whether no file has to be read. */
const isPlain = ({ content, frontMatter, html }: ItemNeeds) =>
  !(content || frontMatter || html);

/** Sorts files by path without their paths, which may be long. */
const inOrder = (files: readonly DescribedFile[]) =>
  files.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0));

/**
 * Decides which files are read. Files get their share of the page limits in
 * byte order of path. Returns a function that takes the share of one more file
 * or throws.
 */
async function planReads(
  files: readonly DescribedFile[],
  { needs, folder }: Page,
  { context: { signal }, limits: { maxItemBytes: maxBytes } }: ReadContext,
) {
  // A single file is bounded only by the maximum size of an item.
  const bytesLeft = folder === null
    ? { ...MAX_PAGE_BYTES, content: maxBytes }
    : { ...MAX_PAGE_BYTES };
  const take = (
    { path, size }: FileRef,
    budget: keyof typeof MAX_PAGE_BYTES = "content",
  ) => {
    if (size > maxBytes) {
      const facts = { size, maxBytes };
      throw problem("item-too-large", { path: shownPath(path), ...facts });
    }
    if (size > bytesLeft[budget]) {
      throw pageTooLarge(path, MAX_PAGE_BYTES[budget]);
    }
    bytesLeft[budget] -= size;
  };
  for (const file of inOrder(isPlain(needs) ? [] : files)) {
    const { path, size } = file;
    // An error takes some time.
    await yieldToEventLoop(signal);
    try {
      if (needs.content || needs.html && isMarkdown(path)) {
        take(contentRef(file));
      }
    } catch (error) {
      fail(file, error as Error);
    }
    const isCarried = needs.content && file.error === undefined;
    if (!needsReading(fileName(path), size, maxBytes)) continue;
    try {
      if (!isCarried && needs.frontMatter) take(file, "frontMatter");
      file.frontMatter = isCarried || needs.frontMatter;
    } catch (error) {
      fail(file, error as Error);
    }
  }
  return take;
}

/** The same text gives other HTML as MDX. */
const keyOf = (file: ContentFile) => derivedKey(contentRef(file));

/**
 * Adds the HTML that is made, in memory or in the store, in path order. Nothing
 * is read once an answer is full. All later files fail then. Returns the memory
 * that is reserved for it, or null if it is little. Empties `made` if it has to
 * wait for that and `mayForget`.
 */
async function addKnownHtml(
  markdown: readonly DescribedFile[],
  made: Map<DescribedFile, Uint8Array>,
  mayForget: boolean,
  read: ReadContext,
): Promise<Permit | null> {
  const { clock, context: { charge, client, signal }, objects } = read;
  const repository = repositoryOf(read);
  const known = (file: DescribedFile) =>
    made.get(file) ?? objects.peek(renderedKind, repository, keyOf(file));
  const files = inOrder(markdown).filter((file) => {
    const failure = objects.peek(failureKind, repository, keyOf(file));
    const isRecent = failure && failure.untilMs > clock.monotonicMs();
    if (isRecent && known(file) === undefined) file.htmlError = failure.message;
    return file.error === undefined && file.htmlError === undefined;
  });
  const bytes = files.reduce(
    (sum, file) => sum + (known(file)?.length ?? MAX_RENDERED_BYTES),
    0,
  );
  const memory = bytes <= SMALL_ANSWER_BYTES
    ? null
    : await read.htmlMemory.acquire({
      client,
      weight: Math.min(bytes, MAX_JSON_BYTES),
      // The caches have it too.
      onWait: () => mayForget && made.clear(),
      signal,
    });
  try {
    let bytesLeft = MAX_JSON_BYTES;
    for (let at = 0; at < files.length;) {
      const fitting = Math.floor(bytesLeft / MAX_RENDERED_BYTES);
      const group = files.slice(at, at += Math.max(1, fitting));
      if (bytesLeft < 0) {
        group.forEach(failTooLarge);
        continue;
      }
      let isStored = false;
      const keys = group.filter((file) => !made.has(file)).map(keyOf);
      const found = await objects.getMany(renderedKind, repository, keys, {
        onStoreRead: () => isStored = true,
      });
      for (const file of group) {
        const html = made.get(file) ?? found.get(keyOf(file));
        if (html === undefined) continue;
        file.rendered = html;
        bytesLeft -= html.length;
        if (isStored) charge(html.length / BYTES_PER_PROCESSOR_MS);
      }
    }
    cutHtml(markdown);
    memory?.resize(MAX_JSON_BYTES - Math.max(0, bytesLeft));
    return memory;
  } catch (error) {
    memory?.release();
    throw error;
  }
}

/**
 * Adds known HTML and renders what is missing. Returns the memory that is
 * reserved for it.
 * @throws {CollectionsError} service-busy if HTML is evicted again and again.
 */
async function addHtml(
  files: readonly DescribedFile[],
  page: Page,
  take: (file: FileRef) => void,
  read: ReadContext,
): Promise<Permit | null> {
  const markdown = files.filter(({ path, error }) =>
    isMarkdown(path) && error === undefined
  );
  const made = new Map<DescribedFile, Uint8Array>();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const isLast = round === MAX_ROUNDS - 1;
    const memory = await addKnownHtml(markdown, made, !isLast, read);
    const missing = inOrder(markdown).filter((file) =>
      file.rendered === undefined && file.htmlError === undefined &&
      file.error === undefined
    );
    if (missing.length === 0) return memory;
    // Others may have the memory until the rest is rendered.
    memory?.release();
    for (const file of markdown) delete file.rendered;
    for (const [file, html] of await render(missing, page, take, read)) {
      made.set(file, html);
    }
  }
  throw serviceBusy("Cannot keep the HTML: it is evicted at once");
}

/**
 * Renders files. A file that has no HTML then has an error. While several jobs
 * run, some HTML may be in the caches alone.
 */
async function render(
  missing: readonly DescribedFile[],
  { blobs: known, folder }: Page,
  take: (file: FileRef) => void,
  read: ReadContext,
): Promise<ReadonlyMap<DescribedFile, Uint8Array>> {
  const { clock, objects } = read;
  const repository = repositoryOf(read);
  const mostKept = () =>
    folder === null
      ? MAX_RENDERED_BYTES
      : MAX_JSON_BYTES / Math.max(1, read.jobs.running);
  const key = `html ${missing.map(keyOf).join(" ")}`;
  const work = async (read: ReadContext) => {
    const results = new Map<string, Uint8Array | string | Error>();
    const fits = htmlBudget();
    let keptBytes = 0;
    const found = known ?? await findObjects(missing, take, read);
    const files: FileRef[] = [];
    for (const file of missing) {
      const object = contentRef(file);
      const refused = found.get(object.id);
      if (refused instanceof Error) results.set(keyOf(file), refused);
      else files.push(object);
    }
    const rendering = {
      task: renderTask,
      common: { repository },
      isLong: ({ length }: { length: number }) =>
        length > LONG_MARKDOWN_BYTES && length <= MAX_RENDERED_BYTES,
    };
    for await (const [key, given] of workOn(files, read, rendering, found)) {
      const result = given ?? TOO_SLOW;
      if (result instanceof Uint8Array) {
        objects.set(renderedKind, repository, key, result);
        if (!fits(result)) results.set(key, HTML_TOO_LARGE);
        // Where many jobs run, the rest is read from the caches.
        else if (keptBytes + result.length <= mostKept()) {
          keptBytes += result.length;
          results.set(key, result);
        }
        continue;
      }
      results.set(key, result);
      if (typeof result === "string") {
        const untilMs = clock.monotonicMs() + FAILURE_TTL_MS;
        const failure = { message: result, untilMs };
        objects.set(failureKind, repository, key, failure);
      }
    }
    return missing.map((file) => ({
      lfs: file.lfs,
      result: results.get(keyOf(file)),
    }));
  };
  let results;
  if (folder === null) {
    read.context.recordMiss();
    results = await work(read);
  } else {
    // Each file may take seconds. A background job therefore renders lists.
    results = await runJob(read, { key, collection: folder.path, work });
  }
  const made = new Map<DescribedFile, Uint8Array>();
  for (const [index, file] of missing.entries()) {
    const { lfs, result } = results[index]!;
    if (lfs !== undefined && file.lfs === undefined) {
      // Another request's job has found the pointer.
      file.lfs = lfs;
      try {
        take(contentRef(file));
      } catch (error) {
        fail(file, error as Error);
        continue;
      }
    }
    if (result === HTML_TOO_LARGE) failTooLarge(file);
    else if (result instanceof Error) fail(file, result);
    else if (typeof result === "string") file.htmlError = result;
    else if (result !== undefined) made.set(file, result);
  }
  return made;
}

const HTML_TOO_LARGE = new Error("The HTML does not fit into the answer");

/**
 * Returns a function that takes HTML until it does not fit into an answer. What
 * fits among some files in path order may then not fit among more, but never
 * the other way round.
 */
function htmlBudget() {
  let bytesLeft = MAX_JSON_BYTES;
  return ({ length }: Uint8Array): boolean => (bytesLeft -= length) >= 0;
}

/** Bounds what is sent to the content thread by what fits into the answer. */
function cutHtml(markdown: readonly DescribedFile[]) {
  const fits = htmlBudget();
  for (const file of inOrder(markdown)) {
    if (file.rendered === undefined || fits(file.rendered)) continue;
    delete file.rendered;
    failTooLarge(file);
  }
}

const failTooLarge = (file: DescribedFile) =>
  fail(file, pageTooLarge(file.path, MAX_JSON_BYTES));

/** A file that cannot be read has only its error. */
function fail(file: DescribedFile, error: Error) {
  file.error = itemError(error);
  file.frontMatter = false;
}

/**
 * Returns how many bytes of JSON an item with these contents likely takes.
 * Escapes and URLs can make it larger. A page that needs more is written again.
 */
export const likelyBytes = (path: string, contentBytes: number): number =>
  LIKELY_BYTES.item + LIKELY_BYTES.perPathCharacter * path.length +
  4 * contentBytes;

/** What a client may have for large responses. */
const MAX_RESERVED_BYTES = 20 << 20;

/** Returns the bytes to reserve for contents and the JSON that carries them. */
export const memoryFor = (contentBytes: number, jsonBytes: number): number =>
  Math.max(jsonBytes, Math.min(contentBytes + jsonBytes, MAX_RESERVED_BYTES));

const likelyItemBytes = (
  { path, rendered }: DescribedFile,
  contentBytes: number,
) => likelyBytes(path, contentBytes + (rendered?.length ?? 0));

async function describeFiles(
  files: readonly DescribedFile[],
  { fields, folder, linkTemplate, linked, maxBytes, aroundBytes, needs, blobs }:
    Page,
  read: ReadContext,
): Promise<Description> {
  const { baseUrl, snapshot, source } = read;
  const { name: { owner, repo }, branch } = snapshot;
  const input: Omit<DescribeInput, "maxBytes"> = {
    repository: repositoryOf(read),
    files,
    fields,
    mostBytes: maxBytes,
    linkTemplate,
    prefix: folder && pathIn(folder.path, ""),
    // The path is the last part of the URL.
    contentUrlStart: itemUrl(baseUrl, { owner, repo, branch, path: "" }),
    webUrlStart: source.webUrl(snapshot, ""),
    linked: linked
      ? {
        prefix: pathIn(linked.folder.path, ""),
        files: linked.files.bytes,
        rule: linked.folder.declared?.rule,
      }
      : null,
  };
  const contentBytes = files.reduce(
    (sum, { bytes }) => sum + (bytes?.length ?? 0),
    0,
  );
  const describeWithin = async (maxBytes: number) => {
    await read.reserveBytes(memoryFor(contentBytes, maxBytes + aroundBytes));
    return await runOverFrontMatter(
      read,
      isPlain(needs) ? describePlainTask : describeTask,
      { ...input, maxBytes },
      {
        subject: folder?.path ?? shownPath(files[0]!.path),
        fileAt: (index) => contentRef(files[index]!),
        onFailure: (key, error) => {
          for (const file of files) {
            if (file.frontMatter && keyOf(file) === key) fail(file, error);
          }
        },
        blobs,
        ...(isPlain(needs) && {
          linearIn: files.reduce(
            (sum, { path }) => sum + path.length + WRITTEN_BYTES,
            0,
          ),
        }),
      },
    );
  };
  const likely = files.reduce(
    (sum, file) => sum + likelyItemBytes(file, file.bytes?.length ?? 0),
    0,
  );
  const free = SMALL_ANSWER_BYTES - contentBytes - aroundBytes;
  const first = Math.max(likely, free);
  const described = await describeWithin(Math.min(first, maxBytes));
  return described.isCut && first < maxBytes
    ? await describeWithin(Math.min(described.neededBytes, maxBytes))
    : described;
}

function itemError(error: Error): NonNullable<DescribedFile["error"]> {
  const known = itemErrorBody.safeParse(error);
  return known.success
    ? known.data
    : itemErrorBody.parse(sourceFailed(error.message));
}
