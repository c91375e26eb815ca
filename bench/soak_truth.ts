// The present and past contents of the soak's repositories, as listed by git; the requests of its clients, and whether an
// answer shows one of those states.

import { createHash } from "node:crypto";
import { type GitRepository, makeGitRepository } from "../tests/github/git_repository.ts";
import { pathOf } from "./processes.ts";

const COLLECTIONS = 30;
const FILES = 20;

/** The content of a branch at one commit. */
interface TrueState {
  /** In byte order of path; `order` is that of the front matter. */
  readonly files: readonly { path: string; oid: string; size: number | null; order: number }[];
  /** When it was replaced, in ms since the epoch; Infinity while it is current. */
  replacedAtMs: number;
}

const hasTag = (order: number) => order % 3 === 0;
const filePath = (collection: number, file: number) =>
  `content/c${collection}/f${String(file).padStart(2, "0")}.md`;

/** A whole number from 0 to `below` - 1. */
export function random(below: number): number {
  return Math.floor(Math.random() * below);
}

function pick<T>(values: readonly T[]): T {
  return values[random(values.length)]!;
}

/** A repository that changes, and all of its states. */
export class TrueRepository {
  private readonly states = new Map<string, TrueState>();
  private current: TrueState | null = null;
  /** The order in each content, by blob id. */
  private readonly orders = new Map<string, number>();
  private committing: Promise<void> = Promise.resolve();

  private constructor(readonly git: GitRepository) {}

  /** Makes one with its first commit and these branches at it. */
  static async make(cleanup: AsyncDisposableStack, branches: readonly string[] = []) {
    const repository = new TrueRepository(cleanup.use(await makeGitRepository()));
    const files = Array.from({ length: COLLECTIONS * FILES }, (_, n) => [
      ...[filePath(Math.floor(n / FILES), n % FILES), repository.newContent()],
    ]);
    await repository.commit(Object.fromEntries(files));
    for (const branch of branches) await repository.git.branch(branch);
    return repository;
  }

  /** Commits a few changes, among them files that come and go. */
  change(): Promise<void> {
    const changes: Record<string, string | null> = {};
    const { files } = this.current!;
    for (let count = 1 + random(4); count > 0; count--) {
      const path = filePath(random(COLLECTIONS), random(FILES));
      const isThere = files.some((file) => file.path === path);
      changes[path] = isThere && random(4) === 0 ? null : this.newContent();
    }
    return this.committing = this.commit(changes);
  }

  /** The state of a commit. A commit can be served before git has listed it here. @throws {Error} where there is none. */
  async stateOf(commit: string): Promise<TrueState> {
    if (!this.states.has(commit)) await this.committing;
    require(this.states.has(commit), `commit ${commit} never was`);
    return this.states.get(commit)!;
  }

  private async commit(changes: Record<string, string | null>): Promise<void> {
    const commit = await this.git.commit(changes);
    const replacedAtMs = Date.now();
    const files = (await this.git.lsTree(commit))
      .map(({ path, oid, size }) => ({ path, oid, size, order: this.orders.get(oid)! }));
    if (this.current !== null) this.current.replacedAtMs = replacedAtMs;
    this.current = { files, replacedAtMs: Infinity };
    this.states.set(commit, this.current);
  }

  private newContent(): string {
    const order = this.orders.size + 1;
    const tags = hasTag(order) ? "[deno, web]" : "[git]";
    const words = "Words. ".repeat(10 + random(100));
    const content = `---\norder: ${order}\ntags: ${tags}\n---\n\n${words}\n`;
    this.orders.set(blobId(content), order);
    return content;
  }
}

/** A repository under the name by which it is requested. */
export interface NamedRepository {
  readonly owner: string;
  readonly repository: TrueRepository;
  readonly branches: readonly string[];
}

/** One request; `check` compares data with the state that it claims to show. @throws {Error} where it differs. */
interface SoakRequest {
  readonly path: string;
  // deno-lint-ignore no-explicit-any -- an answer is judged field by field
  readonly check: (value: any, state: TrueState) => void;
}

/** A request, chosen by chance. */
export function chooseRequest(named: readonly NamedRepository[]) {
  const { owner, repository, branches } = pick(named);
  const about: Record<string, string> = { owner, repo: "site" };
  if (branches.length > 0 && random(2) === 0) about["branch"] = pick(branches);
  return { repository, ...random(100) < 40 ? itemRequest(about) : listRequest(about) };
}

function itemRequest(about: Record<string, string>): SoakRequest {
  const path = filePath(random(COLLECTIONS), random(FILES));
  return {
    path: pathOf("item", { ...about, path }),
    check({ content }, { files }) {
      const isThere = files.some((file) => file.path === path && file.oid === blobId(content));
      require(isThere, "bytes that were not there");
    },
  };
}

function listRequest(about: Record<string, string>): SoakRequest {
  const collection = random(COLLECTIONS);
  // The same page again and again, or one of very many.
  const [page, limit] = random(2) === 0 ? [1, 10] : [1 + random(3), 1 + random(30)];
  const [hasContent, isSorted, isFiltered] = [random(4) === 0, random(6) === 0, random(6) === 0];
  return {
    path: pathOf("list", {
      ...about,
      ...{ collection: `c${collection}`, page: `${page}`, limit: `${limit}` },
      ...hasContent ? { includeContent: "true" } : {},
      ...isSorted ? { sort: "-frontMatter.order" } : {},
      ...isFiltered ? { "filter[frontMatter.tags]": "deno" } : {},
    }),
    check({ items, pagination }, state) {
      const all = state.files.filter(({ path, order }) =>
        path.startsWith(`content/c${collection}/`) && (!isFiltered || hasTag(order))
      );
      const sorted = isSorted ? all.toSorted((a, b) => b.order - a.order) : all;
      const wanted = sorted.slice((page - 1) * limit, page * limit);
      require(pagination.totalItems === all.length, "another total");
      require(items.length === wanted.length, "another number of items");
      for (const [index, { path, oid, size }] of wanted.entries()) {
        const { error, content, ...item } = items[index];
        const isSame = item.path === path && item.sha === oid && item.size === size;
        require(isSame, `another item at ${index}`);
        require(error === undefined || error.code.startsWith("source-"), error?.code);
        if (hasContent && !error) require(blobId(content) === oid, "other content");
      }
    },
  };
}

function blobId(content: string): string {
  const bytes = new TextEncoder().encode(content);
  return createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}

/** @throws {Error} with `otherwise` where the condition is false. */
export function require(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}
