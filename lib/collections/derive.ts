// Derives front matter and HTML from files on the content thread. A file that
// takes too long is tried again alone. If that fails too, the file has neither
// for some minutes.

import type { Batch, FilesInput } from "../content/derive.ts";
import type { Missing } from "../content/derived.ts";
import { derivedKey } from "../content/file_names.ts";
import type { Hits, SearchInput } from "../content/search.ts";
import {
  deriveTask,
  indexTask,
  renderTask,
  searchTask,
} from "../content/tasks.ts";
import type { Blobs, FileRef } from "../source/source.ts";
import { type Task, TimeLimitError } from "../thread/compute.ts";
import {
  type ReadContext,
  repositoryOf,
  runJob,
  runSupplied,
  runTask,
} from "./read_context.ts";

/**
 * Limits for files that are read together. They bound memory and still fill
 * several batches.
 */
const CHUNK = { maxFiles: 400, maxBytes: 4 << 20 };
/** Limits how much is copied to the thread at once. */
const MAX_BATCH_BYTES = 1 << 20;

/**
 * Returns the output of a task that needs front matter. Derives the front
 * matter that the thread does not have.
 * @throws what {@linkcode runSupplied} throws.
 */
export function runOverFrontMatter<Input, Output extends object>(
  read: ReadContext,
  task: Task<Input, Output | Missing>,
  input: Input,
  { fileAt, onFailure, blobs, ...options }: {
    subject: string;
    linearIn?: number;
    /** Returns the file for an index that the task reported as missing. */
    fileAt: (index: number) => FileRef;
    /** Called for each unreadable file after all others are derived. */
    onFailure: (id: string, error: Error) => void;
    blobs?: Blobs;
  },
): Promise<Output> {
  const repository = repositoryOf(read);
  return runSupplied(read, task, input, options, async (missing) => {
    const failures: [id: string, error: Error][] = [];
    const files = missing.values().map(fileAt);
    await deriveFrom(files, read, deriveTask, { repository }, {
      blobs,
      onFailure: (...failure) => failures.push(failure),
    });
    for (const [id, error] of failures) onFailure(id, error);
  });
}

/**
 * Returns what a search finds. A background job indexes the files that the
 * thread's index lacks. Searches for other words share it.
 * @throws {CollectionsError} collection-too-large, collection-not-ready,
 * query-too-expensive or a source failure.
 */
export async function runSearch(
  read: ReadContext,
  input: SearchInput,
  fileAt: (index: number) => FileRef,
): Promise<Hits> {
  const { repository, index, folder } = input;
  const indexed = { repository, index, folder };
  const key = `index ${read.snapshot.commit} ${index}`;
  const subject = folder;
  read.context.recordMiss();
  return await runSupplied(read, searchTask, input, { subject }, (missing) => {
    const work = (read: ReadContext) =>
      deriveFrom(missing.values().map(fileAt), read, indexTask, indexed, {
        onFailure(_, error) {
          throw error;
        },
      });
    return runJob(read, { key, collection: folder, work });
  });
}

/**
 * Has the thread keep what it derives from files. `common` is the input besides
 * the files.
 */
async function deriveFrom<Common extends Pick<FilesInput, "repository">>(
  files: Iterable<FileRef>,
  read: ReadContext,
  task: Task<Common & FilesInput, Batch<void>>,
  common: Common,
  { blobs, onFailure }: {
    blobs?: Blobs | undefined;
    onFailure: (id: string, error: Error) => void;
  },
) {
  await workOn(files, read, {
    blobs,
    work: (files, isLong) =>
      runTask(read, task, { ...common, files }, { isLong }),
    async onResult(id, result) {
      if (result instanceof Error) onFailure(id, result);
      if (result !== null) return;
      const files = [{ id, bytes: new Uint8Array() }];
      await runTask(read, task, { ...common, files, areSlow: true });
    },
  });
}

/**
 * Renders Markdown files, or MDX files. `onResult` gets a `Rendered` as JSON.
 * It gets a sentence if a file has no HTML and an error if it cannot be read.
 * @throws what {@linkcode runTask} throws.
 */
export async function renderFiles(
  files: readonly FileRef[],
  read: ReadContext,
  { blobs, areMdx, onResult }: {
    blobs: Blobs;
    areMdx: boolean;
    onResult: (
      id: string,
      result: Uint8Array | string | Error,
    ) => void;
  },
): Promise<void> {
  const repository = repositoryOf(read);
  await workOn(files, read, {
    blobs,
    work: (files, isLong) =>
      runTask(read, renderTask, { repository, files, areMdx }, { isLong }),
    onResult: (id, result) =>
      onResult(
        id,
        result ?? "The file takes longer than 2 s, or too much memory.",
      ),
  });
}

/** Works on files in batches. Reads the files that `blobs` lacks. */
async function workOn<T>(
  files: Iterable<FileRef>,
  read: ReadContext,
  { blobs: known, work, onResult }: {
    blobs: Blobs | undefined;
    work: (
      batch: FilesInput["files"],
      isLong: boolean,
    ) => Promise<Batch<T>>;
    /**
     * Gets an error if the file cannot be read. Gets null if the file takes too
     * long even alone.
     */
    onResult: (
      id: string,
      result: T | Error | null,
    ) => void | Promise<void>;
  },
) {
  const { source, snapshot, context } = read;
  for (const chunk of chunksOf(files)) {
    context.signal?.throwIfAborted();
    const isKnown = known !== undefined &&
      chunk.every(({ id }) => known.has(id));
    const blobs = isKnown
      ? known
      : await source.blobs(snapshot, chunk, context);
    const readable: { id: string; bytes: Uint8Array; length: number }[] = [];
    for (const file of chunk) {
      const bytes = blobs.get(file.id)!;
      if (bytes instanceof Error) await onResult(file.id, bytes);
      else {
        readable.push({ id: derivedKey(file), bytes, length: bytes.length });
      }
    }
    let size = readable.length;
    let tries = 0;
    for (let at = 0; at < readable.length;) {
      context.signal?.throwIfAborted();
      const batch = batchOf(readable.slice(at, at + size));
      const { results, isSlow } = await work(batch, tries === 1).catch(
        (error) => {
          if (!(error instanceof TimeLimitError)) throw error;
          return { results: [], isSlow: true };
        },
      );
      for (const result of results) await onResult(readable[at++]!.id, result);
      if (results.length > 0) tries = 0;
      if (!isSlow) continue;
      // It is unknown which file of the batch ended the thread. The next files
      // are tried one by one.
      size = 1;
      if (++tries < 2) continue;
      await onResult(readable[at++]!.id, null);
      tries = 0;
    }
  }
}

/** Returns each file once. Takes the files of a chunk when it is needed. */
function* chunksOf(files: Iterable<FileRef>): Generator<FileRef[]> {
  const keys = new Set<string>();
  let chunk: FileRef[] = [];
  let bytes = 0;
  for (const file of files) {
    const key = derivedKey(file);
    if (keys.has(key)) continue;
    keys.add(key);
    bytes += file.size;
    if (
      chunk.length === CHUNK.maxFiles ||
      chunk.length > 0 && bytes > CHUNK.maxBytes
    ) {
      yield chunk;
      chunk = [];
      bytes = file.size;
    }
    chunk.push(file);
  }
  if (chunk.length > 0) yield chunk;
}

/** Returns the first files of up to 1 MiB together but at least one. */
function batchOf<File extends { length: number }>(
  files: readonly File[],
): File[] {
  let bytes = 0;
  return files.filter(({ length }, index) =>
    (bytes += length) <= MAX_BATCH_BYTES || index === 0
  );
}
