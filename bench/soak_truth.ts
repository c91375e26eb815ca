// What the soak's repositories hold and held, as git itself says, and since when it no longer does. An answer is right
// if it shows one of these states.

import { type GitRepository, makeGitRepository } from "../tests/github/git_repository.ts";

/** Collections of a repository: `c0` and so on below `content`. */
export const COLLECTIONS = 30;
const FILES = 20;
/** Of each collection, how many of its last files come and go. */
const COMING = 5;
const HIDDEN = "content/c0/.hidden.md";

/** One file of a state. */
export interface TrueFile {
  readonly path: string;
  readonly oid: string;
  readonly size: number;
  /** Its front matter's `order`, which its tag goes with. */
  readonly order: number;
}

/** What a branch holds at one commit. */
export interface TrueState {
  readonly commit: string;
  /** In byte order of path. */
  readonly files: readonly TrueFile[];
  readonly byPath: ReadonlyMap<string, TrueFile>;
  /** When everyone who asked was told of its successor, in ms since the epoch; Infinity while it is current. */
  replacedAtMs: number;
}

/** Whether the front matter of a file with this `order` has the tag `deno`. */
export function hasTag(order: number): boolean {
  return order % 3 === 0;
}

/** A file's path. */
export function filePath(collection: number, file: number): string {
  return `content/c${collection}/f${String(file).padStart(2, "0")}.md`;
}

/** A repository that changes, and all of its states. */
export class TrueRepository implements AsyncDisposable {
  /** Oldest first. */
  private readonly states: TrueState[] = [];
  private readonly orders = new Map<string, number>();
  private lastOrder = 0;
  private committing: Promise<void> = Promise.resolve();

  private constructor(private readonly git: GitRepository) {}

  /** Makes one with its first commit. */
  static async make(): Promise<TrueRepository> {
    const repository = new TrueRepository(await makeGitRepository());
    const changes: Record<string, string> = { [HIDDEN]: "# Hidden\n" };
    for (let collection = 0; collection < COLLECTIONS; collection++) {
      for (let file = 0; file < FILES; file++) {
        changes[filePath(collection, file)] = repository.newContent(filePath(collection, file));
      }
    }
    await repository.commit(changes);
    return repository;
  }

  /** Its folder. */
  get dir(): string {
    return this.git.dir;
  }

  /** Makes branches at the commit of now. */
  async addBranches(names: readonly string[]): Promise<void> {
    for (const name of names) await this.git.branch(name);
  }

  /** Commits a few changes, among them files that come and go. */
  change(): Promise<void> {
    const changes: Record<string, string | null> = {};
    const last = this.states.at(-1)!;
    for (let count = 1 + random(4); count > 0; count--) {
      const file = random(FILES);
      const path = filePath(random(COLLECTIONS), file);
      const goes = file >= FILES - COMING && last.byPath.has(path) && random(2) === 0;
      changes[path] = goes ? null : this.newContent(path);
    }
    return this.committing = this.commit(changes);
  }

  /** The state of a commit that the service showed, or null where there never was one. */
  async state(commit: string): Promise<TrueState | null> {
    const find = () => this.states.find((state) => state.commit === commit) ?? null;
    const known = find();
    if (known !== null) return known;
    // It can be shown before git has told what is in it.
    await this.committing;
    return find();
  }

  /** The newest state in which a path holds these bytes, or null. */
  async holding(path: string, oid: string): Promise<TrueState | null> {
    const find = () => this.states.findLast(({ byPath }) => byPath.get(path)?.oid === oid) ?? null;
    const known = find();
    if (known !== null) return known;
    await this.committing;
    return find();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.committing.catch(() => {});
    await this.git[Symbol.asyncDispose]();
  }

  private async commit(changes: Record<string, string | null>): Promise<void> {
    const before = this.states.at(-1);
    const commit = await this.git.commit(changes);
    const replacedAtMs = Date.now();
    for (const [path, content] of Object.entries(changes)) {
      if (content !== null) {
        this.orders.set(path, Number(/^order: (\d+)$/m.exec(content)?.[1] ?? 0));
      }
    }
    const files = (await this.git.lsTree(commit)).filter(({ path }) => path !== HIDDEN)
      .map(({ path, oid, size }) => ({ path, oid, size: size!, order: this.orders.get(path)! }));
    const byPath = new Map(files.map((file) => [file.path, file]));
    this.states.push({ commit, files, byPath, replacedAtMs: Infinity });
    if (before !== undefined) before.replacedAtMs = replacedAtMs;
  }

  private newContent(path: string): string {
    const order = ++this.lastOrder;
    const tags = hasTag(order) ? "[deno, web]" : "[git]";
    const text = "Words. ".repeat(10 + random(100));
    return `---\ntitle: ${path}\norder: ${order}\ntags: ${tags}\n---\n\n# ${path}\n\n${text}\n`;
  }
}

/** A whole number from 0 to `below` - 1. */
export function random(below: number): number {
  return Math.floor(Math.random() * below);
}
