// Reads all files of a repository at the double, as a page with contents does, and compares them with git's output.

import { assertEquals, assertInstanceOf } from "@std/assert";
import type { FileRef, Source } from "../../lib/source/source.ts";
import type { GithubDouble } from "../github/github_double.ts";
import type { GitFiles, GitRepository } from "../github/git_repository.ts";
import { serveRepository } from "../github/served_repository.ts";
import { TestClock } from "../test_clock.ts";
import { openGitHub, type OpenOptions, uncharged } from "./open_github.ts";

/** See {@linkcode openBlobs}. */
export interface BlobReader extends AsyncDisposable {
  readonly gh: GithubDouble;
  readonly git: GitRepository;
  readonly clock: TestClock;
  readonly source: Source;
  readonly files: readonly FileRef[];
  /** Reads these files, or all; counts begin anew. Gives the codes of errors by path, after comparing all bytes. */
  read(files?: readonly FileRef[]): Promise<Record<string, string>>;
}

/** A double with these files as `octo/site`, and a reader of it without caches. */
export async function openBlobs(
  contents: GitFiles,
  options: Omit<OpenOptions, "clock"> = {},
): Promise<BlobReader> {
  const clock = new TestClock();
  const served = await serveRepository(contents, { now: clock.now });
  const { gh, repository: git } = served;
  for (const token of options.tokens ?? []) gh.addToken(token);
  const source = openGitHub(gh, { clock, ...options });
  const files = (await git.lsTree("HEAD")).map(({ path, oid, size }) => ({
    path,
    id: oid,
    size: size!,
  }));
  const query = { owner: "octo", repo: "site", branch: null };
  const snapshot = await source.resolve(query, uncharged);
  return {
    gh,
    git,
    clock,
    source,
    files,
    async read(wanted = files) {
      gh.resetCounts();
      const blobs = await source.blobs(snapshot, wanted, uncharged);
      const errors: Record<string, string> = {};
      for (const { path, id } of wanted) {
        const result = blobs.get(id);
        if (result instanceof Error) {
          errors[path] = "code" in result ? String(result.code) : result.name;
        } else {
          assertInstanceOf(result, Uint8Array, path);
          assertEquals(result, await git.blob(id), path);
        }
      }
      return errors;
    },
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

/** Small text files, each different. */
export function textFiles(count: number, bytes = 40): [path: string, content: string][] {
  return Array.from({ length: count }, (_, index) => {
    const text = `# Post ${index}\n`;
    const path = `posts/post-${String(index).padStart(3, "0")}.md`;
    return [path, text + ".".repeat(Math.max(0, bytes - text.length))];
  });
}
