// A folder of files to serve, for the tests of local folders.

import { dirname } from "@std/path";
import { assertEquals, assertRejects } from "@std/assert";
import { CollectionsError, type ProblemCode } from "../../lib/errors.ts";
import type { FileList } from "../../lib/source/file_list.ts";
import { blobId } from "../../lib/source/git_object_id.ts";
import { LocalSource } from "../../lib/source/local/local_source.ts";
import {
  backgroundContext,
  type RefQuery,
  type RequestContext,
  type Snapshot,
} from "../../lib/source/source.ts";
import { GitRepository } from "../github/git_repository.ts";
import { TestClock } from "../test_clock.ts";
import { WatchedCompute } from "../thread/watched_compute.ts";

/** A client that must not be charged: local reads cost no quota. */
export const uncharged: RequestContext = {
  ...backgroundContext("test"),
  recordMiss() {
    throw new Error("Cannot read a local folder: a miss was recorded");
  },
  charge() {},
};

/** The folder `blog` below a root, and a source over that root. */
export class SampleFolder implements AsyncDisposable {
  readonly dir: string;
  readonly source: LocalSource;
  /** A minute ahead, so that what was written just now counts as old. */
  readonly clock = new TestClock(Date.now() + 60_000);

  readonly compute = new WatchedCompute();

  constructor(readonly root: string, maxEntries: number) {
    this.dir = `${root}/blog`;
    this.source = new LocalSource({
      root,
      compute: this.compute,
      clock: this.clock,
      maxEntries,
    });
  }

  /** The git command in this folder, which need not be a checkout. */
  get git(): GitRepository {
    return new GitRepository(this.dir);
  }

  async write(path: string, content: string): Promise<void> {
    await Deno.mkdir(dirname(`${this.dir}/${path}`), { recursive: true });
    await Deno.writeTextFile(`${this.dir}/${path}`, content);
  }

  resolve(query: Partial<RefQuery> = {}): Promise<Snapshot> {
    return this.source.resolve({
      owner: "local",
      repo: "blog",
      branch: null,
      ...query,
    }, uncharged);
  }

  /** Resolves and expects an error; gives its sentence. */
  async refuses(
    code: ProblemCode,
    query: Partial<RefQuery> = {},
  ): Promise<string> {
    const error = await assertRejects(
      () => this.resolve(query),
      CollectionsError,
    );
    assertEquals(error.code, code, JSON.stringify(query));
    return error.detail;
  }

  async list(
    snapshot: Snapshot,
    context: RequestContext = uncharged,
  ): Promise<FileList> {
    return await this.source.files(snapshot, snapshot.commit, context);
  }

  /** The paths of all files that are listed. */
  async paths(snapshot: Snapshot): Promise<string[]> {
    const list = await this.list(snapshot);
    return Array.from(
      { length: list.length },
      (_, index) => list.pathAt(index),
    );
  }

  /** Name and kind of the root's entries. */
  async rootEntries(snapshot: Snapshot): Promise<[string, string][]> {
    const entries = await this.source.tree(
      snapshot,
      snapshot.commit,
      uncharged,
    );
    return [...entries].map(({ name, kind }) => [name, kind]);
  }

  /**
   * What is read at a path by the id of this content: its text, or the error.
   */
  async read(
    snapshot: Snapshot,
    path: string,
    content: string,
  ): Promise<string | Error> {
    const id = blobId(new TextEncoder().encode(content));
    const blobs = await this.source.blobs(
      snapshot,
      [{ path, id, size: 0 }],
      uncharged,
    );
    const result = blobs.get(id)!;
    return result instanceof Error ? result : new TextDecoder().decode(result);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.root, { recursive: true });
  }
}

/** Makes a {@linkcode SampleFolder} of files by path. */
export async function makeSampleFolder(
  files: Record<string, string>,
  maxEntries = 1_000,
): Promise<SampleFolder> {
  const folder = new SampleFolder(
    await Deno.makeTempDir({ prefix: "sample_folder_" }),
    maxEntries,
  );
  await Deno.mkdir(folder.dir);
  for (const [path, content] of Object.entries(files)) {
    await folder.write(path, content);
  }
  return folder;
}
