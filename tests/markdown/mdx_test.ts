// MDX as HTML: the text is that of its Markdown, and nothing of the program is
// left.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { type DefaultTreeAdapterTypes, parseFragment } from "parse5";
import { RenderFailure } from "../../lib/content/growth.ts";
import { renderMarkdown } from "../../lib/content/render_markdown.ts";

/** No file has a shape twice. */
const STEPS = [1, 3, 7, 9, 11, 13, 17];
const FENCE = "```";

/**
 * Shapes of documentation in MDX, each beside its Markdown. The program has the
 * word PROGRAM in each of its parts.
 */
const SHAPES: readonly { mdx: string; markdown: string; names?: string }[] = [
  {
    mdx:
      'import PROGRAM from "~/components/PROGRAM.astro";\nimport { A as PROGRAM2 } from "PROGRAM";',
    markdown: "",
  },
  {
    mdx: "export const PROGRAM1 = {\n  a: [1, 2],\n  b: `PROGRAM`,\n};",
    markdown: "",
  },
  {
    mdx: "export function PROGRAM3({ a }) {\n  return <p>PROGRAM {a}</p>;\n}",
    markdown: "",
  },
  { mdx: "{/* PROGRAM: a comment */}", markdown: "" },
  {
    mdx: "{PROGRAM.map((one) => (\n  <li key={one}>{one.PROGRAM}</li>\n))}",
    markdown: "",
  },
  {
    mdx: "## Install {PROGRAM}the <Badge text={PROGRAM} /> tool",
    markdown: "## Install the tool",
    names: "Badge",
  },
  {
    mdx:
      `<Steps>\n1. Open a terminal.\n\n2. Run it:\n   ${FENCE}sh\n   npm run dev\n   ${FENCE}\n</Steps>`,
    markdown:
      `1. Open a terminal.\n\n2. Run it:\n   ${FENCE}sh\n   npm run dev\n   ${FENCE}`,
    names: "Steps",
  },
  {
    mdx:
      `<Tabs>\n  <Fragment slot="npm">\n  ${FENCE}shell\n  npm i a\n  ${FENCE}\n  </Fragment>\n` +
      `  <Fragment slot="pnpm">\n  ${FENCE}shell\n  pnpm add a\n  ${FENCE}\n  </Fragment>\n</Tabs>`,
    markdown:
      `${FENCE}shell\nnpm i a\n${FENCE}\n\n${FENCE}shell\npnpm add a\n${FENCE}`,
    names: "Tabs Fragment",
  },
  {
    mdx:
      '<p>\n\n**Type:** `boolean`<br />\n**Default:** {PROGRAM}\n<Since v="4.0" />\n</p>',
    markdown: "**Type:** `boolean`\n**Default:**",
    names: "Since",
  },
  {
    mdx: "<ReadMore>See the [guide](/en/guide/) for more.</ReadMore>",
    markdown: "See the [guide](/en/guide/) for more.",
    names: "ReadMore",
  },
  {
    mdx:
      "<TabItem label={PROGRAM} open>\n\n| a | b |\n| - | - |\n| 1 | <Cell>2</Cell> |\n\n</TabItem>",
    markdown: "| a | b |\n| - | - |\n| 1 | 2 |",
    names: "TabItem Cell",
  },
  {
    mdx:
      "<FileTree>\n- src/\n  - pages/\n    - **index.astro** the page\n</FileTree>",
    markdown: "- src/\n  - pages/\n    - **index.astro** the page",
    names: "FileTree",
  },
  {
    mdx:
      "<CardGrid>\n  <LinkCard {...PROGRAM} title=\"PROGRAM\" />\n  <Card icon='PROGRAM'>In a card</Card>\n</CardGrid>",
    markdown: "In a card",
    names: "CardGrid LinkCard Card",
  },
  {
    mdx:
      '- one <Icon name="PROGRAM" /> two\n- three\n\n> <Aside>a quote</Aside>',
    markdown: "- one  two\n- three\n\n> a quote",
    names: "Icon Aside",
  },
  {
    mdx: 'Press <kbd>A</kbd>{" "}\n<kbd>B</kbd> in {PROGRAM} time.',
    markdown: "Press A\nB in  time.",
  },
  {
    mdx: "<details>\n<summary>More</summary>\n\nHidden *text*\n\n</details>",
    markdown: "More\n\nHidden *text*",
  },
  { mdx: "<>\n\nIn a fragment\n\n</>", markdown: "In a fragment" },
  {
    mdx: "A <Docs.Term>term</Docs.Term> of [ours](./a.mdx) and `{code}`.",
    markdown: "A term of [ours](./a.mdx) and `{code}`.",
    names: "Docs.Term",
  },
  {
    mdx:
      `${FENCE}jsx\nimport a from "a";\nexport const b = <C d={e} />;\n${FENCE}`,
    markdown:
      `${FENCE}jsx\nimport a from "a";\nexport const b = <C d={e} />;\n${FENCE}`,
  },
  {
    mdx:
      ":::note[Mind this]\nA note, with a footnote.[^1]\n:::\n\n[^1]: Below <Small>it</Small>.",
    markdown:
      ":::note[Mind this]\nA note, with a footnote.[^1]\n:::\n\n[^1]: Below it.",
    names: "Small",
  },
];

function textOf(node: DefaultTreeAdapterTypes.Node): string {
  if (node.nodeName === "#text") {
    return (node as DefaultTreeAdapterTypes.TextNode).value;
  }
  return "childNodes" in node ? node.childNodes.map(textOf).join("") : "";
}

/** The text without white space, which blocks have between them. */
const text = (html: string) => textOf(parseFragment(html)).replace(/\s+/g, "");
const render = (source: string) => {
  const { parts, ...rest } = renderMarkdown(source, true);
  return { html: parts.join(""), ...rest };
};

Deno.test("60 MDX files render with their text and no program", () => {
  for (let file = 0; file < 60; file++) {
    // Each file has other shapes in another order.
    const shapes = Array.from(
      { length: 8 },
      (_, n) =>
        SHAPES[(file + n * STEPS[file % STEPS.length]!) % SHAPES.length]!,
    );
    const join = (key: "mdx" | "markdown") =>
      shapes.map((shape, n) => `${shape[key]}\n\nParagraph ${n} of ${file}.`)
        .join("\n\n");
    const { html, words, mdxComponents } = render(join("mdx"));
    const expected = renderMarkdown(join("markdown"));
    assertEquals(text(html), text(expected.parts.join("")), join("mdx"));
    assertEquals(words, expected.words, join("mdx"));
    const names = shapes.flatMap(({ names = "" }) => names.split(" "));
    assertEquals(
      mdxComponents?.toSorted(),
      [...new Set(names)].filter((name) => name !== "").sort(),
    );
    const shown = html.replace(/<(pre|code)\b.*?<\/\1>/gs, "");
    assert(!/PROGRAM|\b(import|export)\b|[{}]/.test(shown), shown);
  }
});

Deno.test("renderMarkdown() has a div or span for each component", () => {
  const rendered = {
    "<A b='c'>d</A>": '<div data-component="A">d</div>',
    "a <B>*c*</B>": '<p>a <span data-component="B"><em>c</em></span></p>',
    "<A>\n  b\n  <C.D/>\n</A>":
      '<div data-component="A"><p>b</p><div data-component="C.D"></div></div>',
    "<A><B>c</B></A>":
      '<div data-component="A"><span data-component="B">c</span></div>',
    "<>a</>": "a",
    "<kbd>a</kbd> <kbd>b</kbd>": "<kbd>a</kbd>\n \n<kbd>b</kbd>",
    "<img src='a.png' alt={b} width=\"2\" />": '<img width="2">',
    "<div data-component='A' dataComponent='A'>a</div>": "<div>a</div>",
    "<my-card>a</my-card>": "a",
    "a{' '}b {c}": "<p>a b </p>",
  };
  for (const [mdx, html] of Object.entries(rendered)) {
    assertEquals(render(mdx).html, html);
  }
});

Deno.test("renderMarkdown() lists components by first use", () => {
  const { mdxComponents } = render(
    "<B><A/></B>\n\nx <C/> <A/> <b/>\n\n<D><B/></D>",
  );
  assertEquals(mdxComponents, ["B", "A", "C", "D"]);
  assertEquals(renderMarkdown("<A/>").mdxComponents, undefined);
});

Deno.test("renderMarkdown() names the line of bad MDX", () => {
  const messages = {
    "a\n\n<A>": "for `<A>` (3:1-3:4)",
    "a {": "Line 1 is not valid MDX: ",
    "\n<!-- a -->": "Line 2 is not valid MDX: ",
    "import a from;": "Line 1 is not valid MDX: ",
  };
  for (const [mdx, message] of Object.entries(messages)) {
    assertThrows(() => render(mdx), RenderFailure, message);
  }
});

Deno.test("renderMarkdown() takes names that objects inherit", () => {
  for (const name of ["constructor", "__proto__", "toString", "valueOf"]) {
    const { html } = render(
      `<${name}>a</${name}> <p ${name}="b">c</p> <A.${name} ${name}="d" />`,
    );
    assertEquals(text(html), "ac", name);
  }
});
