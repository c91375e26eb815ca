// A Git repository for tests. It is made in this process; `dir` and `git` give it a folder, as Git itself would lay it
// out, for the git command and for other processes. A folder that the git command made is read too, as long as Git has
// not packed it.

import { firstCommitSeconds, runGit, testIdentity } from "./git_command.ts";
import { type GitObject, GitStore } from "./git_store.ts";

/** The content of a path: a file, an executable file, a symbolic link or a submodule (a commit id). */
export type GitContent =
  | string
  | Uint8Array
  | { executable: string | Uint8Array }
  | { symlink: string }
  | { submodule: string };

/** Files by path, as a record or, for very many, as an iterable of pairs. */
export type GitFiles =
  | Record<string, GitContent>
  | Iterable<readonly [path: string, content: GitContent]>;

type Changes =
  | Record<string, GitContent | null>
  | Iterable<readonly [path: string, content: GitContent | null]>;

/** One line of `git ls-tree -r -l`; `size` is null for a submodule. */
export interface ListedEntry {
  mode: string;
  type: string;
  oid: string;
  size: number | null;
  path: string;
}

/** A folder that is being changed: unchanged entries by id, changed folders as folders. */
type Folder = Map<string, { mode: string; oid: string } | Folder>;

/** A Git repository. `await using` removes what a test made. */
export class GitRepository implements AsyncDisposable {
  /** The objects and refs, as a server reads them. */
  readonly store: GitStore;
  private readonly isTemporary: boolean;
  private commits = 0;
  private folder: string | null;

  /** Opens the repository at `dir`, bare or checked out; one in memory where it is null. */
  constructor(
    dir: string | null,
    private readonly options: { temporary?: boolean; branch?: string } = {},
  ) {
    this.folder = dir;
    this.isTemporary = options.temporary ?? false;
    this.store = new GitStore();
    if (dir !== null) this.findGitDir();
  }

  /** The repository's folder, made now where it had none (the Git directory itself where it is bare). */
  get dir(): string {
    if (this.folder === null) {
      this.folder = Deno.makeTempDirSync({ prefix: "git_repository_" });
      this.store.moveTo(this.folder, this.options.branch ?? "main");
    }
    return this.folder;
  }

  /**
   * Commits changes on top of a branch (made if there is none) and gives the commit's id. `null` removes a path. The
   * files of a repository that is checked out follow. @throws {Error} on a repository that no test made.
   */
  async commit(
    changes: Changes,
    { branch = "main", message = "Change files" }: { branch?: string; message?: string } = {},
  ): Promise<string> {
    if (!this.isTemporary) throw new Error(`Cannot commit to "${this.dir}": no test made it`);
    if (this.folder !== null) this.findGitDir();
    const parent = this.store.ref(`refs/heads/${branch}`);
    const root = parent === null ? new Map() : this.open(this.peel(parent, "tree")!);
    const blobs = new Map<string, string>();
    const pairs = Symbol.iterator in changes ? changes : Object.entries(changes);
    for (const [path, content] of pairs as Iterable<readonly [string, GitContent | null]>) {
      this.change(root, path.split("/"), content === null ? null : this.write(content, blobs));
    }
    const author = `${testIdentity} ${firstCommitSeconds + 60 * this.commits++} +0000`;
    const oid = this.store.write(
      "commit",
      `tree ${this.close(root) ?? this.store.writeTree([])}\n` +
        (parent === null ? "" : `parent ${parent}\n`) +
        `author ${author}\ncommitter ${author}\n\n${message}`,
    );
    this.store.setRef(`refs/heads/${branch}`, oid);
    if (this.folder !== null && this.store.dir !== this.folder) {
      await this.git("reset", "--quiet", "--hard");
    }
    return oid;
  }

  /** Points a branch, new or not, at a revision (`main` if none is named). */
  branch(name: string, at = this.options.branch ?? "main"): Promise<void> {
    return Promise.try(() => this.store.setRef(`refs/heads/${name}`, this.required(at)));
  }

  /** Removes a branch. */
  deleteBranch(name: string): Promise<void> {
    return Promise.try(() => this.store.setRef(`refs/heads/${name}`, null));
  }

  /** Makes a tag, lightweight unless `annotated`. */
  tag(name: string, options: { annotated?: boolean; at?: string } = {}): Promise<void> {
    return Promise.try(() => {
      const at = this.required(options.at ?? this.options.branch ?? "main");
      const text = `object ${at}\ntype commit\ntag ${name}\n` +
        `tagger ${testIdentity} ${firstCommitSeconds} +0000\n\n${name}\n`;
      this.store.setRef(
        `refs/tags/${name}`,
        options.annotated ? this.store.write("tag", text) : at,
      );
    });
  }

  /** The commit id that a branch is at. @throws {Error} if there is no such branch. */
  head(branch = "main"): Promise<string> {
    return Promise.try(() => this.required(`refs/heads/${branch}`));
  }

  /** The id that a revision names, or null. */
  resolve(revision: string): Promise<string | null> {
    return Promise.resolve(this.find(revision)?.oid ?? null);
  }

  /** Every file below a folder, as `git ls-tree -r -l` lists them, with whole paths. */
  lsTree(revision: string, path = ""): Promise<ListedEntry[]> {
    const listed: ListedEntry[] = [];
    const visit = (oid: string, prefix: string) => {
      for (const { name, ...entry } of this.store.tree(oid) ?? []) {
        if (entry.type === "tree") visit(entry.oid, `${prefix}${name}/`);
        else listed.push({ ...entry, path: prefix + name });
      }
    };
    const folder = this.find(path === "" ? `${revision}^{tree}` : `${revision}:${path}`);
    if (folder !== null) visit(folder.oid, path === "" ? "" : `${path}/`);
    return Promise.resolve(listed);
  }

  /** The bytes of a blob, by id or as `revision:path`. */
  blob(revision: string): Promise<Uint8Array<ArrayBuffer>> {
    return Promise.try(() => this.store.read(this.required(revision))!.bytes);
  }

  /** Runs any git command here and gives its output as text without outer white space. */
  async git(...args: string[]): Promise<string> {
    return new TextDecoder().decode(await runGit(args, { dir: this.dir })).trim();
  }

  /**
   * What a revision names, or null: an id, a full ref name, a branch, a tag or `HEAD`, alone or followed by `^`,
   * `^{commit}`, `^{tree}` or `:path`.
   */
  find(revision: string): GitObject | null {
    const [, base = "", end = ""] = /^([^^:]+)(\^.*|:.*)?$/s.exec(revision) ?? [];
    const oid = /^[0-9a-f]{40}$/.test(base) ? base : this.refNamed(base);
    if (oid === null) return null;
    if (end === "") return this.store.read(oid);
    if (end === "^{commit}" || end === "^{tree}") {
      const peeled = this.peel(oid, end.slice(2, -1) as "commit" | "tree");
      return peeled === null ? null : this.store.read(peeled);
    }
    if (end === "^") return this.store.read(this.header(this.peel(oid, "commit")!, "parent") ?? "");
    let at = this.peel(oid, "tree");
    for (const segment of end.slice(1).split("/").filter((segment) => segment !== "")) {
      const entries = at === null ? null : this.store.tree(at);
      at = entries?.find(({ name }) => name === segment)?.oid ?? null;
    }
    return at === null ? null : this.store.read(at);
  }

  /** Removes the folder if it was made for a test. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.isTemporary && this.folder !== null) {
      await Deno.remove(this.folder, { recursive: true });
    }
  }

  /** A folder that is not bare may get its Git directory only after it was opened. */
  private findGitDir(): void {
    const git = `${this.folder}/.git`;
    const isDirectory = (path: string) => {
      try {
        return Deno.statSync(path).isDirectory;
      } catch {
        return false;
      }
    };
    this.store.dir = isDirectory(git) ? git : this.folder;
  }

  private refNamed(name: string): string | null {
    const names = name === "HEAD"
      ? [`refs/heads/${this.options.branch ?? "main"}`]
      : [name, `refs/${name}`, `refs/tags/${name}`, `refs/heads/${name}`];
    const full = names.filter((name) => name.startsWith("refs/"));
    return full.map((name) => this.store.ref(name)).find((oid) => oid !== null) ?? null;
  }

  private required(revision: string): string {
    const found = this.find(revision);
    if (found === null) throw new Error(`Cannot find "${revision}": there is no such revision`);
    return found.oid;
  }

  /** Follows a tag to its commit, and a commit to its tree where the suffix names one. */
  private peel(oid: string, wanted: "commit" | "tree"): string | null {
    const type = this.store.read(oid)?.type;
    if (type === wanted) return oid;
    const next = type === "tag" ? "object" : type === "commit" && wanted === "tree" ? "tree" : null;
    const followed = next === null ? null : this.header(oid, next);
    return followed === null ? null : this.peel(followed, wanted);
  }

  private header(oid: string, name: string): string | null {
    const text = new TextDecoder().decode(this.store.read(oid)?.bytes).split("\n\n")[0]!;
    return new RegExp(`^${name} ([0-9a-f]{40})$`, "m").exec(text)?.[1] ?? null;
  }

  private open(oid: string): Folder {
    const entries = this.store.tree(oid) ?? [];
    return new Map(entries.map(({ name, mode, oid }) => [name, { mode, oid }]));
  }

  private change(folder: Folder, [name, ...rest]: string[], entry: Entry | null): void {
    if (rest.length === 0) {
      if (entry === null) folder.delete(name!);
      else folder.set(name!, entry);
      return;
    }
    const found = folder.get(name!);
    const isFolder = found !== undefined && !(found instanceof Map) && found.mode === "040000";
    const below = found instanceof Map ? found : isFolder ? this.open(found.oid) : new Map();
    folder.set(name!, below);
    this.change(below, rest, entry);
  }

  /** Writes changed folders, from the deepest up; null for one without entries, which Git does not have. */
  private close(folder: Folder): string | null {
    const entries = Array.from(folder, ([name, entry]) => {
      const oid = entry instanceof Map ? this.close(entry) : entry.oid;
      return { name, oid, mode: entry instanceof Map ? "040000" : entry.mode };
    }).filter((entry): entry is Entry & { name: string } => entry.oid !== null);
    return entries.length === 0 ? null : this.store.writeTree(entries);
  }

  /** Equal texts are written once. */
  private write(content: GitContent, blobs: Map<string, string>): Entry {
    if (typeof content === "object" && "submodule" in content) {
      return { mode: "160000", oid: content.submodule };
    }
    const [mode, data] = typeof content === "string" || content instanceof Uint8Array
      ? ["100644", content] as const
      : "symlink" in content
      ? ["120000", content.symlink] as const
      : ["100755", content.executable] as const;
    if (typeof data !== "string") return { mode, oid: this.store.write("blob", data) };
    let oid = blobs.get(data);
    if (oid === undefined) blobs.set(data, oid = this.store.write("blob", data));
    return { mode, oid };
  }
}

interface Entry {
  readonly mode: string;
  readonly oid: string;
}

/**
 * Makes a Git repository with one commit on `branch`, or with none if there are no files. Bare unless `bare: false`,
 * which makes it with the git command and checks the files out.
 */
export async function makeGitRepository(
  files: GitFiles = {},
  { branch = "main", bare = true, message = "Add files" }: {
    branch?: string;
    bare?: boolean;
    message?: string;
  } = {},
): Promise<GitRepository> {
  const dir = bare ? null : await Deno.makeTempDir({ prefix: "git_repository_" });
  const repository = new GitRepository(dir, { temporary: true, branch });
  if (!bare) await repository.git("init", "--quiet", `--initial-branch=${branch}`);
  if (Symbol.iterator in files || Object.keys(files).length > 0) {
    await repository.commit(files, { branch, message });
  }
  return repository;
}
