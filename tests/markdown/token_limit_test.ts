import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import type { Root } from "mdast";
import remarkGfm from "remark-gfm";
import remarkMdx from "remark-mdx";
import remarkParse from "remark-parse";
import { unified } from "unified";
import { render } from "../../lib/content/render.ts";
import { renderMarkdown } from "../../lib/content/render_markdown.ts";
import { countTokens, withTokens } from "../../lib/content/token_limit.ts";
import { TimeLimitError, unlimited } from "../../lib/thread/compute.ts";

/** Parts of Markdown. A file may repeat any of them. */
const PARTS = [
  ..."*~_[]!&<`>#|\\",
  ..."a \n- a\n\n1. a\n# a\n> a\n\n```\na\n```\n[a]: b\n".split(/(?<=\n)/),
  "a ",
  "&amp;",
  "\\*",
  "*a*",
  "`a`",
  "`a``b",
  "~~a~~",
  "[a](b)",
  "![a](b)",
  "[^a]",
  "[^a]: b\n\n",
  "<b>",
  "<!-- -->\n",
  "<p>\n\n",
  "www.a.b a@b.c ",
  "|a|b|\n|-|-|\n|c|d|\n\n",
  "- [x] a\n",
  "a\\\nb  \n",
  "    a\n\n",
  "a\n=\n",
  "***\n",
  "> > - 1. a\n",
  "a@b.c,",
  "http://a\u00a0",
  "<p>",
];
/** A run of these is a single token. */
const SINGLE = ["*", "~", "_", "`", "#"];
const MDX_PARTS = ["{a}", "{}<a/>", "<A/>", "<A b={c}>a</A>", "export {}\n\n"];

Deno.test("renderMarkdown() stops at a number of tokens", () => {
  const stops = (part: string, isMdx = false) =>
    assertThrows(
      () => renderMarkdown(part.repeat(4_000), { isMdx, maxTokens: 500 }),
      TimeLimitError,
      undefined,
      part,
    );
  for (const part of PARTS) if (!SINGLE.includes(part)) stops(part);
  for (const part of MDX_PARTS) stops(part, true);
  // Definitions are parsed apart from other lines.
  assertThrows(
    () => renderMarkdown("[a]: b\n".repeat(100), { maxTokens: 1_500 }),
    TimeLimitError,
  );
  // The next file has its own limit.
  renderMarkdown("a ".repeat(4_000));
});

Deno.test("countTokens() changes no tree", () => {
  const gfm = unified().use(remarkParse).use(remarkGfm);
  const mdx = unified().use(remarkParse).use(remarkGfm).use(remarkMdx);
  const treeOf = (parser: typeof gfm | typeof mdx, text: string) => {
    try {
      return JSON.stringify(
        withTokens(Infinity, () => ({ tree: parser.parse(text) as Root })),
      );
    } catch (error) {
      return `${error}`;
    }
  };
  for (
    const [plain, parts] of [
      [gfm, PARTS],
      [mdx, [...PARTS, ...MDX_PARTS]],
    ] as const
  ) {
    const counting = plain().use(countTokens);
    const texts = fc.array(fc.constantFrom(...parts), { maxLength: 12 });
    fc.assert(
      fc.property(texts, (given) => {
        const text = given.join("");
        assertEquals(treeOf(counting, text), treeOf(plain, text));
      }),
      { numRuns: 2_000 },
    );
  }
});

Deno.test("render() makes fewer tokens while memory is short", () => {
  const text = "a ".repeat(31_000);
  const input = {
    repository: "octo/site",
    files: [{ id: "1", bytes: new TextEncoder().encode(text) }],
  };
  const [result] = render(input, unlimited).results;
  assert(result instanceof Uint8Array);
  assertEquals(render(input, { ...unlimited, isMemoryShort: true }), {
    results: [],
    isSlow: true,
  });
});
