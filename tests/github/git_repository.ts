// A Git repository for tests. It is made in this process; `dir` and `git` give
// it a folder, as Git itself would lay it out, for the git command and for
// other processes. A folder that the git command made is read too, as long as
// Git has not packed it.

import { type GitObject, GitStore, type GitTreeEntry } from "./git_store.ts";

/**
 * The content of a path: a file, an executable file, a symbolic link or a
 * submodule (a commit id).
 */
export type GitContent =
  | string
  | Uint8Array
  | { executable: string | Uint8Array }
  | { symlink: string }
  | { submodule: string };

/**
 * Files by path, as a record or, for very many, as an iterable of pairs; `null`
 * removes one.
 */
export type GitFiles =
  | Record<string, GitContent | null>
  | Iterable<readonly [path: string, content: GitContent | null]>;

/** One line of `git ls-tree -r -l`. */
type ListedEntry = Omit<GitTreeEntry, "name"> & {
  readonly path: string;
};

type Entry = Pick<GitTreeEntry, "mode" | "oid">;

const FIRST_COMMIT_SECONDS = 1_700_000_000;
const [NAME, EMAIL] = ["Test Author", "author@example.org"];

/** What git runs in: nothing of the machine but `PATH`. */
export function gitEnvironment(): Record<string, string> {
  return {
    PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin",
    HOME: "/nonexistent",
    LC_ALL: "C",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_AUTHOR_NAME: NAME,
    GIT_COMMITTER_NAME: NAME,
    EMAIL,
  };
}

/** Author and time of a commit, a minute after the one before. */
function signature(number: number): string {
  return `${NAME} <${EMAIL}> ${FIRST_COMMIT_SECONDS + 60 * number} +0000`;
}

/**
 * A Git repository. `await using` removes the folder of one that was made in
 * memory.
 */
export class GitRepository implements AsyncDisposable {
  /** The objects and refs, as a server reads them. */
  readonly store: GitStore;
  private readonly isTemporary: boolean;
  private commits = 0;

  /**
   * Opens the repository at `folder`, bare or checked out; a new one in memory
   * where it is null.
   */
  constructor(
    private folder: string | null,
    private readonly mainBranch = "main",
  ) {
    this.isTemporary = folder === null;
    this.store = new GitStore(folder);
  }

  /** The repository's folder; one in memory is written into a bare one now. */
  get dir(): string {
    if (this.folder === null) {
      this.folder = Deno.makeTempDirSync({ prefix: "git_repository_" });
      this.store.moveTo(this.folder, this.mainBranch);
    }
    return this.folder;
  }

  /**
   * Commits changes on top of a branch (made if there is none) and gives the
   * commit's id.
   */
  async commit(changes: GitFiles, { branch = "main" } = {}): Promise<string> {
    const parent = this.store.ref(`refs/heads/${branch}`);
    const pairs = Symbol.iterator in changes
      ? changes
      : Object.entries(changes);
    const changed = new Map(
      pairs as Iterable<readonly [string, GitContent | null]>,
    );
    const isChanged = (path: string): boolean =>
      changed.has(path) ||
      path.includes("/") && isChanged(path.slice(0, path.lastIndexOf("/")));
    const files: [path: string, entry: Entry][] = [];
    for (
      const { path, ...entry } of parent === null
        ? []
        : await this.lsTree(parent)
    ) {
      if (!isChanged(path)) files.push([path, entry]);
    }
    for (const [path, content] of changed) {
      if (content !== null) files.push([path, this.writeContent(content)]);
    }
    const author = signature(this.commits++);
    const commit = `tree ${this.writeFolder(files)}\n` +
      (parent === null ? "" : `parent ${parent}\n`) +
      `author ${author}\ncommitter ${author}\n\nChange files`;
    const oid = this.store.write("commit", commit);
    this.store.setRef(`refs/heads/${branch}`, oid);
    return oid;
  }

  /** Points a branch, new or not, at a revision. */
  branch(name: string, at = this.mainBranch): Promise<void> {
    return Promise.try(() =>
      this.store.setRef(`refs/heads/${name}`, this.required(at).oid)
    );
  }

  /** Removes a branch. */
  deleteBranch(name: string): Promise<void> {
    return Promise.try(() => this.store.setRef(`refs/heads/${name}`, null));
  }

  /** Makes a tag, lightweight unless `annotated`. */
  tag(
    name: string,
    { annotated = false, at = this.mainBranch } = {},
  ): Promise<void> {
    return Promise.try(() => {
      const { oid } = this.required(at);
      const tag = `object ${oid}\ntype commit\ntag ${name}\ntagger ${
        signature(0)
      }\n\n${name}\n`;
      this.store.setRef(
        `refs/tags/${name}`,
        annotated ? this.store.write("tag", tag) : oid,
      );
    });
  }

  /**
   * The commit id that a branch is at. @throws {Error} if there is no such
   * branch.
   */
  head(branch = "main"): Promise<string> {
    return Promise.try(() => this.required(`refs/heads/${branch}`).oid);
  }

  /** The id that a revision names, or null. */
  resolve(revision: string): Promise<string | null> {
    return Promise.resolve(this.find(revision)?.oid ?? null);
  }

  /** The bytes of a blob, by id or as `revision:path`. */
  blob(revision: string): Promise<Uint8Array<ArrayBuffer>> {
    return Promise.try(() => this.required(revision).bytes);
  }

  /**
   * Every file below a folder, as `git ls-tree -r -l` lists them, with whole
   * paths; submodules have no size.
   */
  lsTree(revision: string, path = ""): Promise<ListedEntry[]> {
    const listed: ListedEntry[] = [];
    const visit = (oid: string, prefix: string) => {
      for (const { name, ...entry } of this.store.tree(oid) ?? []) {
        if (entry.type === "tree") visit(entry.oid, `${prefix}${name}/`);
        else listed.push({ ...entry, path: prefix + name });
      }
    };
    const folder = this.find(`${revision}:${path}`);
    if (folder !== null) visit(folder.oid, path === "" ? "" : `${path}/`);
    return Promise.resolve(listed);
  }

  /**
   * Runs a git command here and gives its output, trimmed. @throws {Error} with
   * git's own message when it fails.
   */
  async git(...args: string[]): Promise<string> {
    const options = {
      args,
      cwd: this.dir,
      clearEnv: true,
      env: gitEnvironment(),
    };
    const result = await new Deno.Command("git", { ...options, stdin: "null" })
      .output();
    const [output, error] = [result.stdout, result.stderr]
      .map((bytes) => new TextDecoder().decode(bytes).trim());
    if (result.success) return output!;
    throw new Error(
      `Cannot run "git ${args[0]}": ${error || `status ${result.code}`}`,
    );
  }

  /**
   * What a revision names, or null: an id, a full ref name, a branch, a tag or
   * `HEAD`, alone or followed by `^{commit}`, `^{tree}` or `:path`.
   */
  find(revision: string): GitObject | null {
    const [, base = "", end = ""] = /^([^^:]+)(\^.*|:.*)?$/s.exec(revision) ??
      [];
    const oid = /^[0-9a-f]{40}$/.test(base) ? base : this.refNamed(base);
    if (oid === null || end === "") return this.store.read(oid ?? "");
    if (end === "^{commit}") {
      return this.store.read(this.peel(oid, "commit") ?? "");
    }
    let at = this.peel(oid, "tree");
    const segments = end === "^{tree}" ? [] : end.slice(1).split("/");
    for (const segment of segments.filter((segment) => segment !== "")) {
      const entries = at === null ? null : this.store.tree(at);
      at = entries?.find(({ name }) => name === segment)?.oid ?? null;
    }
    return this.store.read(at ?? "");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.isTemporary || this.folder === null) return;
    await Deno.remove(this.folder, { recursive: true });
  }

  private refNamed(name: string): string | null {
    const names = name === "HEAD"
      ? [`refs/heads/${this.mainBranch}`]
      : [name, `refs/${name}`, `refs/tags/${name}`, `refs/heads/${name}`];
    return names.filter((name) => name.startsWith("refs/")).map((name) =>
      this.store.ref(name)
    )
      .find((oid) => oid !== null) ?? null;
  }

  private required(revision: string): GitObject {
    const found = this.find(revision);
    if (found === null) {
      throw new Error(`Cannot find "${revision}": there is no such revision`);
    }
    return found;
  }

  /**
   * Follows a tag to its commit, and a commit to its tree where that is wanted.
   */
  private peel(oid: string, wanted: "commit" | "tree"): string | null {
    const { type, bytes } = this.store.read(oid) ?? {};
    if (type === wanted) return oid;
    if (type !== "tag" && type !== "commit") return null;
    const header = type === "tag"
      ? /^object ([0-9a-f]{40})\n/
      : /^tree ([0-9a-f]{40})\n/;
    const next = header.exec(new TextDecoder().decode(bytes))?.[1];
    return next === undefined ? null : this.peel(next, wanted);
  }

  /**
   * Writes the folders of these files, from the deepest up, and gives the id of
   * the root.
   */
  private writeFolder(
    files: Iterable<readonly [path: string, entry: Entry]>,
  ): string {
    const entries = new Map<string, Entry>();
    const folders = new Map<string, [string, Entry][]>();
    for (const [path, entry] of files) {
      const slash = path.indexOf("/");
      if (slash < 0) entries.set(path, entry);
      else {
        const below = folders.getOrInsertComputed(
          path.slice(0, slash),
          () => [],
        );
        below.push([path.slice(slash + 1), entry]);
      }
    }
    for (const [name, below] of folders) {
      entries.set(name, { mode: "040000", oid: this.writeFolder(below) });
    }
    return this.store.writeTree(
      Array.from(entries, ([name, entry]) => ({ name, ...entry })),
    );
  }

  private writeContent(content: GitContent): Entry {
    if (typeof content === "string" || content instanceof Uint8Array) {
      return { mode: "100644", oid: this.store.write("blob", content) };
    }
    if ("submodule" in content) {
      return { mode: "160000", oid: content.submodule };
    }
    return "symlink" in content
      ? { mode: "120000", oid: this.store.write("blob", content.symlink) }
      : { mode: "100755", oid: this.store.write("blob", content.executable) };
  }
}

/**
 * Makes a Git repository in memory, with one commit on `branch`, or with none
 * without files.
 */
export async function makeGitRepository(
  files?: GitFiles,
  { branch = "main" } = {},
): Promise<GitRepository> {
  const repository = new GitRepository(null, branch);
  if (files !== undefined) await repository.commit(files, { branch });
  return repository;
}
