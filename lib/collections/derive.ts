// Has the content thread derive from files what it or the caches keep: front matter and HTML. A file that takes too long is
// tried again alone. Then it has none for some minutes.

import type { Batch, FilesInput } from "../content/derive.ts";
import type { Missing } from "../content/derived.ts";
import { deriveTask, renderTask } from "../content/tasks.ts";
import { problem, RETRY_AFTER_SECONDS } from "../errors.ts";
import type { Blobs, FileRef } from "../source/source.ts";
import { type Task, TimeLimitError } from "../thread/compute.ts";
import { type ReadContext, repositoryOf, runTask } from "./read_context.ts";

/** Files read together: few enough to bound memory, enough to fill several batches. */
const CHUNK = { maxFiles: 400, maxBytes: 4 << 20 };
/** What is copied to the thread at once. */
const MAX_BATCH_BYTES = 1 << 20;
/** Another client's files may take the place of what was derived, before it is used. */
const MAX_ROUNDS = 3;

type FileBytes = FilesInput["files"][number];

/**
 * The output of a task that needs front matter, which is derived where the thread does not have it.
 * @throws {CollectionsError} service-busy, or as {@linkcode runTask}.
 */
export async function runOverFrontMatter<Input, Output extends object>(
  read: ReadContext,
  task: Task<Input, Output | Missing>,
  input: Input,
  { fileAt, onFailure, blobs, ...options }: {
    readonly subject: string;
    readonly linearIn?: number;
    /** The file that the task means by an index. */
    readonly fileAt: (index: number) => FileRef;
    /** Called for a file that could not be read, once all others are derived. */
    readonly onFailure: (id: string, error: Error) => void;
    /** Files that were read already. */
    readonly blobs?: Blobs;
  },
): Promise<Output> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const output = await runTask(read, task, input, options);
    if (!("missing" in output)) return output;
    const files = new Map(output.missing.map((index) => [fileAt(index).id, fileAt(index)]));
    for (const [id, error] of await deriveFiles(files.values(), read, blobs)) onFailure(id, error);
  }
  throw problem("service-busy", { retryAfterSeconds: RETRY_AFTER_SECONDS });
}

/** Derives the front matter of files. Gives why some could not be read, by id. */
async function deriveFiles(files: Iterable<FileRef>, read: ReadContext, known: Blobs = new Map()) {
  const { source, snapshot, context } = read;
  const repository = repositoryOf(read);
  const failures = new Map<string, Error>();
  for (const chunk of chunksOf(files)) {
    context.signal?.throwIfAborted();
    const isKnown = chunk.every(({ id }) => known.has(id));
    const blobs = isKnown ? known : await source.blobs(snapshot, chunk, context);
    const readable: FileBytes[] = [];
    for (const { id } of chunk) {
      const bytes = blobs.get(id)!;
      if (bytes instanceof Error) failures.set(id, bytes);
      else readable.push({ id, bytes });
    }
    const derive = (files: readonly FileBytes[], areSlow = false, isLong = false) =>
      runTask(read, deriveTask, { repository, files, areSlow }, { isLong });
    await inBatches(readable, read, {
      work: (files, isLong) => derive(files, false, isLong),
      async onResult(file, result) {
        if (result === null) await derive([file], true);
      },
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
  await inBatches(files, read, {
    work: (files, isLong) => runTask(read, renderTask, { repository, files }, { isLong }),
    onResult: ({ id }, result) =>
      onResult(id, result ?? "The file takes longer than 2 s, or too much memory."),
  });
}

/** Works on all files, in batches. The result of a file that takes too long also alone is null. */
async function inBatches<T>(
  files: readonly FileBytes[],
  read: ReadContext,
  { work, onResult }: {
    readonly work: (batch: readonly FileBytes[], isLong: boolean) => Promise<Batch<T>>;
    readonly onResult: (file: FileBytes, result: T | null) => void | Promise<void>;
  },
): Promise<void> {
  let size = files.length;
  let tries = 0;
  for (let at = 0; at < files.length;) {
    read.context.signal?.throwIfAborted();
    let bytes = 0;
    const batch = files.slice(at, at + size)
      .filter((file, index) => (bytes += file.bytes.length) <= MAX_BATCH_BYTES || index === 0);
    const { results, isSlow } = await work(batch, tries === 1).catch((error) => {
      if (!(error instanceof TimeLimitError)) throw error;
      return { results: [], isSlow: true };
    });
    for (const result of results) await onResult(files[at++]!, result);
    if (results.length > 0) tries = 0;
    if (!isSlow) continue;
    // One by one from here on: which of several files ended the thread is not known.
    size = 1;
    if (++tries < 2) continue;
    await onResult(files[at++]!, null);
    tries = 0;
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
