// What every use case reads with: one state of one repository for one request.
// Folders are counted. No request reads more than MAX_TREE_READS of them
// however deep they are nested.

import { createHash } from "node:crypto";
import type { ListBody } from "../api/contract.ts";
import type { ObjectCache } from "../cache/object_cache.ts";
import { type Clock, yieldToEventLoop } from "../work/clock.ts";
import {
  collectionTooLarge,
  problem,
  RETRY_AFTER_SECONDS,
  serviceBusy,
} from "../errors.ts";
import {
  type Compute,
  type RunOptions,
  type Task,
  TimeLimitError,
} from "../thread/compute.ts";
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
import { joinBytes } from "../work/bytes.ts";
import type { FairQueue, Permit } from "../work/fair_queue.ts";

/** One request's view of one repository. */
export interface ReadContext {
  readonly source: Source;
  readonly snapshot: Snapshot;
  readonly context: RequestContext;
  readonly objects: ObjectCache;
  readonly jobs: BackgroundJobs;
  readonly compute: Compute;
  readonly clock: Clock;
  /** Base of all URLs in response bodies. */
  readonly baseUrl: string;
  /** When the request came in, by `clock.monotonicMs()`. */
  readonly startedAtMs: number;
  /**
   * `maxItemBytes` is the maximum size of one file. `waitMs` limits how long a
   * request waits for background jobs. It counts from the start of the request.
   */
  readonly limits: { readonly maxItemBytes: number; readonly waitMs: number };
  /** Number of folders that were read. Starts at 0. */
  readonly treeReads: { count: number };
  /** Memory for files that the content thread works on. */
  readonly fileMemory: FairQueue;
  /** Memory for the HTML of pages, while it is read and sent to that thread. */
  readonly htmlMemory: FairQueue;
  /** Memory for responses. */
  readonly responseMemory: FairQueue;
  /** {@linkcode ReservedMemory.reserve} of this request or background job. */
  reserveBytes(bytes: number): Promise<void>;
}

/** What a use case answers. */
export interface Answer {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** JSON if it is absent. */
  readonly contentType?: string;
  /** Set if the answer is this file itself. */
  readonly fileName?: string;
  /** The links of a page of a list. */
  readonly links?: ListBody["links"];
  /** How long the answer may be cached, in ms. Absent if it lasts. */
  readonly cacheForMs?: number;
}

/** Answers up to this size reserve no memory. */
export const SMALL_ANSWER_BYTES = 64 << 10;
/** Maximum folders that one request or one background listing reads. */
const MAX_TREE_READS = 2_000;
/** Another client's work may evict what is kept before it is used. */
export const MAX_ROUNDS = 3;
/**
 * A request waits at least this share of `waitMs` even if earlier work was
 * slow.
 */
const MIN_WAIT_SHARE = 0.1;

/** The memory that one request or background job has reserved. */
export class ReservedMemory implements Disposable {
  #permit: Permit | null = null;
  #bytes = 0;

  constructor(
    private readonly queue: FairQueue,
    private readonly owner: { client: string; signal: AbortSignal },
  ) {}

  /**
   * Reserves memory before a part of the response is made. Does nothing for
   * {@linkcode SMALL_ANSWER_BYTES}, or if as much is reserved already.
   * @throws what {@linkcode FairQueue.acquire} throws.
   */
  readonly reserve = async (bytes: number): Promise<void> => {
    if (bytes <= Math.max(this.#bytes, SMALL_ANSWER_BYTES)) return;
    // Release the memory before waiting for more. Otherwise requests with
    // parts of the memory would wait for each other.
    this.take()?.release();
    this.#permit = await this.queue.acquire({ ...this.owner, weight: bytes });
    this.#bytes = bytes;
  };

  /** Returns what is reserved. The caller releases it. */
  take(): Permit | null {
    const permit = this.#permit;
    [this.#permit, this.#bytes] = [null, 0];
    return permit;
  }

  [Symbol.dispose](): void {
    this.take()?.release();
  }
}

/** Returns the repository's key in caches. */
export function repositoryOf(read: ReadContext): string {
  return repositoryKey(read.snapshot.name);
}

/**
 * Returns a JSON body with the repository, other fields and the ends of other
 * JSON objects.
 */
export function bodyOf(
  { snapshot: { name, branch, commit } }: ReadContext,
  { warnings, ...fields }: { warnings: readonly string[]; since?: string },
  ...ends: (string | Uint8Array)[]
): Promise<Uint8Array<ArrayBuffer>> {
  const repository = { ...name, branch, commit };
  const head = JSON.stringify({
    ...{ repository, ...fields },
    warnings: warnings[0] && warnings,
  });
  return joinBytes([head.slice(0, -1), ",", ...ends]);
}

/**
 * Counts one folder.
 * @throws {CollectionsError} collection-too-large over the limit.
 */
export function countTreeRead(read: ReadContext, path: string): void {
  if (++read.treeReads.count > MAX_TREE_READS) {
    throw collectionTooLarge(
      path,
      `it takes more than ${MAX_TREE_READS} requests`,
    );
  }
}

/**
 * Returns the entries of a folder. `path` is for errors.
 * @throws {CollectionsError} collection-too-large or a source failure.
 */
export async function readTree(
  read: ReadContext,
  treeId: string,
  path: string,
) {
  countTreeRead(read, path);
  // The folders may all be in memory. Then nothing else yields.
  await yieldToEventLoop(read.context.signal);
  return await read.source.tree(read.snapshot, treeId, read.context);
}

type FoundEntry = Omit<TreeEntry, "name">;

/**
 * Returns the entry at a path, or null. The empty path is the root. Reads only
 * the folders along the path. A file list in memory saves the folders below its
 * own.
 * @throws {CollectionsError} what {@linkcode readTree} throws.
 */
export async function findEntry(
  path: string,
  read: ReadContext,
): Promise<FoundEntry | null> {
  let entry: FoundEntry = { kind: "folder", id: read.snapshot.commit, size: 0 };
  for (let remaining = path; remaining !== "";) {
    if (entry.kind !== "folder") return null;
    const list = read.objects.peek(fileListKind, repositoryOf(read), entry.id);
    const index = list instanceof FileList ? list.indexOf(remaining) : -1;
    if (index >= 0) return { kind: "file", ...(list as FileList).at(index) };
    const name = remaining.split("/", 1)[0]!;
    remaining = remaining.slice(name.length + 1);
    const next = (await readTree(read, entry.id, path)).find(name);
    if (next === undefined) return null;
    entry = next;
  }
  return entry;
}

/**
 * Returns the bytes of one file.
 * @throws {CollectionsError} if the source fails.
 */
export async function readBlob(
  file: FileRef,
  { source, snapshot, context }: ReadContext,
) {
  const result = (await source.blobs(snapshot, [file], context)).get(file.id)!;
  if (result instanceof Error) throw result;
  return result;
}

type TaskOptions = Pick<RunOptions, "isLong" | "linearIn"> & {
  subject?: string;
};

/**
 * Returns the output of a task. The client is charged for its time. See
 * `RunOptions` for `linearIn` and `isLong`. Errors name the work by `subject`.
 * @throws {CollectionsError} query-too-expensive if work on a `subject` takes
 * too long.
 * @throws what {@linkcode Compute.run} throws.
 */
export async function runTask<Input, Output>(
  read: ReadContext,
  task: Task<Input, Output>,
  input: Input,
  { subject, ...options }: TaskOptions = {},
): Promise<Output> {
  const repository = repositoryOf(read);
  try {
    return await read.compute.run(task, input, {
      ...read.context,
      ...options,
      repository,
    });
  } catch (error) {
    if (subject === undefined || !(error instanceof TimeLimitError)) {
      throw error;
    }
    throw problem("query-too-expensive", { collection: subject });
  }
}

/**
 * Returns the output of a task whose thread may lack some of what it needs.
 * `supply` gets what an output names as missing and gives it to the thread. It
 * may return the next output itself.
 * @throws {CollectionsError} service-busy if it is evicted again and again.
 * @throws what {@linkcode runTask} throws.
 */
export async function runSupplied<Input, Output extends object, Missing>(
  read: ReadContext,
  task: Task<Input, Output | { missing: Missing }>,
  input: Input,
  options: TaskOptions,
  supply: (missing: Missing) => Promise<Output | void>,
): Promise<Output> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const output = await runTask(read, task, input, options);
    if (!("missing" in output)) return output;
    const supplied = await supply(output.missing);
    if (supplied !== undefined) return supplied;
  }
  throw serviceBusy("Cannot keep what was derived: it is forgotten at once");
}

/**
 * Returns the result of a background job. The job reads with a context and
 * memory of its own. The request that starts it is charged. Requests for the
 * same `key` within the repository share the job. Errors name `collection`.
 * @throws {CollectionsError} collection-not-ready if the job takes longer than
 * the request may wait. Also too-many-requests.
 */
export async function runJob<T>(
  read: ReadContext,
  { key, collection, work }: {
    key: string;
    collection: string;
    work: (read: ReadContext) => Promise<T>;
  },
): Promise<T> {
  const {
    clock,
    context: { charge, client, recordMiss, signal },
    limits: { waitMs },
    startedAtMs,
  } = read;
  const repository = repositoryOf(read);
  const remainingMs = waitMs - (clock.monotonicMs() - startedAtMs);
  const result = await read.jobs.run({
    client,
    signal,
    // Configurations and parameters can make keys very long.
    key: createHash("sha256").update(`${repository} ${key}`).digest("hex"),
    waitMs: Math.max(remainingMs, waitMs * MIN_WAIT_SHARE),
    onStart: () => recordMiss(),
    work: async (signal) => {
      // The request may end before the job.
      const owner = { client, signal };
      using reserved = new ReservedMemory(read.responseMemory, owner);
      return await work({
        ...read,
        context: backgroundContext(client, signal, charge),
        // The request itself has read the folder.
        treeReads: { count: 1 },
        reserveBytes: reserved.reserve,
      });
    },
  });
  if (result === "running") {
    // The log must not contain the path.
    throw problem("collection-not-ready", {
      collection,
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    }, { message: 'Cannot finish "job": it is still running' });
  }
  return result;
}
