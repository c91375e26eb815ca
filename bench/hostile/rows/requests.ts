// What anybody can do with addresses, headers and many requests, over ordinary
// content or over content of an author's own: addresses that are long or always
// new, large answers, checks of refs, and slots that are shared with others.

import { makeGitRepository } from "../../../tests/github/git_repository.ts";
import type { Http1Request } from "../http1.ts";
import { OWNERS } from "../source_names.ts";
import {
  coldList,
  flood,
  gitFiles,
  many,
  ORDINARY,
  posts,
  repeat,
  requests,
  type Row,
  siteOf,
} from "../row.ts";

const [, SECOND, THIRD] = OWNERS;
const CONTROLS = '\u0000\u0001<>&"\\';
const BRANCHES = 2_000;
const MARKS = "\u0345\u035d\u0315\u0301\u0323\u0327\u0f71\u0e38\u064b\u05b0";
/** Marks that normalization puts into the opposite order. */
const UNORDERED = many(4_000, (n) => MARKS[Math.floor(n / 400)]);

/** An answer of GitHub takes that long here. */
const SLOW_MS = 300;
/** A source that answers after some time, as GitHub does. */
const slowly: Row["answer"] = async (kind) => {
  const isBulk = kind === "graphql" || kind === "blob" ||
    kind.startsWith("tree");
  if (isBulk) await new Promise((resume) => setTimeout(resume, SLOW_MS));
  return null;
};

const ordinary = siteOf(ORDINARY);

/** Bytes that repeat after a long time, so that they do not compress well. */
function noise(bytes: number, seed: number): Uint8Array {
  const made = new Uint8Array(bytes);
  let state = seed;
  for (let at = 0; at < bytes; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    made[at] = state >>> 24;
  }
  return made;
}

const ADDRESS_ROWS: readonly Row[] = [
  {
    // 20,000 escapes in the name of one parameter, none of which can be
    // decoded.
    name: "one-escape",
    attacker: "anybody",
    attack: flood(
      { times: 50, atOnce: 50 },
      (n, { list }) => `${list()}&${"%zz".repeat(19_500)}=${n}`,
    ),
  },
  {
    name: "escapes",
    attacker: "anybody",
    attack: flood(
      { times: 50, atOnce: 50 },
      (n, { list }) => `${list()}&${"%zz&".repeat(14_500)}n=${n}`,
    ),
  },
  {
    // A path of 29,000 folders, which no route has.
    name: "deep-addresses",
    attacker: "anybody",
    attack: flood(
      { times: 50, atOnce: 50 },
      (n) => `${"/a".repeat(29_000)}/${n}`,
    ),
  },
  {
    // A letter whose marks are in no order, in a parameter that an item does
    // not use.
    name: "unordered-marks",
    attacker: "anybody",
    first: ({ item }) => [item({ path: "posts/0.md" })],
    attack: flood({ times: 400, atOnce: 20 }, (n, { item }) =>
      item({
        path: "posts/0.md",
        "filter[path][contains]": n + UNORDERED.join(""),
      })),
  },
  {
    // Parameters without effect, each time other ones, so that no address was
    // seen before.
    name: "addresses",
    attacker: "anybody",
    first: ({ list }) => [list()],
    attack: flood(
      { times: 3_000, atOnce: 30 },
      (n, { list }) =>
        `${list()}&${
          repeat(n % 10 === 0 ? 6_000 : 20, (k) => `x${n % 1_000}=${k % 10}&`)
        }`,
    ),
  },
  {
    name: "bad-parameters",
    attacker: "anybody",
    attack: flood({ times: 300, atOnce: 30 }, (n, { list }) => {
      const field = `frontMatter.${"k.".repeat(120)}`;
      const filters = repeat(
        150,
        (k) => `&filter[frontMatter.a${n}][${k}]=${"x".repeat(200)}`,
      );
      const lists = many(80, (k) => `${field}${k}`).join(",");
      return `${list()}${filters}&fields=${lists}&facets=${
        ",".repeat(3_000)
      }&sort=${field}`;
    }),
  },
  {
    name: "headers",
    attacker: "anybody",
    first: ({ list }) => [list()],
    attack: (attacker, { list }) => {
      const tags = `"1", `.repeat(10_000);
      const make = (n: number): Http1Request[] => [
        { target: list(), headers: { "if-none-match": `${tags}"${n}"` } },
        {
          target: list(),
          headers: { "accept-encoding": `gzip;q=0.${n}, `.repeat(3_000) },
        },
        {
          target: list(),
          headers: {
            "x-forwarded-for": `1.2.3.4, ${"::1, ".repeat(9_000)}10.9.9.9`,
          },
        },
        {
          target: list(),
          headers: {
            accept: "*/*,".repeat(14_000),
            cookie: "a=b;".repeat(100),
          },
        },
        {
          target: list(),
          headers: Object.fromEntries(
            many(90, (k) => [`x-${k}`, "a".repeat(500)]),
          ),
        },
      ];
      return attacker.flood({ times: 600, atOnce: 30 }, (n) => make(n)[n % 5]!);
    },
  },
  {
    // Names that nobody has: what is not there must not be remembered without
    // end, nor written down.
    name: "unknown-names",
    attacker: "anybody",
    attack: (attacker) => {
      const names = many(8, (k) => attacker.from(k + 1));
      const make = (n: number) =>
        [
          ordinary.list({ repo: `none-${n}` }),
          ordinary.list({ branch: `none-${n}${"x".repeat(200)}` }),
          ordinary.list({ collection: `none-${n}${"x".repeat(900)}` }),
          ordinary.item({ path: `${"x/".repeat(1_000)}${n}` }),
        ][n % 4]!;
      return Promise.all(
        names.map((client, k) =>
          client.flood(
            { times: 150, atOnce: 8 },
            (n) => make(n * names.length + k + n),
          )
        ),
      ).then(() => {});
    },
    check: ({ storeMb }) =>
      storeMb <= 8 ? null : `the store has ${storeMb} MiB`,
  },
  {
    // Addresses that are limited cost no request to the source.
    name: "misses",
    attacker: "anybody",
    repository: () =>
      makeGitRepository(
        gitFiles(posts(many(2_000, (n) => `---\nk: ${n}\n---\n`))),
      ),
    attack: flood(
      { times: 1_000, atOnce: 20 },
      (n, { list }) => list({ branch: `none-${n}` }),
    ),
    check: ({ sourceRequests }) =>
      sourceRequests <= 1_000
        ? null
        : `the source had ${sourceRequests} requests of one client`,
  },
];

const ANSWER_ROWS: readonly Row[] = [
  {
    name: "large-page",
    attacker: "author",
    folder: () =>
      posts(many(30, (n) => `${n}${CONTROLS.repeat(75_000)}`), "txt"),
    attack: requests(({ list }) => list({ includeContent: true })),
  },
  {
    name: "control-characters",
    attacker: "author",
    folder: () =>
      posts(many(30, (n) => `${n}${"\u0001".repeat(500_000)}`), "txt"),
    attack: flood(
      { times: 6, atOnce: 3 },
      (n, { list }) => list({ includeContent: true, limit: 30 - n }),
    ),
  },
  {
    name: "base64",
    attacker: "author",
    folder: () => posts(many(40, (n) => noise(400_000, n)), "bin"),
    attack: flood(
      { times: 8, atOnce: 4 },
      (n, { list }) => list({ includeContent: true, limit: 40 - n }),
    ),
  },
  {
    name: "raw-files",
    attacker: "author",
    folder: () => posts(many(8, (n) => noise(10_000_000, n)), "bin"),
    first: ({ list }) => [list()],
    attack: flood(
      { times: 60, atOnce: 20 },
      (n, { item }) =>
        item({
          path: `posts/${n % 8}.bin`,
          ...n % 3 === 0 ? {} : { format: "raw" },
        }),
    ),
  },
  {
    // Each page of another length is compressed anew.
    name: "gzip-pages",
    attacker: "author",
    folder: () =>
      posts(many(100, (n) => `${n} ${"lorem ipsum ".repeat(3_000)}`)),
    first: ({ list }) => [list({ includeContent: true, limit: 1 })],
    attack: (attacker, { list }) =>
      attacker.flood({ times: 60, atOnce: 10 }, (n) => ({
        target: list({ includeContent: true, limit: 100 - n }),
        headers: { "accept-encoding": "gzip" },
      })),
  },
  {
    // The cached answer of 4 MB, to many connections.
    name: "large-hits",
    attacker: "anybody",
    repository: () =>
      makeGitRepository(
        gitFiles(posts(many(40, (n) => noiseText(100_000, n)))),
      ),
    first: ({ list }) => [list({ includeContent: true })],
    attack: flood(
      { times: 200, atOnce: 40 },
      (_n, { list }) => list({ includeContent: true }),
    ),
  },
];

const noiseText = (bytes: number, seed: number) =>
  noise(bytes / 2, seed).toHex();

const SHARED_ROWS: readonly Row[] = [
  {
    // Each of 2,000 branches is checked again for one client that is charged
    // nothing for it.
    name: "checks",
    attacker: "anybody",
    repository: async () => {
      const repository = await makeGitRepository({ "posts/a.md": "x" });
      for (let n = 0; n < BRANCHES; n++) await repository.branch(`b${n}`);
      return repository;
    },
    first: ({ list }) => many(BRANCHES, (n) => list({ branch: `b${n}` })),
    waitMs: 61_000,
    attack: flood(
      { times: BRANCHES, atOnce: 30 },
      (n, { list }) => list({ branch: `b${n}` }),
    ),
    withinMs: 60_000,
  },
  {
    // Two addresses that hold every slot for background jobs, while another
    // client sorts for the first time.
    name: "held-jobs",
    attacker: "anybody",
    repository: () =>
      makeGitRepository(
        gitFiles(posts(many(12_000, (n) => `---\nk: ${n}\n---\n`))),
      ),
    answer: slowly,
    first: ({ list }) => [list({ owner: SECOND! }), list({ owner: THIRD! })],
    attack: async (attacker, { list }) => {
      const hold = (host: number, owner: string) =>
        attacker.from(host).flood(
          { times: 60, atOnce: 12 },
          (n) => list({ owner, sort: `frontMatter.k${n}` }),
        );
      const held = Promise.all([hold(1, SECOND!), hold(2, THIRD!)]);
      await attacker.wait(2_000);
      const first = coldList({ sort: "frontMatter.title" });
      await attacker.bystander("another client's first sort", first, {
        withinMs: 3_000,
      });
      await held;
    },
    withinMs: 20_000,
  },
  {
    // Two addresses that ask for more contents than the process may hold, each
    // time by a new URL.
    name: "held-contents",
    attacker: "author",
    folder: () =>
      posts(many(200, (n) => `${n}${" of some words".repeat(71_000)}`), "txt"),
    first: ({ list }) => [list({ limit: 1 })],
    attack: async (attacker, { list }) => {
      const hold = (host: number, extra: string) =>
        attacker.from(host).flood({ times: 60, atOnce: 60 }, (n) =>
          list({
            includeContent: true,
            limit: 4,
            page: n % 50 + 1,
            fields: `content,${extra}${n < 50 ? "" : ",path"}`,
          }));
      await Promise.all([hold(1, "name"), hold(2, "size")]);
    },
    withinMs: 40_000,
  },
  {
    // Two addresses that hold memory for files with Markdown that is slow,
    // while another client sorts files of over 256 KiB together.
    name: "held-files",
    attacker: "author",
    folder: () => [
      ...posts(many(60, (n) => `${n}\n\n${"*a **a ".repeat(59_800)}`)),
      ...many(
        100,
        (n) =>
          [
            `notes/${n}.md`,
            `---\nt: ${n}\n---\n${"some words ".repeat(400)}`,
          ] as const,
      ),
    ],
    first: ({ list }) => [list({ limit: 1 })],
    attack: async (attacker, { list }) => {
      for (const page of [1, 2, 3, 4, 5, 6]) {
        void attacker.from(page % 2 + 1).sendUntilReady(
          list({ includeHtml: true, limit: 10, page }),
          200,
        );
      }
      await attacker.wait(3_000);
      await attacker.bystander(
        "another client's first sort of 450 kB",
        list({ collection: "notes", sort: "frontMatter.t", limit: 5 }),
        { withinMs: 3_000 },
      );
    },
    withinMs: 30_000,
  },
  {
    // Bulk reads of many clients must not keep a cold list waiting.
    name: "bulk-reads",
    attacker: "anybody",
    repository: () =>
      makeGitRepository(
        gitFiles(
          posts(many(4_000, (n) => `${n} ${"lorem ipsum ".repeat(1_000)}`)),
        ),
      ),
    answer: slowly,
    attack: async (attacker, { list }) => {
      const readers = many(
        40,
        (k) =>
          attacker.from(k + 1).flood({ times: 10, atOnce: 4 }, (n) =>
            list({
              includeContent: true,
              limit: 100,
              page: 1 + (k + n * 40) % 40,
              owner: OWNERS[k % 8]!,
            })),
      );
      await attacker.wait(1_000);
      const options = { withinMs: 3_000 };
      await attacker.bystander(
        "another client's cold list",
        coldList(),
        options,
      );
      await Promise.all(readers);
    },
    withinMs: 30_000,
  },
  {
    name: "sorts",
    attacker: "anybody",
    folder: () =>
      posts(many(3_000, (n) => `---\nk: ${n * 7_919 % 3_000}\n---\n`)),
    first: ({ list }) => [list({ sort: "frontMatter.k" })],
    attack: flood(
      { times: 300, atOnce: 20 },
      (n, { list }) =>
        list({
          sort: `frontMatter.k${n}`,
          facets: `frontMatter.k,frontMatter.x${n}`,
        }),
    ),
  },
  {
    // New content again and again, which is written to the key-value store.
    name: "disk",
    attacker: "author",
    repository: () =>
      makeGitRepository(
        gitFiles(posts(many(60, (n) => noiseText(900_000, n)))),
      ),
    env: { KV_WRITE_MB_PER_HOUR: "4" },
    attack: flood(
      { times: 15, atOnce: 2 },
      (n, { list }) => list({ includeContent: true, limit: 4, page: n + 1 }),
    ),
    // The store keeps a log of about as many bytes again.
    check: ({ storeMb }) =>
      storeMb <= 16 ? null : `the store has ${storeMb} MiB`,
  },
  {
    name: "log",
    attacker: "anybody",
    env: { LOG_LEVEL: "info" },
    hasUnreadLog: true,
    attack: flood(
      { times: 6_000, atOnce: 30 },
      (n) => `/${"x".repeat(300)}/${n}`,
    ),
  },
];

export const REQUEST_ROWS: readonly Row[] = [
  ...ADDRESS_ROWS,
  ...ANSWER_ROWS,
  ...SHARED_ROWS,
];
