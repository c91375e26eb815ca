// A source at the port: one repository of files in memory, whose answers a test
// can truncate or fail, and which counts reads. The counts are of requests, as
// if nothing were cached.

import { ObjectCache } from "../../lib/cache/object_cache.ts";
import type { ReadContext } from "../../lib/collections/read_context.ts";
import {
  type FileList,
  FileListBuilder,
  fileListKind,
  isListedPath,
} from "../../lib/source/file_list.ts";
import { blobId } from "../../lib/source/git_object_id.ts";
import {
  backgroundContext,
  type FileRef,
  type RequestContext,
  type Snapshot,
  type Source,
} from "../../lib/source/source.ts";
import { TreeEntries, type TreeEntry } from "../../lib/source/tree_entries.ts";
import type { Compute } from "../../lib/thread/compute.ts";
import { BackgroundJobs } from "../../lib/work/background_jobs.ts";
import { FairQueue } from "../../lib/work/fair_queue.ts";
import { WatchedCompute } from "../thread/watched_compute.ts";
import { TestClock } from "../test_clock.ts";

const COMMIT = "c".repeat(40);

/** A source in memory. */
export class MemorySource implements Source {
  readonly counts = { tree: 0, files: 0, blobs: 0 };
  readonly clock = new TestClock();
  readonly objects = new ObjectCache({ maxBytes: 64 << 20, kv: null });
  readonly jobs = new BackgroundJobs(this.clock);
  private readonly memory = new FairQueue({
    capacity: Infinity,
    maxWaiting: 0,
    maxWaitMs: 0,
    clock: this.clock,
  });
  /** Where tasks run; a test may put another one in its place. */
  compute: Compute = new WatchedCompute();
  /** A recursive listing of more files than this is truncated. */
  truncateAt = Infinity;
  /** Why a file cannot be read, by its path. */
  readonly failures = new Map<string, Error>();
  readonly snapshot: Snapshot = {
    name: { owner: "octo", repo: "site" },
    branch: "main",
    commit: COMMIT,
    ref: { commit: COMMIT, checkedAtMs: 0, freshForMs: 60_000, wantedAtMs: 0 },
    checkedAtMs: 0,
    freshness: "fresh",
    validators: "",
  };
  /** The folders that were named, by tree id. */
  private readonly folders = new Map<string, string>();
  private readonly contents: ReadonlyMap<
    string,
    { id: string; bytes: Uint8Array<ArrayBuffer> }
  >;

  constructor(files: readonly (readonly [path: string, content: string])[]) {
    this.contents = new Map(files.map(([path, content]) => {
      const bytes = new TextEncoder().encode(content);
      return [path, { id: blobId(bytes), bytes }];
    }));
  }

  /**
   * The context of a request of this client; `misses` counts what it was
   * charged.
   */
  read(
    client = "192.0.2.1",
    { recordMiss = () => {}, ...rest }: Partial<ReadContext> & {
      recordMiss?: () => void;
    } = {},
  ): ReadContext & { readonly misses: () => number } {
    let misses = 0;
    const { snapshot, objects, jobs, compute, clock } = this;
    return {
      source: this,
      snapshot,
      objects,
      jobs,
      compute,
      clock,
      context: {
        ...backgroundContext(client),
        recordMiss() {
          recordMiss();
          misses++;
        },
        charge() {},
      },
      startedAtMs: clock.monotonicMs(),
      baseUrl: "http://localhost:8000",
      limits: { maxItemBytes: 1 << 20, waitMs: 8_000 },
      treeReads: { count: 0 },
      fileMemory: this.memory,
      htmlMemory: this.memory,
      responseMemory: this.memory,
      reserveBytes: () => Promise.resolve(),
      ...rest,
      misses: () => misses,
    };
  }

  resolve(): Promise<Snapshot> {
    return Promise.resolve(this.snapshot);
  }

  at(): Promise<null> {
    return Promise.resolve(null);
  }

  tree(_snapshot: Snapshot, treeId: string): Promise<TreeEntries> {
    this.counts.tree++;
    const entries = this.below(treeId).map(
      ({ path, inside, id, size }): TreeEntry => {
        const name = inside.split("/", 1)[0]!;
        const folder = path.slice(0, path.length - inside.length + name.length);
        return name === inside
          ? { name, kind: "file", id, size }
          : { name, kind: "folder", id: this.idOf(folder), size: 0 };
      },
    );
    const byName = new Map(entries.map((entry) => [entry.name, entry]));
    return Promise.resolve(TreeEntries.of(byName.values()));
  }

  files(_snapshot: Snapshot, treeId: string): Promise<FileList | null> {
    const known = this.objects.peek(fileListKind, "octo/site", treeId);
    if (known !== undefined && known !== "truncated") {
      return Promise.resolve(known);
    }
    this.counts.files++;
    const builder = new FileListBuilder();
    for (const { inside, id, size } of this.below(treeId)) {
      if (!isListedPath(inside)) continue;
      if (inside.includes("\uFFFD")) builder.omit();
      else builder.add({ path: inside, id, size });
    }
    if (builder.length > this.truncateAt) return Promise.resolve(null);
    const files = builder.build();
    this.objects.set(fileListKind, "octo/site", treeId, files);
    return Promise.resolve(files);
  }

  filesAt(): Promise<null> {
    return Promise.resolve(null);
  }

  blobs(
    _snapshot: Snapshot,
    files: readonly FileRef[],
    context: RequestContext,
  ) {
    if (files.length > 0) context.recordMiss();
    this.counts.blobs += files.length;
    const read = ({ path }: FileRef) =>
      this.failures.get(path) ?? this.contents.get(path)!.bytes;
    return Promise.resolve(new Map(files.map((file) => [file.id, read(file)])));
  }

  history() {
    return Promise.resolve({ changes: new Map(), parent: null });
  }

  webUrl(_snapshot: Snapshot, path: string): string {
    return `https://github.test/octo/site/blob/main/${path}`;
  }

  private idOf(folder: string): string {
    const id = blobId(new TextEncoder().encode(folder));
    this.folders.set(id, folder);
    return id;
  }

  /** The files below a folder, `inside` from there. */
  private below(treeId: string) {
    const prefix = treeId === COMMIT ? "" : `${this.folders.get(treeId)}/`;
    return [...this.contents].filter(([path]) => path.startsWith(prefix))
      .map(([path, { id, bytes }]) => (
        { path, inside: path.slice(prefix.length), id, size: bytes.length }
      ));
  }
}
