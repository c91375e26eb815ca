// Front matter and what is computed from it: YAML, JSON in YAML and TOML, each
// close to the limit of its characters; sorting, filtering, facets and fields
// over many values.

import { makeGitRepository } from "../../../tests/github/git_repository.ts";
import {
  flood,
  gitFiles,
  many,
  type Parameters,
  posts,
  repeat,
  requests,
  type Row,
} from "../row.ts";

/**
 * What a block of front matter may have in characters, with its fences left
 * out.
 */
const MAX_CHARS = 262_000;
const COMBINING = "\u0301";

const yaml = (block: string) => `---\n${block}\n---\nx\n`;
const toml = (block: string) => `+++\n${block}\n+++\nx\n`;

/** A text of so many characters, made of one that is repeated. */
const fill = (part: string, chars = MAX_CHARS) =>
  part.repeat(Math.floor(chars / part.length));

/** A row whose files are the whole attack: one page with their front matter. */
function page(
  name: string,
  texts: () => readonly string[],
  parameters: Parameters = { includeFrontMatter: true, limit: 1_000 },
): Row {
  const attack = requests(({ list }) => list(parameters));
  return { name, attacker: "author", folder: () => posts(texts()), attack };
}

/**
 * The same text in many files, which differ by a comment, since equal files are
 * read once.
 */
const copies = (
  count: number,
  block: string,
  fence: (block: string) => string = yaml,
) => many(count, (n) => fence(`# ${n}\n${block}`));

const ALIASES = [..."bcdefghijklm"].map((name, n) =>
  `${name}: &${name} [${repeat(4, () => `*${"abcdefghijkl"[n]},`)}]\n`
).join("");

/** What the parsers do with one file. */
const PARSER_ROWS: readonly Row[] = [
  page(
    "yaml-errors",
    () => many(20, (n) => yaml(`a: |\n ${fill("\t\n", 250_000)}\n# ${n}`)),
  ),
  page("yaml-escapes", () => copies(20, `a: "${fill("\\q", MAX_CHARS - 50)}"`)),
  page(
    "yaml-unicode-escapes",
    () => copies(20, `a: "${fill("\\U0010FFFF", MAX_CHARS - 50)}"`),
  ),
  page(
    "json",
    () =>
      many(
        20,
        (n) => yaml(`${"[".repeat(20_000)}${"]".repeat(20_000)}\n# ${n}`),
      ),
  ),
  page(
    "json-keys",
    () =>
      copies(
        20,
        `{${many(2_900, (k) => `"${"k".repeat(70)}${k}": [${k}]`).join(", ")}}`,
      ),
  ),
  page("yaml-keys", () => copies(100, repeat(2_900, (k) => `key${k}: ${k}\n`))),
  page(
    "yaml-long-keys",
    () => copies(20, repeat(250, (k) => `${"k".repeat(1_020)}${k}: a\n`)),
  ),
  page("yaml-same-keys", () => copies(20, repeat(2_900, () => "key: a\n"))),
  page("yaml-aliases", () => copies(100, `a: &a [x,x,x,x]\n${ALIASES}`)),
  page(
    "yaml-anchors",
    () =>
      copies(
        50,
        `a: [${many(1_900, (k) => `&n${k} x`).join(", ")}]\nb: [${
          many(1_900, (k) => `*n${k}`).join(", ")
        }]`,
      ),
  ),
  page(
    "yaml-numbers",
    () =>
      copies(
        20,
        `a: ${fill("9", 80_000)}\nb: 0x${fill("f", 80_000)}\nc: 1.${
          fill("1", 80_000)
        }e5`,
      ),
  ),
  page(
    "yaml-folds",
    () =>
      copies(
        20,
        `a: >\n${fill("  a\n\n", 120_000)}b: "${fill("a\n ", 120_000)}"`,
      ),
  ),
  page("yaml-plain-lines", () => copies(20, `a: b\n${fill("  c\n")}`)),
  page("yaml-comments", () => copies(20, `${fill("#\n", 250_000)}a: b`)),
  page(
    "yaml-tags",
    () =>
      copies(50, repeat(1_700, (k) => `k${k}: !<tag:${"x".repeat(100)}> a\n`)),
  ),
  page(
    "yaml-directives",
    () => copies(20, `%TAG !e! tag:x,2000:\n${fill("%YAML 1.2\n", 200_000)}`),
  ),
  page(
    "yaml-indents",
    () => copies(20, repeat(60, (k) => `${" ".repeat(k * 60)}k:\n`)),
  ),
  page("yaml-sequences", () => copies(20, `a:\n${fill("- \n", 30_000)}`)),
  page(
    "yaml-spaces",
    () => copies(20, `a:${fill(" ", 250_000)}b\nc: 'd${fill(" \n", 5_000)}'`),
  ),
  page(
    "toml-keys",
    () => copies(50, repeat(11_000, (k) => `k${k} = 1\n`), toml),
  ),
  page(
    "toml-dotted-keys",
    () =>
      copies(20, repeat(2_000, (k) => `${fill("a.", 100)}k${k} = 1\n`), toml),
  ),
  page(
    "toml-tables",
    () => copies(20, repeat(2_000, (k) => `[${fill("a.", 100)}k${k}]\n`), toml),
  ),
  page(
    "toml-arrays",
    () => copies(20, repeat(9_000, () => `[[a]]\nb = 1\n`), toml),
  ),
  page(
    "toml-strings",
    () => copies(20, `a = """${fill("\\u00e9\\\n  \n")}"""`, toml),
  ),
  page(
    "toml-nested",
    () => copies(20, `a = ${"[".repeat(5_900)}${"]".repeat(5_900)}`, toml),
  ),
  page("toml-numbers", () => copies(20, `a = ${fill("9_9")}\n`, toml)),
  page(
    "toml-dates",
    () =>
      copies(
        20,
        repeat(7_000, (k) => `d${k} = 1979-05-27T07:32:00.999999Z\n`),
        toml,
      ),
  ),
  // Lines that look like the closing one, in files of 2 MB.
  page("fences", () => many(16, (n) => `---\n${fill(`---${n}\n`, 2_000_000)}`)),
  page(
    "near-limits",
    () =>
      copies(
        90,
        repeat(1_600, (k) => `k${k}: { a: "${"\u00e9".repeat(150)}" }\n`),
      ),
  ),
];

const filters = (name: string, values: readonly string[]) =>
  values.map((value) => [`filter[${name}]`, value] as const);

/** What is computed from the front matter of many files. */
const SELECTION_ROWS: readonly Row[] = [
  {
    name: "facets",
    attacker: "author",
    folder: () =>
      posts(
        many(45, (n) =>
          `+++\nt = [${
            many(11_000, (k) => `"${n}-${k}"`).join(",")
          }]\n+++\n`),
      ),
    first: ({ list }) => [list({ sort: "-frontMatter.zz" })],
    attack: requests(({ list }) => list({ facets: "frontMatter.t" })),
  },
  {
    name: "sort-marks",
    attacker: "author",
    folder: () =>
      posts(
        many(4_000, (n) =>
          yaml(`t: "${COMBINING.repeat(990)}${n * 7_919 % 10_000}"`)),
      ),
    first: ({ list }) => [list({ includeFrontMatter: true, limit: 1_000 })],
    waitMs: 3_000,
    attack: requests(({ list }) => list({ sort: "frontMatter.t" })),
  },
  {
    name: "sort-long-texts",
    attacker: "author",
    folder: () =>
      posts(
        many(1_000, (n) =>
          yaml(`t: "${"a".repeat(12_000)}${n * 7_919 % 10_000}"`)),
      ),
    first: ({ list }) => [list({ sort: "frontMatter.zz" })],
    attack: flood(
      { times: 2, atOnce: 2 },
      (n, { list }) =>
        list({ sort: `${n === 0 ? "" : "-"}frontMatter.t`, limit: 1_000 }),
    ),
  },
  {
    name: "filter-marks",
    attacker: "author",
    folder: () =>
      posts(many(3_000, (n) => yaml(`t: "${COMBINING.repeat(1_000)}${n}"`))),
    first: ({ list }) => [list({ sort: "frontMatter.zz" })],
    attack: requests(({ list }) =>
      list(
        many(20, (n) =>
          [
            `filter[frontMatter.t][gte]`,
            `${COMBINING.repeat(180)}${n}`,
          ] as const),
      )
    ),
  },
  {
    name: "many-filters",
    attacker: "author",
    folder: () => posts(many(12_000, (n) => yaml(`a: { b: { c: ${n} } }`))),
    first: ({ list }) => [list({ sort: "frontMatter.zz" })],
    attack: flood(
      { times: 10, atOnce: 10 },
      (n, { list }) =>
        list([
          ...filters("frontMatter.a.b.c", many(20, (k) => `!${n * 20 + k}`)),
          [
            "limit",
            "1000",
          ],
        ]),
    ),
  },
  {
    name: "many-small",
    attacker: "author",
    repository: () =>
      makeGitRepository(
        gitFiles(posts(many(20_000, (n) => yaml(`k: ${n * 7_919 % 20_000}`)))),
      ),
    attack: async (attacker, { list }) => {
      await attacker.sendUntilReady(list({ sort: "frontMatter.k" }));
    },
    withinMs: 60_000,
  },
  {
    name: "few-large",
    attacker: "author",
    folder: () =>
      posts(
        many(
          12,
          (n) => `${yaml(`k: ${n}`)}${fill("lorem ipsum\n", 10_000_000)}`,
        ),
      ),
    first: ({ list }) => [list({ limit: 1 })],
    attack: requests(
      ({ list }) => list({ sort: "frontMatter.k", includeFrontMatter: true }),
      ({ list }) => list({ includeContent: true }),
    ),
  },
  {
    name: "fields",
    attacker: "author",
    folder: () =>
      posts(
        many(1_000, (n) =>
          yaml(
            many(50, (k) => `k${k}: { a: { b: { c: ${n} } } }`).join("\n"),
          )),
      ),
    first: ({ list }) => [list({ includeFrontMatter: true, limit: 1_000 })],
    waitMs: 3_000,
    attack: flood({ times: 100, atOnce: 100 }, (n, { list }) => {
      const fields = many(50, (k) => `frontMatter.k${k}.a.b.c`).join(",");
      return list({ limit: 1_000, fields, n });
    }),
  },
];

export const FRONT_MATTER_ROWS: readonly Row[] = [
  ...PARSER_ROWS,
  ...SELECTION_ROWS,
];
