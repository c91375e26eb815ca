// Names and numbers of files: globs, deep and wide folders, listings of up to a
// million files, suggestions and slugs.

import {
  GitRepository,
  makeGitRepository,
} from "../../../tests/github/git_repository.ts";
import { flood, gitFiles, many, requests, type Row } from "../row.ts";

type Store = GitRepository["store"];
interface Entry {
  readonly name: string;
  readonly oid: string;
  readonly isFolder?: boolean;
}

/** Filters by one name. */
const filters = (name: string, values: readonly string[]) =>
  values.map((value) => [`filter[${name}]`, value] as const);

/**
 * A repository of one commit whose root is the tree that `build` writes. Trees
 * that are alike are written once.
 */
function repositoryOfTrees(build: (store: Store) => string): GitRepository {
  const repository = new GitRepository(null);
  const { store } = repository;
  const author = "Test Author <author@example.org> 1700000000 +0000";
  const commit = `tree ${
    build(store)
  }\nauthor ${author}\ncommitter ${author}\n\nAttack`;
  store.setRef("refs/heads/main", store.write("commit", commit));
  return repository;
}

const tree = (store: Store, entries: readonly Entry[]) =>
  store.writeTree(
    entries.map(({ isFolder, ...entry }) => ({
      ...entry,
      mode: isFolder ? "040000" : "100644",
    })),
  );

/** A folder of this name in the root. */
const inFolder = (store: Store, name: string, oid: string) =>
  tree(store, [{ name, oid, isFolder: true }]);

/** So many files of the same content, with names that end in their number. */
const sameFiles = (
  store: Store,
  count: number,
  name: (n: number) => string,
): Entry[] => {
  const oid = store.write("blob", "x\n");
  return many(count, (n) => ({ name: name(n), oid }));
};

/** Puts files below so many folders, each as long as a name may be. */
function inLongFolders(store: Store, levels: number, files: Entry[]): string {
  let oid = tree(store, files);
  for (let level = 0; level < levels; level++) {
    oid = inFolder(store, "字".repeat(83), oid);
  }
  return oid;
}

const MIB = 1 << 20;
const number = (n: number) => `${n}`.padStart(5, "0");
/** A path of 15 folders, each as long as a name may be. */
const LONG_FOLDERS = many(15, () => "€".repeat(83)).join("/");
const LETTERS = [..."bcdefghijklmnopqrstuv"].slice(0, 20);

export const NAME_ROWS: readonly Row[] = [
  {
    name: "globs",
    attacker: "author",
    folder: () =>
      many(
        1_200,
        (n) => [`posts/${number(n)}${"a".repeat(245)}.md`, "x"] as const,
      ),
    attack: requests(({ list }) =>
      list([
        ...filters("name", LETTERS.map((one) => `!*${"a".repeat(120)}${one}`)),
        [
          "limit",
          "20",
        ],
      ])
    ),
  },
  {
    name: "deep-globs",
    attacker: "author",
    folder: () =>
      many(400, (n) => [`posts/${"a/".repeat(200)}${n}.md`, "x"] as const),
    attack: requests(({ list }) =>
      list(
        filters("path", LETTERS.map((one) => `!**/${"a/".repeat(90)}${one}`)),
      )
    ),
  },
  {
    // Characters of two UTF-16 units take another way through a glob.
    name: "astral-globs",
    attacker: "author",
    folder: () =>
      many(
        2_000,
        (n) => [`posts/${number(n)}${"\u{1d482}".repeat(60)}.md`, "x"] as const,
      ),
    attack: requests(({ list }) =>
      list(
        filters(
          "name",
          LETTERS.map((one) => `!*${"\u{1d482}".repeat(30)}?${one}`),
        ),
      )
    ),
  },
  {
    name: "many-globs",
    attacker: "author",
    repository: () =>
      repositoryOfTrees((store) =>
        inFolder(
          store,
          "posts",
          tree(store, sameFiles(store, 60_000, (n) => `a-post-${n}.md`)),
        )
      ),
    first: ({ list }) => [list()],
    attack: flood(
      { times: 20, atOnce: 20 },
      (n, { list }) =>
        list(
          filters(
            "path",
            LETTERS.map((one) => `!**/*${n}${"*a".repeat(40)}${one}`),
          ),
        ),
    ),
  },
  {
    name: "sort-names",
    attacker: "author",
    repository: () =>
      repositoryOfTrees((store) => {
        const name = (n: number) =>
          `${"a".repeat(190)}${number(n * 7_919 % 60_000)}.md`;
        const folders = many(3, (folder) => ({
          name: `f${folder}`,
          oid: tree(
            store,
            sameFiles(store, 20_000, (n) => name(folder * 20_000 + n)),
          ),
          isFolder: true,
        }));
        return inFolder(store, "posts", tree(store, folders));
      }),
    first: ({ list }) => [list()],
    attack: flood(
      { times: 4, atOnce: 4 },
      (n, { list }) =>
        list({ sort: ["-name", "name", "-size", "-path"][n]!, limit: 1_000 }),
    ),
  },
  {
    name: "constructor",
    attacker: "author",
    folder: () => [
      ["posts/x.constructor", "x"],
      ["posts/__proto__", "y"],
      ["posts/toString", "z"],
      [
        "posts/a.md",
        "---\n__proto__: { a: 1 }\nconstructor: 2\ntoString: 3\n---\n",
      ],
    ],
    attack: requests(
      ({ list }) => list({ includeContent: true }),
      ({ list }) =>
        list({ includeHtml: true, sort: "frontMatter.constructor" }),
      ({ list }) =>
        list({ facets: "frontMatter.__proto__,frontMatter.toString" }),
      ({ item }) => item({ path: "posts/__proto__" }),
      ({ item }) => item({ collection: "posts", slug: "x" }),
      ({ list }) => list({ collection: "__proto__" }),
    ),
  },
  {
    name: "suggestions",
    attacker: "author",
    repository: () =>
      repositoryOfTrees((store) => {
        const oid = tree(store, sameFiles(store, 1, () => "a.md"));
        const folders = (first: string) =>
          many(
            15_000,
            (n) => ({
              name: `${first}${"x".repeat(200)}${number(n)}`,
              oid,
              isFolder: true,
            }),
          );
        const content = {
          name: "content",
          oid: tree(store, folders("c")),
          isFolder: true,
        };
        return tree(store, [...folders("a"), content]);
      }),
    first: ({ list }) => [list({ collection: "content", limit: 1 })],
    attack: flood(
      { times: 40, atOnce: 10 },
      (n, { list }) => list({ collection: `${"x".repeat(900)}${n}` }),
    ),
  },
  {
    // Each level may be a request that waits for the one before it.
    name: "deep-collections",
    attacker: "author",
    repository: () =>
      makeGitRepository({ [`${"d/".repeat(1_900)}a.md`]: "# A\n" }),
    attack: flood({ times: 40, atOnce: 10 }, (n, { list, item }) => {
      const isItem = n % 2 === 0;
      return isItem
        ? item({ path: `${"d/".repeat(1_900 - n)}a${n}.md` })
        : list({ collection: "d/".repeat(500 - n) });
    }),
  },
  {
    name: "wide-folder",
    attacker: "author",
    repository: () =>
      repositoryOfTrees((store) =>
        inFolder(
          store,
          "posts",
          tree(store, sameFiles(store, 99_000, (n) => `post-${n}.md`)),
        )
      ),
    attack: flood(
      { times: 8, atOnce: 8 },
      (n, { list }) =>
        list({
          recursive: false,
          page: n + 1,
          limit: 1_000,
          ...n % 2 === 0 ? {} : { sort: "-name" },
        }),
    ),
  },
  {
    // More than GitHub puts into one answer, so that folder by folder is read.
    name: "million-files",
    attacker: "author",
    repository: () =>
      repositoryOfTrees((store) => {
        const folders = many(500, (folder) => ({
          name: `d${folder}`,
          oid: tree(
            store,
            sameFiles(store, 2_000, (n) => `post-${folder}-${n}.md`),
          ),
          isFolder: true,
        }));
        return inFolder(store, "posts", tree(store, folders));
      }),
    attack: async (attacker, { list }) => {
      await attacker.sendUntilReady(list());
      await attacker.send(list({ page: 20_000 }));
      await attacker.send(list({ sort: "-name" }));
    },
    withinMs: 90_000,
  },
  {
    // Ten trees, of which each names the next ten times: ten thousand million
    // files in a few kilobytes.
    name: "tree-bomb",
    attacker: "author",
    repository: () =>
      repositoryOfTrees((store) => {
        let oid = tree(store, sameFiles(store, 10, (n) => `${n}.md`));
        for (let level = 0; level < 9; level++) {
          oid = tree(
            store,
            many(10, (n) => ({ name: `d${n}`, oid, isFolder: true })),
          );
        }
        return inFolder(store, "posts", oid);
      }),
    attack: flood(
      { times: 6, atOnce: 3 },
      (n, { list }) => list({ page: n + 1 }),
    ),
  },
  {
    // Long paths fill the 7 MB of an answer long before 100,000 entries do.
    name: "cut-listing",
    attacker: "author",
    repository: () =>
      repositoryOfTrees((store) => {
        const folders = many(30, (folder) => {
          let oid = tree(
            store,
            sameFiles(store, 3_000, (n) => `post-${folder}-${n}.md`),
          );
          for (let level = 0; level < 6; level++) {
            oid = inFolder(store, "x".repeat(200), oid);
          }
          return { name: `d${folder}`, oid, isFolder: true };
        });
        return inFolder(store, "posts", tree(store, folders));
      }),
    attack: async (attacker, { list }) => {
      await attacker.sendUntilReady(list({ limit: 1_000 }));
    },
  },
  {
    // An address has such a path three times, with three characters for each
    // byte.
    name: "long-paths",
    attacker: "author",
    repository: () =>
      makeGitRepository(
        gitFiles(
          many(1_000, (n) => [`posts/${LONG_FOLDERS}/${n}.md`, "x\n"] as const),
        ),
      ),
    first: ({ list }) => [list({ limit: 1 })],
    attack: flood(
      { times: 20, atOnce: 10 },
      (n, { list }) => list({ limit: 1_000 - n }),
    ),
  },
  {
    // Git has no limit for the length of a path.
    name: "endless-paths",
    attacker: "author",
    repository: () =>
      repositoryOfTrees((store) => {
        let oid = tree(store, sameFiles(store, 1_000, (n) => `${n}.md`));
        for (let level = 0; level < 155; level++) {
          oid = inFolder(store, "x".repeat(255), oid);
        }
        return inFolder(store, "posts", oid);
      }),
    first: ({ list }) => [list({ limit: 1 })],
    waitMs: 5_000,
    attack: flood(
      { times: 60, atOnce: 30 },
      (n, { list }) => list({ limit: 1_000 - n }),
    ),
    withinMs: 60_000,
  },
  {
    // Long paths that are not ASCII, in another order than that of the answer.
    name: "unordered-paths",
    attacker: "author",
    repository: () =>
      repositoryOfTrees((store) => {
        const files = many(1_000, (n) => ({
          name: `${n}.png`,
          oid: store.write("blob", "x".repeat(1 + n * 7_919 % 1_000)),
        }));
        return inFolder(store, "posts", inLongFolders(store, 32, files));
      }),
    first: ({ list }) => [list({ limit: 1 })],
    waitMs: 5_000,
    attack: flood(
      { times: 40, atOnce: 10 },
      (n, { list }) =>
        list({ sort: "size", limit: 1_000 - n, includeFrontMatter: true }),
    ),
    withinMs: 60_000,
  },
  {
    // All but a few of these files have an error that names the path.
    name: "path-errors",
    attacker: "author",
    repository: () =>
      repositoryOfTrees((store) => {
        const oid = store.write("blob", "---\na: 1\n---\n".padEnd(MIB, "x"));
        const files = many(1_000, (n) => ({ name: `${n}.md`, oid }));
        return inFolder(store, "posts", inLongFolders(store, 32, files));
      }),
    first: ({ list }) => [list({ limit: 1 })],
    waitMs: 5_000,
    attack: flood(
      { times: 20, atOnce: 5 },
      (n, { list }) => list({ limit: 1_000 - n, includeFrontMatter: true }),
    ),
    withinMs: 60_000,
  },
  {
    // What identifies the history of these files has their paths in it.
    name: "history-paths",
    attacker: "author",
    repository: () =>
      repositoryOfTrees((store) => {
        const files = sameFiles(store, 100, (n) => `${n}.md`);
        const oid = inFolder(store, "字".repeat(27_000), tree(store, files));
        return inFolder(store, "posts", oid);
      }),
    first: ({ list }) => [list({ limit: 1 })],
    waitMs: 5_000,
    attack: flood(
      { times: 20, atOnce: 5 },
      (n, { list }) => list({ limit: 100 - n, includeHistory: true }),
    ),
    withinMs: 60_000,
  },
  {
    name: "sitemap-paths",
    attacker: "author",
    repository: () =>
      repositoryOfTrees((store) => {
        const files = sameFiles(store, 2_000, (n) => `${n}.md`);
        return inFolder(store, "posts", inLongFolders(store, 16, files));
      }),
    first: ({ list }) => [list({ limit: 1 })],
    waitMs: 5_000,
    attack: flood(
      { times: 20, atOnce: 5 },
      (_, { list }) =>
        list({ format: "sitemap", linkTemplate: "https://a.example/{slug}" }),
    ),
    withinMs: 60_000,
  },
  {
    // Each folder has one more with a long name, and none is listed whole.
    name: "long-names-in-parts",
    attacker: "author",
    repository: () =>
      repositoryOfTrees((store) => {
        let oid = tree(store, sameFiles(store, 10, (n) => `${n}.md`));
        for (let level = 0; level < 200; level++) {
          oid = inFolder(store, "x".repeat(40_000), oid);
        }
        return inFolder(store, "posts", oid);
      }),
    attack: async (attacker, { list }) => {
      await attacker.sendUntilReady(list());
    },
    withinMs: 60_000,
  },
  {
    name: "slug-ambiguous",
    attacker: "author",
    repository: () =>
      repositoryOfTrees((store) => {
        const long = "a".repeat(200);
        const oid = tree(
          store,
          sameFiles(store, 30_000, (n) => `${long}.${number(n)}`),
        );
        return inFolder(store, "posts", oid);
      }),
    first: ({ list }) => [list({ limit: 1 })],
    attack: flood(
      { times: 50, atOnce: 10 },
      (n, { item }) =>
        item({
          collection: "posts",
          slug: "a".repeat(200),
          ...n % 2 === 0 ? {} : { includeHtml: true },
        }),
    ),
  },
  {
    // Of `a.1.md` and many like it the slug is `a.1`, and all of them stand
    // where `a` would.
    name: "slug-search",
    attacker: "author",
    repository: () =>
      repositoryOfTrees((store) => {
        const oid = tree(
          store,
          sameFiles(store, 60_000, (n) => `a.${number(n)}.md`),
        );
        return inFolder(store, "posts", oid);
      }),
    first: ({ list }) => [list({ limit: 1 })],
    attack: flood(
      { times: 200, atOnce: 20 },
      (n, { item }) =>
        item({ collection: "posts", slug: "a", sort: `frontMatter.k${n}` }),
    ),
  },
  {
    name: "neighbors",
    attacker: "author",
    folder: () =>
      many(
        8_000,
        (n) =>
          [
            `posts/${number(n)}.md`,
            `---\nk: ${n * 7_919 % 8_000}\n---\n`,
          ] as const,
      ),
    first: ({ item }) => [
      item({
        collection: "posts",
        slug: "00001",
        includeNeighbors: true,
        sort: "frontMatter.k",
      }),
    ],
    attack: flood({ times: 20, atOnce: 10 }, (n, { item }) =>
      item({
        collection: "posts",
        slug: number(n),
        includeNeighbors: true,
        sort: "-frontMatter.k",
        "filter[frontMatter.k][gte]": `${n}`,
        "filter[path]": `!**/${"*1".repeat(80)}x`,
      })),
  },
  {
    // To find the real path of a file takes longer the deeper it is.
    name: "deep-local-folder",
    attacker: "author",
    folder: () =>
      many(
        300,
        (n) => [`posts/${"d/".repeat(700)}${n}.md`, `${n}\n`] as const,
      ),
    attack: async (attacker, { list }) => {
      await attacker.send(list());
    },
  },
  {
    // The folder is looked at again at most once a second.
    name: "local-folder",
    attacker: "author",
    folder: () =>
      many(
        40_000,
        (n) =>
          [`posts/d${n % 200}/post-${n}.md`, `---\nk: ${n}\n---\n`] as const,
      ),
    first: ({ list }) => [list({ limit: 1 })],
    waitMs: 1_000,
    attack: async (attacker, { list }) => {
      for (let n = 0; n < 12 && !attacker.signal.aborted; n++) {
        await attacker.all(
          many(4, (k) => list({ page: n * 4 + k + 1, limit: 1_000 })),
        );
        await attacker.wait(1_000);
      }
    },
  },
];
