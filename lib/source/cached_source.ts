// A Source over another one that sends it as few requests as possible: refs by the rule of ref_checks.ts, objects once
// per id. Cached objects are reached only through a snapshot, and so through a ref that was checked in time.

import type { ObjectCache, ObjectKind } from "../cache/object_cache.ts";
import { SingleFlight } from "../single_flight.ts";
import { FailureBackoff } from "./failure_backoff.ts";
import { fileListKind } from "./file_list.ts";
import { hasId } from "./git_object_id.ts";
import { RefChecks } from "./ref_checks.ts";
import {
  backgroundContext,
  type BlobResult,
  type Blobs,
  BYTES_PER_PROCESSOR_MS,
  DEFAULT_BRANCH,
  type FileRef,
  repositoryKey,
  type RequestContext,
  type Snapshot,
  type Source,
} from "./source.ts";
import { treeKind } from "./tree_entries.ts";

type RefChecksOptions = ConstructorParameters<typeof RefChecks>[0];
type CachedSourceOptions = Omit<RefChecksOptions, "source" | "backoff"> & { objects: ObjectCache };

/** Processor time of one value that is read from the store, measured. */
const STORE_READ_MS = 0.5;

const blobKind: ObjectKind<Uint8Array<ArrayBuffer>> = {
  name: "blob",
  sizeOf: (bytes) => bytes.length,
  codec: { encode: (bytes) => bytes, decode: (bytes, id) => hasId(bytes, id) ? bytes : null },
};

/** Caches what another source answers. */
export class CachedSource implements Source {
  readonly refs: RefChecks;
  private readonly backoff: FailureBackoff;
  private readonly flights = new SingleFlight<unknown>();

  constructor(private readonly source: Source, private readonly options: CachedSourceOptions) {
    this.backoff = new FailureBackoff(options.clock);
    this.refs = new RefChecks({ ...options, source, backoff: this.backoff });
  }

  readonly resolve: Source["resolve"] = ({ owner, repo, branch }, context) =>
    this.refs.resolve({ owner, repo, branch: branch ?? DEFAULT_BRANCH }, context);

  readonly tree: Source["tree"] = (snapshot, id, context) =>
    this.read(
      treeKind,
      { snapshot, id, context },
      (shared) => this.source.tree(snapshot, id, shared),
    );

  readonly files: Source["files"] = async (snapshot, id, context) => {
    const files = await this.read(
      fileListKind,
      { snapshot, id, context },
      async (shared) => await this.source.files(snapshot, id, shared) ?? "truncated",
    );
    return files === "truncated" ? null : files;
  };

  readonly filesAt: Source["filesAt"] = async (snapshot, path, context) => {
    const repository = repositoryKey(snapshot.name);
    const key = `${repository}\nfiles at ${snapshot.commit} ${path}`;
    const joined = this.flights.has(key);
    // The folders above the path may be cached already, except in a repository that was not known.
    if (!joined && snapshot.freshness !== "miss") return null;
    context.recordMiss({ joined });
    return await this.share(key, context, async (shared) => {
      const folder = await this.source.filesAt(snapshot, path, shared);
      if (folder !== null) {
        shared.charge(fileListKind.sizeOf(folder.files) / BYTES_PER_PROCESSOR_MS);
        this.options.objects.set(fileListKind, repository, folder.treeId, folder.files);
      }
      return folder;
    });
  };

  readonly blobs: Source["blobs"] = async (snapshot, files, context) => {
    const repository = repositoryKey(snapshot.name);
    const wanted = new Map(files.map((file) => [file.id, file]));
    const ids = [...wanted.keys()];
    const results = new Map<string, BlobResult>(
      await this.options.objects.getMany(blobKind, repository, ids, lookupOf(snapshot, context)),
    );
    const joined: string[] = [];
    const started: FileRef[] = [];
    for (const [id, file] of wanted) {
      if (results.has(id)) continue;
      const failure = this.backoff.objectFailure(repository, id);
      if (this.flights.has(`${repository}\nblob ${id}`)) joined.push(id);
      else if (failure !== null) results.set(id, failure);
      else started.push(file);
    }
    context.signal?.throwIfAborted();
    if (started.length + joined.length > 0) context.recordMiss({ joined: started.length === 0 });
    const readBlob = this.batch(snapshot, started, context);
    await Promise.all([...started.map(({ id }) => id), ...joined].map(async (id) => {
      const read = (signal: AbortSignal) => readBlob(id, signal);
      const result = await this.flights.run(`${repository}\nblob ${id}`, read, context.signal);
      results.set(id, result as BlobResult);
    }));
    return results;
  };

  readonly webUrl: Source["webUrl"] = (snapshot, path) => this.source.webUrl(snapshot, path);

  /** Reads files together, when the first is read; the request is aborted when the reads of all are. */
  private batch(snapshot: Snapshot, files: readonly FileRef[], request: RequestContext) {
    const repository = repositoryKey(snapshot.name);
    const controller = new AbortController();
    const context = sharedContext(request, controller.signal);
    let left = files.length;
    const leave = () => {
      if (--left === 0) controller.abort();
    };
    let reading: Promise<Blobs> | undefined;
    return async (id: string, signal: AbortSignal): Promise<BlobResult> => {
      if (signal.aborted) leave();
      signal.addEventListener("abort", leave);
      reading ??= this.source.blobs(snapshot, files, context);
      const result = (await reading).get(id)!;
      const isFailure = result instanceof Error;
      this.backoff.objectOutcome(repository, id, isFailure ? result : null);
      if (isFailure) return result;
      context.charge(result.length / BYTES_PER_PROCESSOR_MS);
      this.options.objects.set(blobKind, repository, id, result);
      return result;
    };
  }

  /** An object from the caches, or from the source. @throws what `fetch` throws. */
  private async read<T>(
    kind: ObjectKind<T>,
    { snapshot, id, context }: { snapshot: Snapshot; id: string; context: RequestContext },
    fetch: (shared: RequestContext) => Promise<T>,
  ): Promise<T> {
    const { objects } = this.options;
    const repository = repositoryKey(snapshot.name);
    const lookup = lookupOf(snapshot, context);
    const cached = (await objects.getMany(kind, repository, [id], lookup)).get(id);
    if (cached !== undefined) return cached;
    const object = `${kind.name} ${id}`;
    const key = `${repository}\n${object}`;
    const joined = this.flights.has(key);
    const failure = this.backoff.objectFailure(repository, object);
    if (failure !== null && !joined) throw failure;
    context.recordMiss({ joined });
    return await this.share(key, context, async (shared) => {
      try {
        const value = await fetch(shared);
        this.backoff.objectOutcome(repository, object, null);
        shared.charge(kind.sizeOf(value) / BYTES_PER_PROCESSOR_MS);
        objects.set(kind, repository, id, value);
        return value;
      } catch (error) {
        this.backoff.objectOutcome(repository, object, error);
        throw error;
      }
    });
  }

  /** Shares work between the requests for a key; it has no client's signal. */
  private share<T>(
    key: string,
    request: RequestContext,
    work: (shared: RequestContext) => Promise<T>,
  ): Promise<T> {
    const run = (signal: AbortSignal) => work(sharedContext(request, signal));
    return this.flights.run(key, run, request.signal) as Promise<T>;
  }
}

/** The context of work that a request starts and others may share; the one that starts it is charged. */
const sharedContext = (request: RequestContext, signal: AbortSignal) =>
  backgroundContext(request.client, signal, (processorMs) => request.charge(processorMs));

const lookupOf = ({ freshness }: Snapshot, context: RequestContext) => ({
  // A repository that no process knew a moment ago has no objects in the store: its first request skips those reads.
  memoryOnly: freshness === "miss",
  onStoreRead: (count: number) => context.charge(count * STORE_READ_MS),
});
