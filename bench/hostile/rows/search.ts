// Full text search, over the files of a collection and over the rows of a data
// file: texts that are slow to split into words, to index, to find and to show.

import { collidingWords } from "../../../tests/content/colliding_words.ts";
import {
  type Files,
  flood,
  many,
  type Parameters,
  posts,
  repeat,
  type Row,
} from "../row.ts";

const MAX_BYTES = 10_000_000;
/** Of all files of a collection. */
const MAX_FILES_BYTES = 32_000_000;
/** Words of a search. */
const MAX_WORDS = 32;

const fill = (part: string, bytes: number) =>
  part.repeat(Math.floor(bytes / new TextEncoder().encode(part).length));

/** Words that differ, of the same length. */
const word = (n: number) => n.toString(36).padStart(4, "0");
const words = (from: number, count: number) =>
  repeat(count, (n) => `${word(from + n)} `);
const letters = many(MAX_WORDS, (n) => n.toString(36));

/** A row that searches a folder for different words. */
function search(
  name: string,
  folder: () => Files,
  query: (n: number) => Parameters,
): Row {
  return {
    name: `search-${name}`,
    attacker: "author",
    folder,
    first: ({ list }) => [list({ limit: 1, collection: "/" })],
    attack: async (attacker, site) => {
      await attacker.sendUntilReady(site.list(query(0)));
      const again = flood(
        { times: 20, atOnce: 5 },
        (n, { list }) => list(query(n + 1)),
      );
      await again(attacker, site);
    },
    withinMs: 60_000,
  };
}

const data = (lines: string): Files => [["posts/a.csv", lines]];
const inData = { collection: "posts/a.csv" };

export const SEARCH_ROWS: readonly Row[] = [
  search(
    "words",
    () => posts(many(20, (n) => words(n * 80_000, 80_000)).concat("0")),
    (n) => ({ search: n.toString(36), limit: 100 }),
  ),
  // A table of words takes quadratic time for these.
  search(
    "collisions",
    () =>
      posts(many(8, (n) => collidingWords(40_000).toSpliced(0, n).join(" "))),
    (n) => ({ search: `a${n}` }),
  ),
  // Each row is found by each word, very often.
  search(
    "hits",
    () => posts(many(3, () => fill(`${letters.join(" ")} `, MAX_BYTES))),
    (n) => ({ search: `${letters.slice(n % 10).join(" ")}` }),
  ),
  search(
    "one-file",
    () => posts([words(0, MAX_BYTES / 5)]),
    (n) => ({ search: `${word(n)} 0` }),
  ),
  search(
    "many-files",
    () => posts(many(4_900, (n) => fill(`a${n} b c `, 6_000))),
    (n) => ({ search: `b c a${n}`, limit: 1_000, sort: "name" }),
  ),
  search(
    "unspaced",
    () =>
      posts(
        many(3, (n) => `${n}${fill("\u4e00\u4e8c\u4e09\u4e00", MAX_BYTES)}`),
      ),
    (n) => ({ search: "\u4e00\u4e8c\u4e09\u4e00".repeat(8) + n }),
  ),
  search(
    "marks",
    () =>
      posts(many(3, (n) => `${n} ${fill("e\u0301\u0302\u0303", MAX_BYTES)}`)),
    (n) => ({ search: `e${"\u0301".repeat(n)}` }),
  ),
  search(
    "unordered-marks",
    () => posts([`e${fill("\u0301\u0323", 1_000_000)} b`]),
    (n) => ({ search: "e", limit: n + 1 }),
  ),
  search(
    "fences",
    () => posts(many(8, () => fill("```\n# a\n~~~\n", 4_000_000))),
    (n) => ({ search: `a${n}` }),
  ),
  search(
    "headings",
    () => posts(many(8, () => fill("# \t \t \t\n#", 4_000_000))),
    (n) => ({ search: `a${n}` }),
  ),
  search(
    "snippets",
    () =>
      posts(many(100, (n) => `${fill("a b ", MAX_FILES_BYTES / 101)} c${n}`)),
    (n) => ({ search: `c${n % 10}`, limit: 100 }),
  ),
  search(
    "rows",
    () => data(`a\n${repeat(190_000, (n) => `b c${word(n)} d\n`)}`),
    (n) => ({ ...inData, search: `b d ${n % 10}`, limit: 1_000 }),
  ),
  search(
    "wide-row",
    () => data(`a\n${words(0, MAX_BYTES / 5)}\n`),
    (n) => ({ ...inData, search: `${word(n)} 0`, fields: "index" }),
  ),
];
