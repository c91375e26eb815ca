// A real Git repository for tests, made fast with the git command. What it says (ids, sizes,
// listings) comes from git itself and is what the service's answers are compared with.

import { firstCommitSeconds, runGit, runGitText } from "./git_command.ts";
import { fastImport, type GitContent } from "./git_fast_import.ts";
import { GitObjects } from "./git_objects.ts";

/** Files by path, as a record or, for very many, as an iterable of pairs. */
export type GitFiles =
  | Record<string, GitContent>
  | Iterable<readonly [path: string, content: GitContent]>;

/** One line of `git ls-tree -r -l`; `size` is null for a submodule. */
export interface ListedEntry {
  mode: string;
  type: string;
  oid: string;
  size: number | null;
  path: string;
}

/** A Git repository on disk. `await using` removes the ones that a test made. */
export class GitRepository implements AsyncDisposable {
  /** The repository's folder (the Git directory itself if it is bare). */
  readonly dir: string;
  /** The objects, as a server reads them. */
  readonly objects: GitObjects;
  #temporary: boolean;
  #commits = 0;
  #hasCommits = false;

  constructor(dir: string, options: { temporary?: boolean } = {}) {
    this.dir = dir;
    this.objects = new GitObjects(dir);
    this.#temporary = options.temporary ?? false;
  }

  /**
   * Commits changes on top of a branch (made if there is none) and gives the commit's id. `null`
   * removes a path. A checked-out branch's working tree follows.
   *
   * @throws {Error} on a repository that was there before the test.
   */
  async commit(
    changes: Record<string, GitContent | null> | Iterable<readonly [string, GitContent | null]>,
    options: { branch?: string; message?: string } = {},
  ): Promise<string> {
    if (!this.#temporary) throw new Error(`Cannot commit to "${this.dir}": no test made it`);
    const branch = options.branch ?? "main";
    const commit = await fastImport(this.dir, {
      branch,
      parent: await this.resolve(`refs/heads/${branch}`),
      message: options.message ?? "Change files",
      seconds: firstCommitSeconds + 60 * this.#commits++,
      changes: Symbol.iterator in changes
        ? changes as Iterable<readonly [string, GitContent | null]>
        : Object.entries(changes),
    });
    if (await this.git("rev-parse", "--is-bare-repository") === "false") {
      await this.git("reset", "--quiet", "--hard");
    }
    return commit;
  }

  /** Points a branch, new or not, at a revision (`HEAD` if none is named). */
  async branch(name: string, at = "HEAD"): Promise<void> {
    await this.git("update-ref", `refs/heads/${name}`, `${at}^{commit}`);
  }

  /** Removes a branch. */
  async deleteBranch(name: string): Promise<void> {
    await this.git("update-ref", "-d", `refs/heads/${name}`);
  }

  /** Makes a tag, lightweight unless `annotated`. */
  async tag(name: string, options: { annotated?: boolean; at?: string } = {}): Promise<void> {
    const kind = options.annotated ? ["--annotate", "--message", name] : [];
    await this.git("tag", "--force", ...kind, name, options.at ?? "HEAD");
  }

  /** The commit id that a branch is at. @throws {Error} if there is no such branch. */
  async head(branch = "main"): Promise<string> {
    return await this.git("rev-parse", "--verify", `refs/heads/${branch}`);
  }

  /** The id that a revision names, or null. */
  async resolve(revision: string): Promise<string | null> {
    const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", revision];
    return await this.git(...args).catch(() => null);
  }

  /** Every file below a folder, as `git ls-tree -r -l` lists them, with whole paths. */
  async lsTree(ref: string, path = ""): Promise<ListedEntry[]> {
    const folder = path === "" ? [] : ["--", `${path}/`];
    const args = ["ls-tree", "-r", "-l", "-z", "--full-tree", ref, ...folder];
    const output = new TextDecoder().decode(await runGit(args, { dir: this.dir }));
    return output.split("\0").filter((line) => line !== "").map((line) => {
      const [, mode, type, oid, size, path] = /^(\d+) (\w+) (\w+) +(\d+|-)\t(.*)$/s.exec(line)!;
      return {
        mode: mode!,
        type: type!,
        oid: oid!,
        size: size === "-" ? null : Number(size),
        path: path!,
      };
    });
  }

  /** Whether there is no commit yet. */
  async isEmpty(): Promise<boolean> {
    if (this.#hasCommits) return false;
    this.#hasCommits = await this.git("for-each-ref", "--count=1") !== "" ||
      await this.resolve("HEAD") !== null;
    return !this.#hasCommits;
  }

  /** The bytes of a blob, by id or as `revision:path`. */
  async blob(revision: string): Promise<Uint8Array<ArrayBuffer>> {
    return await runGit(["cat-file", "blob", revision], { dir: this.dir });
  }

  /** Runs any other git command here and gives its output as text. */
  async git(...args: string[]): Promise<string> {
    return await runGitText(args, { dir: this.dir });
  }

  /** Ends the reading process and removes the folder if it was made for a test. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.objects.stop();
    if (this.#temporary) await Deno.remove(this.dir, { recursive: true });
  }
}

/**
 * Makes a Git repository in a temporary folder with one commit on `branch`, or with none if there
 * are no files. Bare unless `bare: false`, which also checks the files out.
 */
export async function makeGitRepository(
  files: GitFiles = {},
  options: { branch?: string; bare?: boolean; message?: string } = {},
): Promise<GitRepository> {
  const dir = await Deno.makeTempDir({ prefix: "git_repository_" });
  const repository = new GitRepository(dir, { temporary: true });
  const branch = options.branch ?? "main";
  const bare = options.bare === false ? [] : ["--bare"];
  await repository.git("init", "--quiet", `--initial-branch=${branch}`, ...bare);
  if (Symbol.iterator in files || Object.keys(files).length > 0) {
    await repository.commit(files, { branch, message: options.message ?? "Add files" });
  }
  return repository;
}
