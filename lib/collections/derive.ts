// Derives front matter and HTML from files on the content thread. A file that
// takes too long is tried again alone. If that fails too, the file has neither
// for some minutes.

import type { Batch, FilesInput } from "../content/derive.ts";
import type { Missing } from "../content/derived.ts";
import { derivedKey } from "../content/file_names.ts";
import type { Hits, SearchInput } from "../content/search.ts";
import type { SelectInput } from "../content/select.ts";
import { deriveTask, indexTask, searchTask } from "../content/tasks.ts";
import type { Blobs, FileRef } from "../source/source.ts";
import { type Task, TimeLimitError } from "../thread/compute.ts";
import type { Permit } from "../work/fair_queue.ts";
import {
  type ReadContext,
  repositoryOf,
  runJob,
  runSupplied,
  runTask,
} from "./read_context.ts";

/**
 * Limits for files that are read together. They bound memory and the work
 * between two turns on the thread. Most collections are one chunk.
 */
const CHUNK = { maxFiles: 1_000, maxBytes: 2 << 20 };
/** Limits how much is copied to the thread at once. */
const MAX_BATCH_BYTES = 1 << 20;
/** Files of up to this many bytes together reserve no memory. */
export const FREE_BYTES = 256 << 10;

/**
 * Returns the output of a task that needs front matter. Derives the front
 * matter that the thread does not have.
 * @throws what {@linkcode runSupplied} throws.
 */
export function runOverFrontMatter<Input, Output extends object>(
  read: ReadContext,
  task: Task<Input, Output | Missing>,
  input: Input,
  { fileAt, onFailure = rethrow, blobs, query, ...options }: {
    subject: string;
    linearIn?: number;
    /** Returns the file for an index that the task reported as missing. */
    fileAt: (index: number) => FileRef;
    /**
     * Called for each unreadable file with its `derivedKey` after all others
     * are derived. Throws by default.
     */
    onFailure?: (key: string, error: Error) => void;
    blobs?: Blobs | undefined;
    /**
     * The input if the task is `selectTask`. If it lacks few files, it runs in
     * the turn that derives them.
     */
    query?: SelectInput;
  },
): Promise<Output> {
  const repository = repositoryOf(read);
  const supply = async (
    missing: Missing["missing"],
  ): Promise<Output | void> => {
    const files = missing.values().map(fileAt);
    let output: Output | undefined;
    const work = {
      task: deriveTask,
      common: { repository },
      query: query && { input: query, files: missing.length },
      onOutput({ selected }: Batch<void>) {
        output = selected as Output | undefined;
      },
    };
    const failures = await deriveFrom(files, read, work, blobs);
    for (const [key, error] of failures) onFailure(key, error);
    return output;
  };
  return runSupplied(read, task, input, options, supply);
}

function rethrow(_: string, error: Error): never {
  throw error;
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
  const indexing = { task: indexTask, common: { repository, index, folder } };
  const key = `index ${read.snapshot.commit} ${index}`;
  const subject = folder;
  read.context.recordMiss();
  return await runSupplied(read, searchTask, input, { subject }, (missing) => {
    const work = async (read: ReadContext) => {
      const files = missing.values().map(fileAt);
      const [failure] = await deriveFrom(files, read, indexing);
      if (failure !== undefined) rethrow(...failure);
    };
    return runJob(read, { key, collection: folder, work });
  });
}

/** A task that works on files. `common` is its input besides the files. */
interface FilesWork<Common, T> {
  task: Task<Common & FilesInput, Batch<T>>;
  common: Common & Pick<FilesInput, "repository">;
  /**
   * Sent with the last files if all are read together. `files` is how many
   * they are. The input may be large.
   */
  query?: { input: SelectInput; files: number } | undefined;
  /** Called with each output of the task. */
  onOutput?: (output: Batch<T>) => void;
  /**
   * Files for which this returns true run as long work at once, each alone. The
   * default is none.
   */
  isLong?: (file: { length: number }) => boolean;
}

/**
 * Has the thread keep what it derives from files. Returns why files cannot be
 * read.
 */
async function deriveFrom<Common>(
  files: Iterable<FileRef>,
  read: ReadContext,
  work: FilesWork<Common, void>,
  blobs?: Blobs,
): Promise<ReadonlyMap<string, Error>> {
  const failures = new Map<string, Error>();
  for await (const [key, result] of workOn(files, read, work, blobs)) {
    if (result instanceof Error) failures.set(key, result);
    if (result !== null) continue;
    const files = [{ id: key, bytes: new Uint8Array() }];
    await runTask(read, work.task, { ...work.common, files, areSlow: true });
  }
  return failures;
}

/**
 * Works on files in batches. Reads the files that `known` lacks. Yields a
 * result for the `derivedKey` of each file: an error if the file cannot be
 * read, and null if it takes too long even alone.
 * @throws what {@linkcode runTask} throws.
 */
export async function* workOn<Common, T>(
  files: Iterable<FileRef>,
  read: ReadContext,
  { task, common, query, onOutput, isLong: isLongFile = () => false }:
    FilesWork<Common, T>,
  known?: Blobs,
): AsyncGenerator<readonly [key: string, result: T | Error | null]> {
  const { source, snapshot, context } = read;
  for (const chunk of chunksOf(files)) {
    let rest = chunk;
    let maxBytes = Infinity;
    let maxFiles = chunk.length;
    let tries = 0;
    while (rest.length > 0) {
      context.signal?.throwIfAborted();
      const part = firstOf(rest, maxBytes, ({ size }) => size);
      rest = rest.slice(part.length);
      const isKnown = known !== undefined &&
        part.every(({ id }) => known.has(id));
      // Its bytes stay in memory while it waits for the thread.
      const bytes = part.reduce((sum, { size }) => sum + size, 0);
      using memory = isKnown ? null : await reserveFiles(bytes, read);
      const blobs = isKnown
        ? known
        : await source.blobs(snapshot, part, context);
      const left: FileRef[] = [];
      const readable: { id: string; bytes: Uint8Array; length: number }[] = [];
      for (const file of part) {
        const id = derivedKey(file);
        const bytes = blobs.get(file.id)!;
        if (bytes instanceof Error) yield [id, bytes];
        else {
          left.push(file);
          readable.push({ id, bytes, length: bytes.length });
        }
      }
      for (let at = 0; at < readable.length;) {
        context.signal?.throwIfAborted();
        const files = firstOf(
          readable.slice(at, at + maxFiles),
          MAX_BATCH_BYTES,
          (file) => isLongFile(file) ? Infinity : file.length,
        );
        const isLong = tries === 1 || isLongFile(files[0]!);
        const isRest = part.length === query?.files &&
          at + files.length === readable.length;
        const { results, isSlow } = await runTask(
          read,
          task,
          { ...common, files, query: isRest ? query.input : undefined },
          { isLong },
        ).then((output): Batch<T> => {
          onOutput?.(output);
          return output;
        }, (error) => {
          if (!(error instanceof TimeLimitError)) throw error;
          return { results: [], isSlow: true };
        });
        if (results.length > 0) tries = 0;
        // A for loop would keep the batch in memory while the next one waits.
        while (results.length > 0) yield [readable[at++]!.id, results.shift()!];
        if (isSlow) {
          // It is unknown which file of the batch ended the thread. The next
          // files are tried one by one.
          maxFiles = 1;
          tries++;
          if (isLong) {
            yield [readable[at++]!.id, null];
            tries = 0;
          }
        }
        if (memory === null || !(isSlow || isLong)) continue;
        // Long work over many files takes minutes. The files that wait for it
        // leave their memory to others, and are read again in small parts.
        maxBytes = FREE_BYTES;
        rest = [...left.slice(at), ...rest];
        break;
      }
    }
  }
}

/**
 * Reserves memory for files that the thread works on. Up to `FREE_BYTES`
 * reserve nothing.
 * @throws what {@linkcode FairQueue.acquire} throws.
 */
export async function reserveFiles(
  bytes: number,
  { fileMemory, context: { client, signal } }: ReadContext,
): Promise<Permit | null> {
  if (bytes <= FREE_BYTES) return null;
  return await fileMemory.acquire({ client, weight: bytes, signal });
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
    const size = file.size + file.path.length;
    bytes += size;
    if (
      chunk.length === CHUNK.maxFiles ||
      chunk.length > 0 && bytes > CHUNK.maxBytes
    ) {
      yield chunk;
      chunk = [];
      bytes = size;
    }
    chunk.push(file);
  }
  if (chunk.length > 0) yield chunk;
}

/** Returns the first files of up to `maxBytes` together but at least one. */
function firstOf<File>(
  files: readonly File[],
  maxBytes: number,
  sizeOf: (file: File) => number,
): File[] {
  let bytes = 0;
  return files.filter((file, index) =>
    (bytes += sizeOf(file)) <= maxBytes || index === 0
  );
}
