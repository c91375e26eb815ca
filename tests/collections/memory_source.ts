// A source at the port: one repository of files in memory, whose answers a test can truncate, fail or delay, and which
// counts reads. The counts are of requests, as if nothing were cached.

import { BackgroundJobs } from "../../lib/background_jobs.ts";
import { ObjectCache } from "../../lib/cache/object_cache.ts";
import type { ReadContext } from "../../lib/collections/read_context.ts";
import { FileListBuilder, fileListKind, isListedPath } from "../../lib/source/file_list.ts";
import { blobId } from "../../lib/source/git_object_id.ts";
import type {
  BlobResult,
  FileRef,
  RequestContext,
  Snapshot,
  Source,
  TreeEntry,
} from "../../lib/source/source.ts";
import { MarkdownRenderer } from "../../lib/markdown/renderer.ts";
import { TestClock } from "../test_clock.ts";

interface Folder {
  readonly entries: TreeEntry[];
  readonly folders: Map<string, Folder>;
}

const encoder = new TextEncoder();

/** A source in memory. */
export class MemorySource implements Source {
  readonly counts = { tree: 0, files: 0, blobs: 0 };
  readonly clock = new TestClock();
  readonly objects = new ObjectCache({ maxBytes: 64 << 20, kv: null });
  readonly jobs: BackgroundJobs;
  readonly markdown: MarkdownRenderer;
  /** A recursive listing of more files than this is truncated. */
  truncateAt = Infinity;
  /** Why a file cannot be read, by its path. */
  readonly failures = new Map<string, Error>();
  /** What every read of files waits for. */
  barrier: Promise<void> = Promise.resolve();
  readonly snapshot: Snapshot;
  private readonly trees = new Map<string, Folder>();
  private readonly texts = new Map<string, Uint8Array<ArrayBuffer>>();

  constructor(
    files: Iterable<readonly [path: string, content: string]>,
    options: { branch?: string } = {},
  ) {
    this.jobs = new BackgroundJobs({ clock: this.clock });
    this.markdown = new MarkdownRenderer({ clock: this.clock });
    const root = this.folder("c".repeat(40));
    for (const [path, content] of files) this.add(root, path, encoder.encode(content));
    const ref = { commit: "c".repeat(40), checkedAtMs: 0, freshForMs: 60_000, wantedAtMs: 0 };
    this.snapshot = {
      name: { owner: "octo", repo: "site" },
      branch: options.branch ?? "main",
      commit: ref.commit,
      ref,
      checkedAtMs: 0,
      freshness: "hit",
    };
  }

  /** The context of a request of this client; `misses` counts what it was charged. */
  read(
    client = "192.0.2.1",
    options: Partial<ReadContext> & { signal?: AbortSignal; recordMiss?: () => void } = {},
  ): ReadContext & { readonly misses: () => number } {
    const { signal, recordMiss, ...rest } = options;
    let misses = 0;
    const context: RequestContext = {
      client,
      ...(signal === undefined ? {} : { signal }),
      recordMiss() {
        recordMiss?.();
        misses++;
      },
    };
    return {
      ...{ source: this, snapshot: this.snapshot, context, objects: this.objects, jobs: this.jobs },
      markdown: this.markdown,
      clock: this.clock,
      startedAtMs: this.clock.monotonicMs(),
      limits: { maxItemBytes: 1 << 20, waitMs: 8_000 },
      treeReads: { count: 0 },
      reserveBytes: () => Promise.resolve(),
      ...rest,
      misses: () => misses,
    };
  }

  resolve(): Promise<Snapshot> {
    return Promise.resolve(this.snapshot);
  }

  async tree(_snapshot: Snapshot, treeId: string): Promise<readonly TreeEntry[]> {
    this.counts.tree++;
    await this.barrier;
    return this.trees.get(treeId)!.entries;
  }

  async files(snapshot: Snapshot, treeId: string) {
    const known = this.objects.peek(fileListKind, "octo/site", treeId);
    if (known !== undefined && known !== "truncated") return known;
    this.counts.files++;
    await this.barrier;
    const builder = new FileListBuilder();
    const visit = ({ entries, folders }: Folder, prefix: string) => {
      for (const { name, kind, id, size } of entries) {
        if (!isListedPath(name)) continue;
        if (kind === "folder") visit(folders.get(name)!, `${prefix}${name}/`);
        else if (name.includes("\uFFFD")) builder.omit();
        else builder.add({ path: prefix + name, id, size });
      }
    };
    visit(this.trees.get(treeId)!, "");
    if (builder.length > this.truncateAt) return null;
    const files = builder.build();
    this.objects.set(fileListKind, `${snapshot.name.owner}/${snapshot.name.repo}`, treeId, files);
    return files;
  }

  filesAt(): Promise<null> {
    return Promise.resolve(null);
  }

  async blobs(_snapshot: Snapshot, files: readonly FileRef[], context: RequestContext) {
    if (files.length > 0) context.recordMiss();
    this.counts.blobs += files.length;
    await this.barrier;
    return new Map(files.map(({ path, id }): [string, BlobResult] => [
      id,
      this.failures.get(path) ?? this.texts.get(id)!,
    ]));
  }

  webUrl(_snapshot: Snapshot, path: string): string {
    return `https://github.test/octo/site/blob/main/${path}`;
  }

  private folder(id: string): Folder {
    const folder = { entries: [], folders: new Map() };
    this.trees.set(id, folder);
    return folder;
  }

  private add(root: Folder, path: string, bytes: Uint8Array<ArrayBuffer>): void {
    const segments = path.split("/");
    const name = segments.pop()!;
    let folder = root;
    segments.forEach((segment, depth) => {
      let next = folder.folders.get(segment);
      if (next === undefined) {
        const id = `tree ${segments.slice(0, depth + 1).join("/")}`;
        next = this.folder(id);
        folder.folders.set(segment, next);
        folder.entries.push({ name: segment, kind: "folder", id, size: 0 });
      }
      folder = next;
    });
    const id = blobId(bytes);
    this.texts.set(id, bytes);
    folder.entries.push({ name, kind: "file", id, size: bytes.length });
  }
}
