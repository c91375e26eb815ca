// The present and past contents of the soak's repositories, as listed by git; the requests of its clients; and whether
// an answer shows one of those states, and one that was current not long ago.

import { createHash } from "node:crypto";
import { type GitRepository, makeGitRepository } from "../tests/github/git_repository.ts";

const COLLECTIONS = 30;
const FILES = 20;

interface TrueFile {
  readonly path: string;
  readonly oid: string;
  readonly size: number;
  /** Its front matter's `order`. */
  readonly order: number;
}

/** The content of a branch at one commit. */
export interface TrueState {
  readonly commit: string;
  /** In byte order of path. */
  readonly files: readonly TrueFile[];
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
export class TrueRepository implements AsyncDisposable {
  private readonly states: TrueState[] = [];
  private readonly orders = new Map<string, number>();
  private lastOrder = 0;
  private committing: Promise<void> = Promise.resolve();

  private constructor(readonly git: GitRepository) {}

  /** Makes one with its first commit and these branches at it. */
  static async make(branches: readonly string[] = []): Promise<TrueRepository> {
    const repository = new TrueRepository(await makeGitRepository());
    const changes: Record<string, string> = {};
    for (let collection = 0; collection < COLLECTIONS; collection++) {
      for (let file = 0; file < FILES; file++) {
        changes[filePath(collection, file)] = repository.newContent();
      }
    }
    await repository.commit(changes);
    for (const branch of branches) await repository.git.branch(branch);
    return repository;
  }

  /** Commits a few changes, among them files that come and go. */
  change(): Promise<void> {
    const changes: Record<string, string | null> = {};
    const last = this.states.at(-1)!;
    for (let count = 1 + random(4); count > 0; count--) {
      const path = filePath(random(COLLECTIONS), random(FILES));
      const isThere = last.files.some((file) => file.path === path);
      changes[path] = isThere && random(4) === 0 ? null : this.newContent();
    }
    return this.committing = this.commit(changes);
  }

  /** The newest state that `matches`, or undefined. A commit can be served before git has listed it here. */
  async find(matches: (state: TrueState) => boolean): Promise<TrueState | undefined> {
    const found = this.states.findLast(matches);
    if (found !== undefined) return found;
    await this.committing;
    return this.states.findLast(matches);
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
      if (content !== null) this.orders.set(path, Number(/^order: (\d+)$/m.exec(content)![1]));
    }
    const files = (await this.git.lsTree(commit)).map(({ path, oid, size }) => ({
      ...{ path, oid, size: size! },
      order: this.orders.get(path)!,
    }));
    this.states.push({ commit, files, replacedAtMs: Infinity });
    if (before !== undefined) before.replacedAtMs = replacedAtMs;
  }

  private newContent(): string {
    const order = ++this.lastOrder;
    const tags = hasTag(order) ? "[deno, web]" : "[git]";
    return `---\norder: ${order}\ntags: ${tags}\n---\n\n${"Words. ".repeat(10 + random(100))}\n`;
  }
}

/** A repository under the name by which it is requested. */
export interface NamedRepository {
  readonly owner: string;
  readonly repo: string;
  readonly repository: TrueRepository;
  readonly branches: readonly string[];
}

/** One request, and how a right answer differs from a wrong one. */
export interface SoakRequest {
  readonly path: string;
  /** Null where the answer is this problem in any state. */
  readonly repository: TrueRepository | null;
  readonly problem?: { readonly status: number; readonly code: string };
  /** The state that a body shows. @throws {Error} where it shows none that ever was. */
  readonly stateOf: (bytes: Uint8Array) => Promise<TrueState>;
}

const LIST = "/api/list-collection-items?";
const ITEM = "/api/get-item-content?";
const SITE = "owner=octo&repo=site&collection=c0";
const BAD = [
  ...[
    `${LIST}owner=octo`,
    `${LIST}${SITE}&page=0`,
    `${LIST}${SITE}&limit=1001`,
    `${LIST}${SITE}&branch=a..b`,
  ],
  ...[`${LIST}${SITE}&sort=nothing`, `${LIST}${SITE}&filter[x]=y`, `${LIST}${SITE}&collection=%FF`],
  ...[`${ITEM}owner=octo&repo=site&path=a/../../x`, `${ITEM}owner=octo&repo=site&path=a%00b`],
];

/** A request, chosen by chance: hot and cold data, what does not exist, and what is wrong. */
export function chooseRequest(named: readonly NamedRepository[]): SoakRequest {
  const dice = random(100);
  const { owner, repo, repository, branches } = pick(named);
  const never = () => Promise.reject(new Error("data where a problem was due"));
  if (dice < 8) {
    const problem = { status: 400, code: "invalid-parameters" };
    return { path: pick(BAD), repository: null, problem, stateOf: never };
  }
  const about: Record<string, string> = { owner, repo };
  if (branches.length > 0 && random(2) === 0) about["branch"] = pick(branches);
  if (dice < 16) {
    const [path, code] = pick([
      [
        LIST + new URLSearchParams({ ...about, collection: `none-${random(1_000)}` }),
        "collection-not-found",
      ],
      [
        ITEM + new URLSearchParams({ ...about, path: `none-${random(1_000)}.md` }),
        "item-not-found",
      ],
    ]) as [string, string];
    return { path, repository, problem: { status: 404, code }, stateOf: never };
  }
  return dice < 45 ? itemRequest(about, repository) : listRequest(about, repository);
}

function itemRequest(about: Record<string, string>, repository: TrueRepository): SoakRequest {
  // The last file of a collection may be deleted; the first ones too, and then the answer is a 404 of that state.
  const path = filePath(random(COLLECTIONS), random(FILES));
  const isRaw = random(2) === 0;
  const query = new URLSearchParams({ ...about, path, ...isRaw ? { format: "raw" } : {} });
  return {
    path: ITEM + query,
    repository,
    problem: { status: 404, code: "item-not-found" },
    async stateOf(bytes) {
      const content = isRaw ? bytes : encode(parse(bytes).content);
      const oid = blobId(content);
      const state = isRaw
        ? await repository.find(({ files }) => files.some((f) => f.path === path && f.oid === oid))
        : await commitOf(repository, bytes);
      const file = state?.files.find((file) => file.path === path);
      require(state !== undefined && file?.oid === oid, "bytes that were never there");
      return state!;
    },
  };
}

function listRequest(about: Record<string, string>, repository: TrueRepository): SoakRequest {
  const collection = random(COLLECTIONS);
  // The same page again and again, or one of very many.
  const [page, limit] = random(2) === 0 ? [1, 10] : [1 + random(3), 1 + random(30)];
  const [content, sorted, filtered] = [random(4) === 0, random(6) === 0, random(6) === 0];
  const query = new URLSearchParams({
    ...about,
    ...{ collection: `c${collection}`, page: `${page}`, limit: `${limit}` },
    ...content ? { includeContent: "true" } : {},
    ...sorted ? { sort: "-frontMatter.order" } : {},
    ...filtered ? { "filter[frontMatter.tags]": "deno" } : {},
  });
  return {
    path: LIST + query,
    repository,
    async stateOf(bytes) {
      const state = await commitOf(repository, bytes);
      const value = parse(bytes);
      const all = state.files.filter(({ path, order }) =>
        path.startsWith(`content/c${collection}/`) && (!filtered || hasTag(order))
      );
      const files = sorted ? all.toSorted((a, b) => b.order - a.order) : all;
      const wanted = files.slice((page - 1) * limit, page * limit);
      require(value.pagination.totalItems === all.length, "another total");
      require(value.items.length === wanted.length, "another number of items");
      wanted.forEach((file, index) => {
        const item = value.items[index];
        require(
          item.path === file.path && item.sha === file.oid && item.size === file.size,
          `another item at ${index}`,
        );
        if (item.error !== undefined) {
          require(item.error.code.startsWith("source-"), item.error.code);
        } else if (content) require(blobId(encode(item.content)) === file.oid, "other content");
      });
      return state;
    },
  };
}

async function commitOf(repository: TrueRepository, bytes: Uint8Array): Promise<TrueState> {
  const { commit } = parse(bytes).repository;
  const state = await repository.find((state) => state.commit === commit);
  require(state !== undefined, `commit ${commit} never was`);
  return state!;
}

// deno-lint-ignore no-explicit-any -- an answer is judged here field by field
function parse(bytes: Uint8Array): any {
  return JSON.parse(new TextDecoder().decode(bytes));
}

const encode = (text: string) => new TextEncoder().encode(text);

function blobId(bytes: Uint8Array): string {
  return createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}

/** @throws {Error} with `otherwise` where the condition is false. */
export function require(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}
