// The present and past contents of the soak's repositories; the requests of its
// clients, and whether an answer shows one of those states.

import { assert, assertEquals } from "@std/assert";
import { createHash } from "node:crypto";
import type { ContentBody, ListBody } from "../lib/api/contract.ts";
import { makeGitRepository } from "../tests/github/git_repository.ts";
import { itemPath, listPath, type Parameters } from "../tests/service.ts";

const COLLECTIONS = Array.from({ length: 30 }, (_, index) => `c${index}`);
/** In byte order within a collection. */
const ALL_PATHS = COLLECTIONS.flatMap((name) =>
  Array.from(
    { length: 20 },
    (_, n) => `content/${name}/f${String(n).padStart(2, "0")}.md`,
  )
);

/** The content of a branch at one commit. */
export interface TrueState {
  /**
   * By path; an order is given once, and all of the content follows from it.
   */
  readonly orders: ReadonlyMap<string, number>;
  /**
   * When it was replaced, in ms since the epoch; Infinity while it is current.
   */
  replacedAtMs: number;
}

const hasTag = (order: number) => order % 3 === 0;
function contentOf(order: number): string {
  const tags = hasTag(order) ? "[deno, web]" : "[git]";
  const words = "Words. ".repeat(10 + order * 37 % 100);
  return `---\norder: ${order}\ntags: ${tags}\n---\n\n${words}\n`;
}

function blobId(content: string): string {
  return createHash("sha1").update(`blob ${content.length}\0${content}`).digest(
    "hex",
  );
}

/** A whole number from 0 to `below` - 1. */
export const random = (below: number) => Math.floor(Math.random() * below);
/** One of these, chosen by chance. */
export const pick = <T>(values: readonly T[]): T =>
  values[random(values.length)]!;

/** A repository that changes, and all of its states. */
export type TrueRepository = Awaited<ReturnType<typeof makeTrueRepository>>;

/** Makes one with its first commit and these branches at it. */
export async function makeTrueRepository(
  cleanup: AsyncDisposableStack,
  branches: readonly string[] = [],
) {
  const git = cleanup.use(await makeGitRepository());
  const states = new Map<string, TrueState>();
  let current: TrueState = { orders: new Map(), replacedAtMs: Infinity };
  let lastOrder = 0;
  const commit = async (paths: readonly string[]) => {
    const orders = new Map(current.orders);
    const changes = new Map<string, string | null>();
    for (const path of paths) {
      if (orders.has(path) && random(4) === 0) orders.delete(path);
      else orders.set(path, ++lastOrder);
      const order = orders.get(path);
      changes.set(path, order === undefined ? null : contentOf(order));
    }
    const id = await git.commit(changes);
    current.replacedAtMs = Date.now();
    current = { orders, replacedAtMs: Infinity };
    states.set(id, current);
  };
  let committing = commit(ALL_PATHS);
  await committing;
  for (const branch of branches) await git.branch(branch);
  return {
    git,
    /** Commits a few changes, among them files that come and go. */
    change: () =>
      committing = commit(
        Array.from({ length: 1 + random(4) }, () => pick(ALL_PATHS)),
      ),
    /**
     * The state of a commit, which can be served before it is known here.
     * @throws {Error} where there is none.
     */
    async stateOf(commit: string): Promise<TrueState> {
      if (!states.has(commit)) await committing;
      assert(states.has(commit), `commit ${commit} never was`);
      return states.get(commit)!;
    },
  };
}

/**
 * A request, chosen by chance; `check` compares data with the state that it
 * claims to show, and throws what differs.
 */
export const chooseRequest = (about: Parameters) =>
  random(100) < 40 ? itemRequest(about) : listRequest(about);

function itemRequest(about: Parameters) {
  const path = pick(ALL_PATHS);
  const check = ({ content }: ContentBody, { orders }: TrueState) => {
    assertEquals(content, contentOf(orders.get(path) ?? NaN));
  };
  return { path: itemPath({ ...about, path }), check };
}

function listRequest(about: Parameters) {
  const collection = pick(COLLECTIONS);
  // The same page again and again, or one of very many.
  const [page, limit] = random(2) === 0
    ? [1, 10]
    : [1 + random(3), 1 + random(30)];
  const [hasContent, isSorted, isFiltered] = [
    random(4) === 0,
    random(6) === 0,
    random(6) === 0,
  ];
  const sort = isSorted ? "-frontMatter.order" : "path";
  const filter = isFiltered ? { "filter[frontMatter.tags]": "deno" } : {};
  const more = {
    collection,
    page,
    limit,
    sort,
    includeContent: hasContent,
    ...filter,
  };
  const check = ({ items, pagination }: ListBody, { orders }: TrueState) => {
    const orderOf = (path: string) => orders.get(path) ?? NaN;
    const all = ALL_PATHS.filter((path) =>
      path.startsWith(`content/${collection}/`) && orders.has(path) &&
      (!isFiltered || hasTag(orderOf(path)))
    );
    if (isSorted) all.sort((a, b) => orderOf(b) - orderOf(a));
    const wanted = all.slice((page - 1) * limit, page * limit);
    assertEquals([pagination.totalItems, items.length], [
      all.length,
      wanted.length,
    ]);
    for (const [index, path] of wanted.entries()) {
      const { error, ...item } = items[index]!;
      const content = contentOf(orderOf(path));
      assertEquals([item.path, item.sha, item.size], [
        path,
        blobId(content),
        content.length,
      ]);
      assert(
        error === undefined || error.code.startsWith("source-"),
        error?.code,
      );
      if (hasContent && !error) assertEquals(item.content, content);
    }
  };
  return { path: listPath({ ...about, ...more }), check };
}
