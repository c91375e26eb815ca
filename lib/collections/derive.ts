// Has the content thread derive from files what it or the caches keep: front matter and HTML. A file that takes too long is
// tried again alone. Then it has none for some minutes.

import { deriveTask, lackingTask, renderTask } from "../content/tasks.ts";
import type { Blobs, FileRef } from "../source/source.ts";
import { TimeLimitError } from "../thread/compute.ts";
import { type ReadContext, repositoryOf, runTask } from "./read_context.ts";
import { readBlobs } from "./read_files.ts";

/** Files read together: few enough to bound memory, enough to fill several batches. */
const CHUNK = { maxFiles: 400, maxBytes: 4 << 20 };
/** What is copied to the thread at once. */
const MAX_BATCH_BYTES = 1 << 20;

type FileBytes = { readonly id: string; readonly bytes: Uint8Array };

/**
 * Derives the front matter of those files whose front matter the thread does not have. Gives why some could not be read,
 * by id. @throws as {@linkcode runTask}.
 */
export async function deriveFiles(
  files: Iterable<FileRef>,
  read: ReadContext,
  known: Blobs = new Map(),
): Promise<ReadonlyMap<string, Error>> {
  const { context } = read;
  const repository = repositoryOf(read);
  const byId = new Map([...files].map((file) => [file.id, file]));
  const failures = new Map<string, Error>();
  if (byId.size === 0) return failures;
  const ids = await runTask(read, lackingTask, { repository, ids: [...byId.keys()] });
  for (const chunk of chunksOf(ids.values().map((id) => byId.get(id)!))) {
    context.signal?.throwIfAborted();
    const blobs = chunk.every(({ id }) => known.has(id))
      ? new Map(chunk.map(({ id }) => [id, known.get(id)!]))
      : await readBlobs(chunk, read);
    const readable: FileBytes[] = [];
    for (const [id, bytes] of blobs) {
      if (bytes instanceof Error) failures.set(id, bytes);
      else readable.push({ id, bytes });
    }
    await inBatches(readable, read, async (files, options) => {
      const isFailed = options.isFailed;
      return await runTask(read, deriveTask, { repository, files, isFailed }, options);
    });
  }
  return failures;
}

/** Renders Markdown files. `onResult` gets a `Rendered` as JSON, or why a file has none. @throws as {@linkcode runTask}. */
export async function renderFiles(
  files: readonly FileBytes[],
  read: ReadContext,
  onResult: (id: string, result: Uint8Array | string) => void,
): Promise<void> {
  const repository = repositoryOf(read);
  await inBatches(files, read, async (batch, options) => {
    if (options.isFailed) {
      onResult(batch[0]!.id, "The file takes longer than 2 s, or too much memory.");
      return { done: 1, isSlow: false };
    }
    const { results, isSlow } = await runTask(
      read,
      renderTask,
      { repository, files: batch },
      options,
    );
    for (const [index, result] of results.entries()) onResult(batch[index]!.id, result);
    return { done: results.length, isSlow };
  });
}

interface TryOptions {
  /** Whether the first file took too long before. */
  readonly isLong: boolean;
  /** Whether it took too long again. */
  readonly isFailed: boolean;
}

/** Works on all files, in batches. `work` says how many of a batch are done, and whether the next one takes too long. */
async function inBatches(
  files: readonly FileBytes[],
  read: ReadContext,
  work: (
    batch: readonly FileBytes[],
    options: TryOptions,
  ) => Promise<{ readonly done: number; readonly isSlow: boolean }>,
): Promise<void> {
  let size = files.length;
  let tries = 0;
  for (let at = 0; at < files.length;) {
    read.context.signal?.throwIfAborted();
    let bytes = 0;
    const batch = files.slice(at, at + size)
      .filter((file, index) => (bytes += file.bytes.length) <= MAX_BATCH_BYTES || index === 0);
    const options = { isLong: tries === 1, isFailed: tries === 2 };
    const { done, isSlow } = await work(batch, options).catch((error) => {
      if (!(error instanceof TimeLimitError)) throw error;
      return { done: 0, isSlow: true };
    });
    at += done;
    if (done > 0) tries = 0;
    // One by one from here on: which of several files ended the thread is not known.
    if (isSlow) [tries, size] = [tries + 1, 1];
  }
}

function* chunksOf(files: Iterable<FileRef>): Generator<FileRef[]> {
  let chunk: FileRef[] = [];
  let bytes = 0;
  for (const file of files) {
    bytes += file.size;
    if (chunk.length === CHUNK.maxFiles || (chunk.length > 0 && bytes > CHUNK.maxBytes)) {
      yield chunk;
      chunk = [];
      bytes = file.size;
    }
    chunk.push(file);
  }
  if (chunk.length > 0) yield chunk;
}
