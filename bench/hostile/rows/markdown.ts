// Markdown and the HTML made of it: one row for each kind of text that a
// renderer may be slow for, files of up to 1 MiB, and the addresses in HTML,
// which are resolved for each answer.

import { makeGitRepository } from "../../../tests/github/git_repository.ts";
import {
  flood,
  gitFiles,
  many,
  posts,
  repeat,
  requests,
  type Row,
} from "../row.ts";

/** Files over 1 MiB are not rendered. */
const MAX_CHARS = 1_000_000;
const FILES = 4;

const fill = (part: string, chars = MAX_CHARS) =>
  part.repeat(Math.floor(chars / part.length));

/**
 * A row whose files are the whole attack: one page of their HTML. Files differ,
 * since equal ones are rendered once.
 */
function page(
  name: string,
  make: (n: number) => string,
  count = FILES,
  extension = "md",
): Row {
  const attack: Row["attack"] = async (attacker, { list }) => {
    await attacker.sendUntilReady(list({ includeHtml: true, limit: 100 }));
  };
  const folder = () =>
    posts(many(count, (n) => `${n}\n\n${make(n)}`), extension);
  return { name, attacker: "author", folder, attack };
}

/** A short text with 1 MB of HTML: a reference repeats a long address. */
const longHtml = (n: number) =>
  `${n}\n\n[a]: https://a.example/${"x".repeat(10_000)}\n\n${
    "[a] ".repeat(94)
  }`;

/** A row of 4,999 images or links a file, in folders whose names are long. */
const DEEP_FOLDER = many(15, () => "€".repeat(83)).join("/");
const short = (n: number) => n.toString(36);
const IMAGES = repeat(4_999, (n) => `![](${short(n)})`);

const RENDER_ROWS: readonly Row[] = [
  page("markdown-quotes", () => fill(">", 100_000)),
  page("markdown-quote-lines", () => fill(`${">".repeat(200)}a\n`)),
  page("markdown-lists", () => repeat(700, (n) => `${"  ".repeat(n)}- a\n`)),
  page("markdown-list-items", () => fill("- a\n\n")),
  page("markdown-emphasis", () => fill("*a **a ", 200_000)),
  page(
    "markdown-emphasis-ends",
    () => `${fill("a**b", 100_000)}${fill("c* ", 100_000)}`,
  ),
  page("markdown-brackets", () => fill("[", 100_000)),
  page("markdown-links", () => fill("[a](", 200_000)),
  page("markdown-images", () => fill("![[]()", 200_000)),
  page(
    "markdown-references",
    () =>
      `${repeat(5_000, (n) => `[a${n}]: /x${n}\n`)}\n${
        repeat(40_000, (n) => `[a${n % 5_000}] `)
      }`,
  ),
  page(
    "markdown-footnotes",
    () =>
      `${repeat(4_000, (n) => `a[^${n}] `)}\n\n${
        repeat(4_000, (n) => `[^${n}]: b[^${(n + 1) % 4_000}]\n\n`)
      }`,
  ),
  page("markdown-same-footnote", () => `[^a]: b\n\n${fill("[^a]", 200_000)}`),
  page(
    "markdown-tables",
    () =>
      `|${"a|".repeat(300)}\n|${"-|".repeat(300)}\n${
        fill(`|${"b|".repeat(300)}\n`, 200_000)
      }`,
  ),
  page(
    "markdown-wide-table",
    () =>
      `|${fill("a|", 100_000)}\n|${fill("-|", 100_000)}\n${
        fill("|\n", 20_000)
      }`,
  ),
  page("markdown-code", () => fill("`a``b", 200_000)),
  page("markdown-fences", () => fill("```\na\n````\n")),
  page("markdown-entities", () => fill("&amp;&#1114111;&x")),
  page("markdown-autolinks", () => fill("www.a.b a@b.c http://d.e ")),
  page("markdown-email-parts", () => fill("a.", 200_000) + fill("a@", 200_000)),
  page("markdown-strikethrough", () => fill("~~a ~b ", 200_000)),
  page("markdown-html", () => fill("<div><span>", 200_000)),
  page(
    "markdown-html-open",
    () =>
      fill("<a b='", 200_000) + fill("<!--", 100_000) +
      fill("<![CDATA[", 100_000),
  ),
  page(
    "markdown-html-attributes",
    () => `<p ${repeat(40_000, (n) => `a${n}=b `)}>c</p>`,
  ),
  page("markdown-html-tables", () => fill("<table><tr><td>", 200_000)),
  page("markdown-html-formatting", () => fill("<b><i><a><p>", 60_000)),
  page("markdown-lines", () => fill("a\\\nb  \n")),
  page("markdown-words", () => fill("a ")),
  page(
    "markdown-unicode",
    () => fill("\u{1f468}\u200d\u{1f469}\u0301\u3000\u202e ", 400_000),
  ),
  page("markdown-alerts", () => fill("> [!NOTE]\n> a\n\n")),
  ...[
    ["expressions", "{a}\n\n"] as const,
    ["elements", "<A {...b}>"] as const,
    ["attributes", "<A b='c' d={e}/>"] as const,
    ["exports", "export const a = {\n"] as const,
  ].map(([name, part]) =>
    page(`markdown-mdx-${name}`, () => fill(part), FILES, "mdx")
  ),
  page("headings", () => fill("# a\n\n", 500_000)),
  page("numbered-headings", () => repeat(40_000, (n) => `# a-${n % 300}\n\n`)),
  // Each of the headings has all of the text, since each is inside the one
  // before.
  page(
    "nested-headings",
    () => `${"<h1><div>".repeat(400)}${fill("word ", MAX_CHARS - 4_000)}`,
    4,
  ),
];

const ADDRESS_ROWS: readonly Row[] = [
  {
    name: "html-addresses",
    attacker: "author",
    folder: () => {
      const deep = many(8, () => "€".repeat(60)).join("/");
      const text = repeat(4_900, (n) => `![](${short(n)})`);
      return many(3, (n) => [`posts/${deep}/${n}.md`, text] as const);
    },
    attack: requests(({ list }) => list({ includeHtml: true, limit: 2 })),
  },
  {
    // A file of 58 kB whose HTML would have 57 MB.
    name: "html-images",
    attacker: "author",
    repository: () =>
      makeGitRepository(
        gitFiles(many(20, (n) =>
          [`posts/${DEEP_FOLDER}/${n}.md`, `${n}\n\n${IMAGES}`] as const)),
      ),
    attack: async (attacker, { list }) => {
      await Promise.all(
        many(
          3,
          (n) =>
            attacker.sendUntilReady(list({ includeHtml: true, limit: 20 - n })),
        ),
      );
    },
    withinMs: 60_000,
  },
  {
    // Each link leads to an item, which is found among 50,000.
    name: "links-to-items",
    attacker: "author",
    repository: () =>
      makeGitRepository(gitFiles([
        ...many(20, (n) => {
          const links = repeat(4_900, (k) =>
            `[a](b/${(n * 4_900 + k) % 50_000}.md)`);
          return [`posts/a${n}.md`, `${n}\n\n${links}`] as const;
        }),
        ...many(50_000, (n) =>
          [`posts/b/${n}.md`, "x\n"] as const),
      ])),
    first: ({ list }) => [list({ includeHtml: true, limit: 20 })],
    attack: flood(
      { times: 10, atOnce: 5 },
      (n, { list }) => list({ includeHtml: true, limit: 20 - n }),
    ),
  },
  {
    name: "link-template",
    attacker: "author",
    repository: () =>
      makeGitRepository(gitFiles(many(20, (n) => {
        const links = repeat(4_900, (k) => `[a](${k % 20}.md)`);
        return [`posts/${DEEP_FOLDER}/${n}.md`, `${n}\n\n${links}`] as const;
      }))),
    first: ({ list }) => [list({ limit: 1 })],
    attack: flood({ times: 10, atOnce: 5 }, (n, { list }) => {
      const linkTemplate = `https://a.example/${"x".repeat(150)}${n}/{slug}`;
      return list({ includeHtml: true, limit: 20, linkTemplate });
    }),
  },
  {
    // Short files with long HTML, which the store keeps and memory does not.
    name: "stored-html",
    attacker: "author",
    folder: () => posts(many(100, longHtml)),
    first: ({ list }) =>
      many(20, (n) => list({ includeHtml: true, limit: 5, page: n + 1 })),
    waitMs: 5_000,
    attack: flood(
      { times: 60, atOnce: 30 },
      (n, { list }) =>
        list({ includeHtml: true, limit: 100, linkTemplate: `/${n}/{slug}` }),
    ),
    withinMs: 60_000,
  },
  {
    // The same, rendered anew for ten clients.
    name: "new-html",
    attacker: "author",
    folder: () => posts(many(680, longHtml)),
    first: ({ list }) => [list({ limit: 1 })],
    attack: (attacker, { list }) =>
      attacker.flood({ times: 120, atOnce: 40 }, (n) => ({
        target: list({ includeHtml: true, limit: 17, page: n % 40 + 1 }),
        headers: attacker.from(1 + n % 10).address,
      })),
    withinMs: 60_000,
  },
  {
    // Ordinary HTML again and again: it is put together for each answer.
    name: "html-pages",
    attacker: "anybody",
    folder: () =>
      posts(
        many(100, (n) =>
          `# ${n}\n\n${
            repeat(400, (k) =>
              `A [link](${k}.md) and *text*.\n\n`)
          }`),
      ),
    first: ({ list }) => [list({ includeHtml: true, limit: 100 })],
    attack: flood(
      { times: 60, atOnce: 10 },
      (n, { list }) =>
        list({ includeHtml: true, limit: 100, linkTemplate: `/${n}/{slug}` }),
    ),
  },
];

export const MARKDOWN_ROWS: readonly Row[] = [...RENDER_ROWS, ...ADDRESS_ROWS];
