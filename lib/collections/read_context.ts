// What every use case reads with: one state of one repository, for one request. Reads of folders are counted, so that no
// request causes more than MAX_TREE_READS of them however deep a repository's folders are.

import type { ObjectCache } from "../cache/object_cache.ts";
import { type Clock, yieldToEventLoop } from "../work/clock.ts";
import { problem, RETRY_AFTER_SECONDS } from "../errors.ts";
import { type Compute, type RunOptions, type Task, TimeLimitError } from "../thread/compute.ts";
import { FileList, fileListKind } from "../source/file_list.ts";
import {
  backgroundContext,
  type FileRef,
  repositoryKey,
  type RequestContext,
  type Snapshot,
  type Source,
} from "../source/source.ts";
import type { TreeEntry } from "../source/tree_entries.ts";
import type { BackgroundJobs } from "../work/background_jobs.ts";
import type { Permit } from "../work/fair_queue.ts";

/** One request's view of one repository. */
export interface ReadContext {
  readonly source: Source;
  readonly snapshot: Snapshot;
  readonly context: RequestContext;
  readonly objects: ObjectCache;
  readonly jobs: BackgroundJobs;
  readonly compute: Compute;
  readonly clock: Clock;
  /** What addresses in bodies begin with. */
  readonly baseUrl: string;
  /** When the request came in, by `clock.monotonicMs()`. */
  readonly startedAtMs: number;
  /** Size cap of one file, in bytes; and for how long a request waits for background jobs, counted from its start, in ms. */
  readonly limits: { readonly maxItemBytes: number; readonly waitMs: number };
  /** Folders that were read so far; begins at 0. */
  readonly treeReads: { count: number };
  /**
   * Reserves memory before a part of the response is made, in place of what was reserved before.
   * @throws what {@linkcode FairQueue.acquire} throws.
   */
  reserveBytes(bytes: number): Promise<Permit>;
}

/** Folders that one request, or one background listing, may read. */
export const MAX_TREE_READS = 2_000;
const TREES_PER_YIELD = 16;
/** A request waits for this share of `waitMs` at least, however long the work before took. */
const MIN_WAIT_SHARE = 0.1;

/** The repository's key in caches. */
export function repositoryOf(read: ReadContext): string {
  return repositoryKey(read.snapshot.name);
}

/** Counts one read of a folder. @throws {CollectionsError} collection-too-large past the bound. */
export function countTreeRead(read: ReadContext, path: string): void {
  if (++read.treeReads.count > MAX_TREE_READS) {
    const why = `it takes more than ${MAX_TREE_READS} requests`;
    throw problem("collection-too-large", { collection: path, why });
  }
}

/** The entries of a folder; `path` is for errors. @throws {CollectionsError} collection-too-large, or a source failure. */
export async function readTree(read: ReadContext, treeId: string, path: string) {
  countTreeRead(read, path);
  // The folders may all be in memory.
  if (read.treeReads.count % TREES_PER_YIELD === 0) await yieldToEventLoop(read.context.signal);
  return await read.source.tree(read.snapshot, treeId, read.context);
}

type FoundEntry = Omit<TreeEntry, "name">;

/**
 * The entry at `path` ("" is the root), or null, reading only the folders on the way. A file list in memory saves those
 * below its own. @throws {CollectionsError} as {@linkcode readTree}.
 */
export async function findEntry(path: string, read: ReadContext): Promise<FoundEntry | null> {
  let entry: FoundEntry = { kind: "folder", id: read.snapshot.commit, size: 0 };
  for (let rest = path; rest !== "";) {
    if (entry.kind !== "folder") return null;
    const list = read.objects.peek(fileListKind, repositoryOf(read), entry.id);
    const index = list instanceof FileList ? list.indexOf(rest) : -1;
    if (index >= 0) return { kind: "file", ...(list as FileList).at(index) };
    const name = rest.split("/", 1)[0]!;
    rest = rest.slice(name.length + 1);
    const next = (await readTree(read, entry.id, path)).find(name);
    if (next === undefined) return null;
    entry = next;
  }
  return entry;
}

/** The bytes of one file. @throws {CollectionsError} a source failure. */
export async function readBlob(file: FileRef, { source, snapshot, context }: ReadContext) {
  const result = (await source.blobs(snapshot, [file], context)).get(file.id)!;
  if (result instanceof Error) throw result;
  return result;
}

/**
 * The output of a task, whose time the request's client is charged for. `linearIn` and `isLong` as in `RunOptions`.
 * @throws {CollectionsError} query-too-expensive for work on a `subject`, as errors name it, that takes too long.
 * @throws as {@linkcode Compute.run}.
 */
export async function runTask<Input, Output>(
  read: ReadContext,
  task: Task<Input, Output>,
  input: Input,
  { subject, ...options }: Pick<RunOptions, "isLong" | "linearIn"> & { readonly subject?: string } =
    {},
): Promise<Output> {
  const { compute, context } = read;
  const { client, signal } = context;
  const charge = (processorMs: number) => context.charge(processorMs);
  const repository = repositoryOf(read);
  try {
    return await compute.run(task, input, { ...options, client, signal, charge, repository });
  } catch (error) {
    if (subject === undefined || !(error instanceof TimeLimitError)) throw error;
    throw problem("query-too-expensive", { collection: subject });
  }
}

/**
 * The result of a background job, which reads with a context of its own; the request that starts it is charged. Requests
 * for the same `key` within the repository share it; `collection` names in errors what it prepares.
 * @throws {CollectionsError} collection-not-ready when it takes longer than the request may wait; too-many-requests.
 */
export async function runJob<T>(
  read: ReadContext,
  { key, collection, work }: {
    readonly key: string;
    readonly collection: string;
    readonly work: (read: ReadContext) => Promise<T>;
  },
): Promise<T> {
  const { clock, context: { client, signal }, limits: { waitMs }, startedAtMs } = read;
  const repository = repositoryOf(read);
  const leftMs = waitMs - (clock.monotonicMs() - startedAtMs);
  const result = await read.jobs.run({
    client,
    signal,
    key: `${repository} ${key}`,
    waitMs: Math.max(leftMs, waitMs * MIN_WAIT_SHARE),
    onStart: () => read.context.recordMiss(),
    // The request has read the folder itself.
    work: (signal) => {
      const charge = (processorMs: number) => read.context.charge(processorMs);
      const context = backgroundContext(client, signal, charge);
      return work({ ...read, context, treeReads: { count: 1 } });
    },
  });
  if (result === "running") {
    throw problem("collection-not-ready", { collection, retryAfterSeconds: RETRY_AFTER_SECONDS });
  }
  return result;
}
