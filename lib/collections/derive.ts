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
    readonly blobs?: Blobs;
  },
): Promise<Output> {
  const repository = repositoryOf(read);
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const output = await runTask(read, task, input, options);
    if (!("missing" in output)) return output;
    const failures: [id: string, error: Error][] = [];
    await workOn(output.missing.map(fileAt), read, {
      blobs,
      work: (files, isLong) => runTask(read, deriveTask, { repository, files }, { isLong }),
      async onResult(id, result) {
        if (result instanceof Error) failures.push([id, result]);
        if (result !== null) return;
        const files = [{ id, bytes: new Uint8Array() }];
        await runTask(read, deriveTask, { repository, files, areSlow: true });
      },
    });
    for (const [id, error] of failures) onFailure(id, error);
  }
  throw problem("service-busy", { retryAfterSeconds: RETRY_AFTER_SECONDS });
}

/**
 * Renders Markdown files. `onResult` gets a `Rendered` as JSON, a sentence why a file has none, or why it cannot be read.
 * @throws as {@linkcode runTask}.
 */
export async function renderFiles(
  files: readonly FileRef[],
  read: ReadContext,
  { blobs, onResult }: {
    readonly blobs: Blobs;
    readonly onResult: (id: string, result: Uint8Array | string | Error) => void;
  },
): Promise<void> {
  const repository = repositoryOf(read);
  await workOn(files, read, {
    blobs,
    work: (files, isLong) => runTask(read, renderTask, { repository, files }, { isLong }),
    onResult: (id, result) =>
      onResult(id, result ?? "The file takes longer than 2 s, or too much memory."),
  });
}

/** Reads files where `blobs` lacks them, and works on them in batches. */
async function workOn<T>(
  files: readonly FileRef[],
  read: ReadContext,
  { blobs: known, work, onResult }: {
    readonly blobs: Blobs | undefined;
    readonly work: (batch: FilesInput["files"], isLong: boolean) => Promise<Batch<T>>;
    /** Gets an error for a file that cannot be read, null for one that takes too long also alone. */
    readonly onResult: (id: string, result: T | Error | null) => void | Promise<void>;
  },
): Promise<void> {
  const { source, snapshot, context } = read;
  const unique = [...new Map(files.map((file) => [file.id, file])).values()];
  for (let next = 0; next < unique.length;) {
    const chunk = fitting(unique.slice(next, next + CHUNK.maxFiles), CHUNK.maxBytes, "size");
    next += chunk.length;
    context.signal?.throwIfAborted();
    const isKnown = known !== undefined && chunk.every(({ id }) => known.has(id));
    const blobs = isKnown ? known : await source.blobs(snapshot, chunk, context);
    const readable: { id: string; bytes: Uint8Array; length: number }[] = [];
    for (const { id } of chunk) {
      const bytes = blobs.get(id)!;
      if (bytes instanceof Error) await onResult(id, bytes);
      else readable.push({ id, bytes, length: bytes.length });
    }
    let size = readable.length;
    let tries = 0;
    for (let at = 0; at < readable.length;) {
      context.signal?.throwIfAborted();
      const batch = fitting(readable.slice(at, at + size), MAX_BATCH_BYTES, "length");
      const { results, isSlow } = await work(batch, tries === 1).catch((error) => {
        if (!(error instanceof TimeLimitError)) throw error;
        return { results: [], isSlow: true };
      });
      for (const result of results) await onResult(readable[at++]!.id, result);
      if (results.length > 0) tries = 0;
      if (!isSlow) continue;
      // One by one from here on: which of several files ended the thread is not known.
      size = 1;
      if (++tries < 2) continue;
      await onResult(readable[at++]!.id, null);
      tries = 0;
    }
  }
}

/** The first files that have so many bytes together, one at least. */
function fitting<Key extends string, File extends Readonly<Record<Key, number>>>(
  files: readonly File[],
  maxBytes: number,
  key: Key,
): File[] {
  let bytes = 0;
  return files.filter((file, index) => (bytes += file[key]) <= maxBytes || index === 0);
}
