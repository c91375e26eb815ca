// A folder of files to serve, for the tests of local folders. Its clock is a minute ahead of the file system's, so that
// what a test wrote just now counts as written long ago.

import { dirname } from "@std/path";
import { assertEquals, assertRejects } from "@std/assert";
import { CollectionsError, type ErrorCode } from "../../lib/errors.ts";
import { FolderRepository } from "../../lib/repository/folder_repository.ts";
import type { BlobResult, RefQuestion, Snapshot } from "../../lib/repository/repository.ts";
import { GitRepository } from "../github/git_repository.ts";
import { freeCaller } from "./repository_suite.ts";

/** The folder `blog` below a root, and a repository over that root. */
export class SampleFolder implements AsyncDisposable {
  readonly dir: string;
  readonly repository: FolderRepository;
  #nowMs = Date.now() + 60_000;

  constructor(readonly root: string, bounds: { maxEntries?: number; maxDepth?: number }) {
    this.dir = `${root}/blog`;
    this.repository = new FolderRepository({ root, now: this.now, ...bounds });
  }

  readonly now = () => this.#nowMs;

  /** Lets time pass. */
  advance(ms: number): void {
    this.#nowMs += ms;
  }

  /** The git command in this folder, which need not be a checkout. */
  get git(): GitRepository {
    return new GitRepository(this.dir);
  }

  async write(path: string, content: string): Promise<void> {
    await Deno.mkdir(dirname(`${this.dir}/${path}`), { recursive: true });
    await Deno.writeTextFile(`${this.dir}/${path}`, content);
  }

  resolve(branch: string | null = null): Promise<Snapshot> {
    return this.ask({ branch });
  }

  ask(question: Partial<RefQuestion>): Promise<Snapshot> {
    const asked = { owner: "local", repo: "blog", branch: null, ...question };
    return this.repository.resolve(asked, freeCaller);
  }

  /** Asks and expects an error; gives its sentence. */
  async refuses(code: ErrorCode, question: Partial<RefQuestion> = {}): Promise<string> {
    const error = await assertRejects(() => this.ask(question), CollectionsError);
    assertEquals(error.code, code, JSON.stringify(question));
    return error.detail;
  }

  /** The paths of all files that are listed. */
  async paths(snapshot: Snapshot): Promise<string[]> {
    const { rootTreeId } = snapshot;
    const list = await this.repository.readTreeRecursive(snapshot, rootTreeId, freeCaller);
    return Array.from({ length: list.length }, (_, index) => list.pathAt(index));
  }

  /** Name and kind of the root's entries. */
  async rootEntries(snapshot: Snapshot): Promise<[string, string][]> {
    const { rootTreeId } = snapshot;
    const entries = await this.repository.readTree(snapshot, rootTreeId, freeCaller);
    return entries.map(({ name, kind }) => [name, kind]);
  }

  async readBlob(
    snapshot: Snapshot,
    file: { path: string; id: string },
  ): Promise<BlobResult | undefined> {
    const files = [{ ...file, size: 0 }];
    return (await this.repository.readBlobs(snapshot, files, freeCaller)).get(file.id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.root, { recursive: true });
  }
}

/** Makes a {@linkcode SampleFolder} of files by path. */
export async function makeSampleFolder(
  files: Record<string, string>,
  bounds: { maxEntries?: number; maxDepth?: number } = {},
): Promise<SampleFolder> {
  const folder = new SampleFolder(await Deno.makeTempDir({ prefix: "sample_folder_" }), bounds);
  await Deno.mkdir(folder.dir);
  for (const [path, content] of Object.entries(files)) await folder.write(path, content);
  return folder;
}
