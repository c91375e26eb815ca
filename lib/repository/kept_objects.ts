// Trees and blobs by repository and object id: what was read once is not asked for again while it is kept, and an id
// alone opens no door, since every key begins with the repository that a snapshot was resolved for.

import type { Cache, CacheKey } from "../cache/cache.ts";
import { SingleFlight } from "../single_flight.ts";
import { isSourceFailure, sourceFailed } from "../errors.ts";
import type { Backoff } from "./backoff.ts";
import type { BlobResult, Caller, FileRef } from "./repository.ts";

/** What {@linkcode KeptObjects} stands on. */
export interface KeptObjectsOptions {
  /** All tiers. */
  readonly cache: Cache;
  /** The fastest of them, which takes what the others do not. */
  readonly memory: Cache;
  readonly backoff: Backoff;
}

/** How an object is had and held. `decode` gives undefined for bytes that it cannot read. */
export interface ObjectKind<T> {
  readonly fetch: (caller: Caller) => Promise<T>;
  readonly encode: (value: T) => Uint8Array<ArrayBuffer>;
  readonly decode: (bytes: Uint8Array<ArrayBuffer>) => T | undefined;
}

/** How long an object outlives the process that read it, in ms. */
const STORED_FOR_MS = 24 * 3_600_000;
/** Larger blobs are not worth a place on disk. */
const MAX_STORED_BLOB_BYTES = 1 << 20;

/** Reads objects through the caches, one flight an object. */
export class KeptObjects {
  private readonly objectFlights = new SingleFlight<unknown>();
  private readonly batchFlights = new SingleFlight<ReadonlyMap<string, BlobResult>>();
  /** Which batch is bringing a blob, by the blob's key. */
  private readonly batchOf = new Map<string, string>();
  private batches = 0;

  constructor(private readonly options: KeptObjectsOptions) {}

  /** What is kept under a key, or undefined. */
  async kept<T>(key: CacheKey, decode: ObjectKind<T>["decode"]): Promise<T | undefined> {
    const entry = await this.options.cache.get(key);
    return entry === null ? undefined : decode(entry.value);
  }

  /** Keeps a value that was put together here. */
  async keep(key: CacheKey, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const { cache, memory } = this.options;
    if (key[0] !== "blob" || bytes.length <= MAX_STORED_BLOB_BYTES) {
      await cache.set(key, bytes, { ttlMs: STORED_FOR_MS });
    }
    // An object is its id: in memory only want of room ends its life.
    await memory.set(key, bytes, { ttlMs: Infinity });
  }

  /** The object under a key; the second part of a key is the repository. @throws what `fetch` throws. */
  async read<T>(key: CacheKey, caller: Caller, kind: ObjectKind<T>): Promise<T> {
    const kept = await this.kept(key, kind.decode);
    if (kept !== undefined) return kept;
    const flight = key.join("\n");
    this.requireReachable(key[1]!, flight);
    caller.miss({ joined: this.objectFlights.has(flight) });
    return await this.objectFlights.run(flight, async (signal) => {
      // Another flight may have ended between the look above and this one.
      const meanwhile = await this.kept(key, kind.decode);
      if (meanwhile !== undefined) return meanwhile;
      try {
        const value = await kind.fetch({ signal, miss() {} });
        this.options.backoff.succeeded(flight);
        await this.keep(key, kind.encode(value));
        return value;
      } catch (error) {
        this.noteFailure(flight, error);
        throw error;
      }
    }, caller) as T;
  }

  /** Blobs by id, those that are not kept by one call of `fetch`; see {@linkcode Repository.readBlobs}. */
  async readBlobs(
    repository: string,
    files: readonly FileRef[],
    { caller, fetch }: {
      caller: Caller;
      fetch: (
        files: readonly FileRef[],
        caller: Caller,
      ) => Promise<ReadonlyMap<string, BlobResult>>;
    },
  ): Promise<ReadonlyMap<string, BlobResult>> {
    const results = new Map<string, BlobResult>();
    const missing: FileRef[] = [];
    await Promise.all(files.map(async (file) => {
      const bytes = await this.kept(["blob", repository, file.id], (bytes) => bytes);
      if (bytes !== undefined) results.set(file.id, bytes);
      else missing.push(file);
    }));
    if (missing.length === 0) return results;

    const began: FileRef[] = [];
    const joined = new Map<string, FileRef[]>();
    for (const file of missing.toSorted((a, b) => a.path < b.path ? -1 : 1)) {
      const key = `${repository}\n${file.id}`;
      const failure = this.options.backoff.remembered(repository) ??
        this.options.backoff.remembered(key);
      const batch = this.batchOf.get(key);
      if (failure !== null) results.set(file.id, failure);
      // A batch that all have left is over, though its request may still wait for its turn to be dropped.
      else if (batch === undefined || !this.batchFlights.has(batch)) began.push(file);
      else joined.set(batch, [...joined.get(batch) ?? [], file]);
    }
    caller.signal?.throwIfAborted();
    if (began.length + joined.size > 0) caller.miss({ joined: began.length === 0 });
    if (began.length > 0) joined.set(this.begin(repository, began), began);

    await Promise.all([...joined].map(async ([batch, files]) => {
      const read = await this.batchFlights.run(batch, async (signal) => {
        try {
          const found = await fetch(files, { signal, miss() {} });
          await this.keepBlobs(repository, found);
          return found;
        } finally {
          for (const { id } of files) {
            const key = `${repository}\n${id}`;
            if (this.batchOf.get(key) === batch) this.batchOf.delete(key);
          }
        }
      }, caller);
      for (const { id } of files) {
        results.set(id, read.get(id) ?? sourceFailed(`Cannot read "${id}": no answer held it`));
      }
    }));
    return results;
  }

  private begin(repository: string, files: readonly FileRef[]): string {
    const batch = `batch ${++this.batches}`;
    for (const { id } of files) this.batchOf.set(`${repository}\n${id}`, batch);
    return batch;
  }

  private async keepBlobs(
    repository: string,
    found: ReadonlyMap<string, BlobResult>,
  ): Promise<void> {
    for (const [id, result] of found) {
      const key = `${repository}\n${id}`;
      if (result instanceof Error) this.noteFailure(key, result);
      else await this.keep(["blob", repository, id], result);
    }
  }

  private requireReachable(repository: string, key: string): void {
    const failure = this.options.backoff.remembered(repository) ??
      this.options.backoff.remembered(key);
    if (failure !== null) throw failure;
  }

  private noteFailure(key: string, error: unknown): void {
    if (isSourceFailure(error) && error.code !== "source-rate-limited") {
      this.options.backoff.failed(key, error);
    }
  }
}
