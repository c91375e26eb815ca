// A Source that caches another Source and sends it as few requests as possible.
// ref_checks.ts decides when refs are checked. Objects are requested once per
// id. A cached object is reached only through a snapshot. Its ref was therefore
// checked in time.

import { createHash } from "node:crypto";
import pLimit from "p-limit";
import type { ObjectCache, ObjectKind } from "../cache/object_cache.ts";
import { type CollectionsError, isSourceFailure } from "../errors.ts";
import { yieldToEventLoop } from "../work/clock.ts";
import { SingleFlight } from "../work/single_flight.ts";
import { fileListKind } from "./file_list.ts";
import { RefChecks } from "./ref_checks.ts";
import { SourceRetries } from "./source_retries.ts";
import {
  backgroundContext,
  blobKind,
  type BlobResult,
  type Blobs,
  BYTES_PER_PROCESSOR_MS,
  DEFAULT_BRANCH,
  type FileHistory,
  type FileRef,
  repositoryKey,
  type RequestContext,
  type Snapshot,
  type Source,
} from "./source.ts";
import { treeKind } from "./tree_entries.ts";

type RefChecksOptions = ConstructorParameters<typeof RefChecks>[0];
type CachedSourceOptions = Omit<RefChecksOptions, "source" | "retries"> & {
  objects: ObjectCache;
};

/** Measured processor time of one value that is read from the store. */
const STORE_READ_MS = 0.5;

/** Histories by branch, path and blob id. They hold for one commit. */
const historyKind: ObjectKind<{ history: FileHistory; commit: string }> = {
  name: "history",
  sizeOf: ({ history }) => 2 * JSON.stringify(history).length,
};
/** First parents of commits. */
const parentKind: ObjectKind<string> = {
  name: "parent",
  sizeOf: ({ length }) => length,
};
/** Files that are requested together. The answer is kept at once. */
const HISTORY_FILES = 100;
const HISTORIES_AT_ONCE = 2;
/**
 * A file's share of the quota, charged as processor time. A request for 50
 * files costs as much as a miss.
 */
const HISTORY_MS = 2;

/** Caches the responses of another source. */
export class CachedSource implements Source {
  readonly refs: RefChecks;
  private readonly retries: SourceRetries;
  private readonly flights = new SingleFlight<unknown>();
  /** The flight that reads a file, by the file's key. */
  private readonly blobFlights = new Map<string, string>();
  private blobFlightCount = 0;

  constructor(
    private readonly source: Source,
    private readonly options: CachedSourceOptions,
  ) {
    this.retries = new SourceRetries(options.clock);
    this.refs = new RefChecks({ ...options, source, retries: this.retries });
  }

  readonly resolve: Source["resolve"] = ({ owner, repo, branch }, context) =>
    this.refs.resolve(
      { owner, repo, branch: branch ?? DEFAULT_BRANCH },
      context,
    );

  readonly at: Source["at"] = (...of) => this.refs.at(...of);

  readonly tree: Source["tree"] = (snapshot, id, context) =>
    this.read(
      treeKind,
      snapshot,
      id,
      context,
      (shared) => this.source.tree(snapshot, id, shared),
    );

  readonly files: Source["files"] = async (snapshot, id, context) => {
    const files = await this.read(
      fileListKind,
      snapshot,
      id,
      context,
      async (shared) =>
        await this.source.files(snapshot, id, shared) ?? "truncated",
    );
    return files === "truncated" ? null : files;
  };

  readonly filesAt: Source["filesAt"] = async (snapshot, path, context) => {
    const repository = repositoryKey(snapshot.name);
    const key = `${repository}\nfiles at ${snapshot.commit} ${path}`;
    // The folders above the path may be cached unless the repository is new.
    if (!this.flights.has(key) && snapshot.freshness !== "new") return null;
    return await this.share(key, context, async (shared) => {
      const folder = await this.source.filesAt(snapshot, path, shared);
      if (folder !== null) {
        this.store(
          fileListKind,
          repository,
          folder.treeId,
          folder.files,
          shared,
        );
      }
      return folder;
    });
  };

  readonly blobs: Source["blobs"] = async (snapshot, files, context) => {
    const wanted = new Map(files.map((file) => [file.id, file]));
    const results = new Map<string, BlobResult>(
      await this.options.objects.getMany(
        blobKind,
        repositoryKey(snapshot.name),
        [...wanted.keys()],
        lookupOf(snapshot, context),
      ),
    );
    context.signal?.throwIfAborted();
    for (;;) {
      const missing = [...wanted.values()].filter(({ id }) => !results.has(id));
      if (missing.length === 0) return results;
      const read = await this.readBlobs(snapshot, missing, context);
      for (const { id } of missing) {
        if (read.has(id)) results.set(id, read.get(id)!);
      }
    }
  };

  /**
   * Reads files that are not cached. A file that another request reads now is
   * not read again. It is missing in the result if the limit of that request's
   * client is used up.
   */
  private async readBlobs(
    snapshot: Snapshot,
    files: readonly FileRef[],
    context: RequestContext,
  ): Promise<Blobs> {
    const repository = repositoryKey(snapshot.name);
    const results = new Map<string, BlobResult>();
    const joined = new Set<string>();
    const started = new Map<string, FileRef>();
    for (const file of files) {
      const key = `${repository}\nblob ${file.id}`;
      const flight = this.blobFlights.get(key);
      if (flight !== undefined && this.flights.has(flight)) {
        joined.add(flight);
        continue;
      }
      const failure = this.retries.objectFailure(repository, key);
      if (failure === null) started.set(key, file);
      else results.set(file.id, failure);
    }
    if (joined.size + started.size === 0) return results;
    context.recordMiss({ joined: started.size === 0 });

    const ownFlight = `blobs ${++this.blobFlightCount}`;
    const { client, charge } = context;
    const read = async (signal: AbortSignal): Promise<Blobs> => {
      const shared = backgroundContext(client, signal, charge);
      try {
        const refs = [...started.values()];
        const blobs = await this.source.blobs(snapshot, refs, shared);
        for (const [key, { id }] of started) {
          const result = blobs.get(id)!;
          this.retries.objectOutcome(key, result);
          if (result instanceof Error) continue;
          this.store(blobKind, repository, id, result, shared);
        }
        return blobs;
      } finally {
        for (const key of started.keys()) {
          if (this.blobFlights.get(key) !== ownFlight) continue;
          this.blobFlights.delete(key);
        }
      }
    };
    const run = (flight: string, work: typeof read) =>
      this.flights.run(flight, work, context.signal) as Promise<Blobs>;
    const flights = [...joined].map((flight) =>
      run(flight, () => Promise.resolve(new Map()))
    );
    if (started.size > 0) {
      for (const key of started.keys()) this.blobFlights.set(key, ownFlight);
      flights.push(run(ownFlight, read));
    }
    for (const blobs of await Promise.all(flights)) {
      for (const { id } of files) {
        const result = blobs.get(id);
        if (result !== undefined) results.set(id, result);
      }
    }
    return results;
  }

  /**
   * A history is cached for one commit. It also holds for a commit whose first
   * parent is that one if the blob id is the same: nothing lies between them.
   * After more than one commit all files are requested again because one commit
   * may have changed a file and another may have changed it back.
   */
  readonly history: Source["history"] = async (
    snapshot,
    { files, withCreated },
    context,
  ) => {
    const { objects } = this.options;
    const { commit, branch } = snapshot;
    const repository = repositoryKey(snapshot.name);
    const changes = new Map<string, FileHistory | Error>();
    const idOf = ({ path, id }: FileRef) =>
      `${branch} ${withCreated} ${id} ${path}`;
    const find = (file: FileRef) =>
      objects.peek(historyKind, repository, idOf(file));
    const missing = () => files.filter(({ path }) => !changes.has(path));
    /** Takes what holds for a commit. */
    const take = async (at: string | null) => {
      for (const file of missing()) {
        // Paths may be long.
        await yieldToEventLoop(context.signal);
        const known = find(file);
        if (known?.commit !== at) continue;
        known.commit = commit;
        changes.set(file.path, known.history);
      }
    };
    let parent = objects.peek(parentKind, repository, commit) ?? null;
    let failure: CollectionsError | null = null;
    const request = async (files: readonly FileRef[]) => {
      const ids = JSON.stringify(files.map(idOf));
      const hash = createHash("sha256").update(ids).digest("hex");
      const key = `${repository}\nhistory ${commit} ${hash}`;
      try {
        const read = await this.attempt(repository, key, context, (shared) => {
          shared.charge(HISTORY_MS * files.length);
          const query = { files, withCreated };
          return this.source.history(snapshot, query, shared);
        });
        parent = read.parent ?? parent;
        for (const file of files) {
          const history = read.changes.get(file.path)!;
          changes.set(file.path, history);
          if (history instanceof Error) continue;
          objects.set(historyKind, repository, idOf(file), { history, commit });
        }
      } catch (error) {
        if (!isSourceFailure(error)) throw error;
        failure = error;
      }
    };
    const requestAll = async (files: readonly FileRef[]) => {
      // Only the parent is requested if there are no files.
      const length = Math.ceil(files.length / HISTORY_FILES) || 1;
      const starts = Array.from({ length }, (_, n) => n * HISTORY_FILES);
      await pLimit(HISTORIES_AT_ONCE).map(starts, async (start) => {
        if (failure !== null) return;
        await request(files.slice(start, start + HISTORY_FILES));
      });
    };

    await take(commit);
    if (missing().length === 0) return { changes, parent };
    if (parent === null) {
      const unknown: FileRef[] = [];
      for (const file of missing()) {
        await yieldToEventLoop(context.signal);
        if (!find(file)) unknown.push(file);
      }
      await requestAll(unknown);
    }
    if (parent !== null) objects.set(parentKind, repository, commit, parent);
    await take(parent);
    if (missing().length > 0) await requestAll(missing());
    if (failure !== null && changes.size === 0) throw failure;
    for (const { path } of missing()) changes.set(path, failure!);
    return { changes, parent };
  };

  readonly webUrl: Source["webUrl"] = (snapshot, path) =>
    this.source.webUrl(snapshot, path);

  /**
   * Returns an object from the caches or from the source.
   * @throws what `fetch` throws.
   */
  private async read<T>(
    kind: ObjectKind<T>,
    snapshot: Snapshot,
    id: string,
    context: RequestContext,
    fetch: (shared: RequestContext) => Promise<T>,
  ): Promise<T> {
    const repository = repositoryKey(snapshot.name);
    const lookup = lookupOf(snapshot, context);
    const cached = await this.options.objects.getMany(
      kind,
      repository,
      [id],
      lookup,
    );
    if (cached.has(id)) return cached.get(id)!;
    const key = `${repository}\n${kind.name} ${id}`;
    return await this.attempt(repository, key, context, async (shared) => {
      const value = await fetch(shared);
      this.store(kind, repository, id, value, shared);
      return value;
    });
  }

  /**
   * Shares a request to the source under a key. It is not repeated soon if it
   * failed.
   * @throws what `fetch` throws.
   */
  private async attempt<T>(
    repository: string,
    key: string,
    context: RequestContext,
    fetch: (shared: RequestContext) => Promise<T>,
  ): Promise<T> {
    const failure = this.retries.objectFailure(repository, key);
    if (failure !== null && !this.flights.has(key)) throw failure;
    return await this.share(key, context, async (shared) => {
      const outcome = await fetch(shared).catch((error: Error) => error);
      this.retries.objectOutcome(key, outcome);
      if (outcome instanceof Error) throw outcome;
      return outcome;
    });
  }

  /**
   * Shares work between the requests for a key and records their misses. No
   * single client's signal aborts it.
   */
  private share<T>(
    key: string,
    request: RequestContext,
    work: (shared: RequestContext) => Promise<T>,
  ): Promise<T> {
    request.recordMiss({ joined: this.flights.has(key) });
    const { client, charge } = request;
    const run = (signal: AbortSignal) =>
      work(backgroundContext(client, signal, charge));
    return this.flights.run(key, run, request.signal) as Promise<T>;
  }

  private store<T>(
    kind: ObjectKind<T>,
    repository: string,
    id: string,
    value: T,
    context: RequestContext,
  ) {
    context.charge(kind.sizeOf(value) / BYTES_PER_PROCESSOR_MS);
    this.options.objects.set(kind, repository, id, value);
  }
}

const lookupOf = ({ freshness }: Snapshot, context: RequestContext) => ({
  // A repository that was unknown a moment ago has no objects in the store. Its
  // first request does not search there.
  memoryOnly: freshness === "new",
  onStoreRead: (count: number) => context.charge(count * STORE_READ_MS),
});
