// What every use case reads with: one state of one repository, for one request. Requests to the source are counted, so
// that no request causes more than MAX_TREE_READS of them however deep a repository's folders are.

import type { BackgroundJobs } from "../background_jobs.ts";
import type { ObjectCache } from "../cache/object_cache.ts";
import type { Clock } from "../clock.ts";
import { collectionNotReady, collectionTooLarge } from "../errors.ts";
import type { MarkdownRenderer } from "../markdown/renderer.ts";
import {
  repositoryKey,
  type RequestContext,
  type Snapshot,
  type Source,
  type TreeEntry,
} from "../source/source.ts";

/** One request's view of one repository. A re-resolved ref gives a new one: `{ ...read, snapshot }`. */
export interface ReadContext {
  readonly source: Source;
  readonly snapshot: Snapshot;
  readonly context: RequestContext;
  readonly objects: ObjectCache;
  readonly jobs: BackgroundJobs;
  readonly markdown: Pick<MarkdownRenderer, "render">;
  readonly clock: Clock;
  /** When the request came in, by `clock.monotonicMs()`. */
  readonly startedAtMs: number;
  readonly limits: ReadLimits;
  /** Folders that were read so far; begins at 0. */
  readonly treeReads: { count: number };
  /**
   * Reserves memory for a large response before it is built.
   * @throws {CollectionsError} service-busy when too much is reserved for too long.
   */
  reserveBytes(bytes: number): Promise<void>;
}

/** Bounds from the settings. */
export interface ReadLimits {
  /** Size cap of one file, in bytes. */
  readonly maxItemBytes: number;
  /** For how long a request waits for background jobs, counted from its start, in ms. */
  readonly waitMs: number;
}

/** Folders that one request, or one background listing, may read. */
export const MAX_TREE_READS = 2_000;
/** Smaller responses are not worth a reservation. */
const MIN_RESERVED_BYTES = 1 << 20;
/** A request waits for this share of `waitMs` at least, however long the work before took. */
const MIN_WAIT_SHARE = 0.1;
const RETRY_AFTER_SECONDS = 5;

/** The repository's key in caches. */
export function repositoryOf(read: ReadContext): string {
  return repositoryKey(read.snapshot.name);
}

/** Counts one read of a folder. @throws {CollectionsError} collection-too-large past the bound. */
export function countTreeRead(read: ReadContext, path: string): void {
  if (++read.treeReads.count > MAX_TREE_READS) {
    throw collectionTooLarge(path, `it takes more than ${MAX_TREE_READS} requests`);
  }
}

/** The entries of a folder; `path` is for errors. @throws {CollectionsError} collection-too-large, or a source failure. */
export function readTree(
  read: ReadContext,
  treeId: string,
  path: string,
): Promise<readonly TreeEntry[]> {
  countTreeRead(read, path);
  return read.source.tree(read.snapshot, treeId, read.context);
}

/** Reserves memory where a response is large. @throws {CollectionsError} service-busy. */
export async function reserve(read: ReadContext, bytes: number): Promise<void> {
  if (bytes >= MIN_RESERVED_BYTES) await read.reserveBytes(bytes);
}

/** Background work for a request. */
export interface RequestJob<T> {
  /** Names the work within the repository; requests for the same share it. */
  readonly key: string;
  readonly usesSource: boolean;
  /** What the job prepares, as named in errors. */
  readonly collection: string;
  readonly work: (signal: AbortSignal) => Promise<T>;
}

/**
 * The result of a background job; the request that starts it is charged.
 * @throws {CollectionsError} collection-not-ready when it takes longer than the request may wait; too-many-requests;
 * what the work throws.
 */
export async function runJob<T>(read: ReadContext, job: RequestJob<T>): Promise<T> {
  const { clock, context, limits: { waitMs }, startedAtMs } = read;
  const repository = repositoryOf(read);
  const leftMs = waitMs - (clock.monotonicMs() - startedAtMs);
  const result = await read.jobs.run({
    key: `${repository} ${job.key}`,
    client: context.client,
    repository,
    usesSource: job.usesSource,
    signal: context.signal,
    waitMs: Math.max(leftMs, waitMs * MIN_WAIT_SHARE),
    onStart: () => context.recordMiss(),
    work: job.work,
  });
  if (result === "running") throw collectionNotReady(job.collection, RETRY_AFTER_SECONDS);
  return result;
}
