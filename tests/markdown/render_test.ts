import {
  assert,
  assertEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { RenderFailure } from "../../lib/content/growth.ts";
import { renderMarkdown } from "../../lib/content/render_markdown.ts";
import {
  joinHtml,
  type Rendered,
  resolveAddress,
} from "../../lib/content/rendered.ts";

/** The HTML with addresses that show what was to be resolved. */
function join(rendered: Rendered): string {
  return joinHtml(
    rendered,
    ({ kind, path, fragment }) => `${kind}:${path}${fragment}`,
  );
}

const html = (markdown: string) => join(renderMarkdown(markdown));

/** Checks what is made of each text. */
function checkEach<T>(
  expected: Readonly<Record<string, T>>,
  make: (markdown: string) => T,
): void {
  for (const [markdown, made] of Object.entries(expected)) {
    assertEquals(make(markdown), made, markdown);
  }
}

Deno.test("renderMarkdown() gives GitHub Flavored Markdown", () => {
  checkEach({
    "~~a~~ www.example.com":
      '<p><del>a</del> <a href="http://www.example.com">www.example.com</a></p>',
    "| a |\n| -: |":
      '<table>\n<thead>\n<tr>\n<th align="right">a</th>\n</tr>\n</thead>\n</table>',
    "```js\na<b\n```": '<pre><code class="language-js">a&#x3C;b\n</code></pre>',
    "\ufeff# Hello": '<h1 id="user-content-hello">Hello</h1>',
    "- [x] a":
      '<ul class="contains-task-list">\n<li class="task-list-item"><input type="checkbox" checked disabled> a</li>\n</ul>',
    '<p id="a">x</p><a name="b">y</a>':
      '<p id="user-content-a">x</p><a name="user-content-b">y</a>',
    // Scripts and the like go with their text, other elements without.
    "<script>a</script><style>b</style><title>c</title><center>d</center>": "d",
  }, html);
  // The only inputs are those of task lists.
  assertStringIncludes(
    html("- [x] a\n\n- b"),
    '<p><input type="checkbox" checked disabled> a</p>',
  );
  const stray =
    '<input><p><input type="text"></p><li class="task-list-item"><b><input></b>';
  assert(!html(stray).includes("<input"));
});

Deno.test("renderMarkdown() lists headings with their ids in the HTML", () => {
  const rendered = renderMarkdown(
    '# Größe & Co.\n\n## Same\n\n## Same\n\n<div><h3 id="own">Raw *text*</h3></div>\n\n' +
      "Setext `code`\n---\n\n<h4>no id\n  here</h4>\n\n> ###### Quoted",
  );
  const shown = rendered.headings.map(({ depth, id, text }) =>
    `${depth} ${id} ${text}`
  );
  assertEquals(shown, [
    "1 user-content-größe--co Größe & Co.",
    "2 user-content-same Same",
    "2 user-content-same-1 Same",
    "3 user-content-own Raw *text*",
    "2 user-content-setext-code Setext code",
    "4 user-content-no-id--here no id here",
    "6 user-content-quoted Quoted",
  ]);
  for (const { depth, id } of rendered.headings) {
    assertStringIncludes(join(rendered), `<h${depth} id="${id}"`);
  }
});

Deno.test("links lead to the prefixed id", () => {
  const links = {
    "[x](#größe)\n\n# Größe": "#user-content-gr%C3%B6%C3%9Fe",
    '[x](#a)\n\n<a name="a"></a>': "#user-content-a",
    '[x](#user-content-a)\n\n<p id="a">y</p>': "#user-content-a",
    "[x](#nowhere)": "#user-content-nowhere",
    "[x](#)": "#",
    "[x](#top)": "#top",
    "[x](#top)\n\n# Top": "#user-content-top",
    "[x]()": "",
  };
  for (const [markdown, href] of Object.entries(links)) {
    assertStringIncludes(html(markdown), `<a href="${href}">x</a>`, markdown);
  }
});

Deno.test("footnotes link there and back without a listed heading", () => {
  const note = "b[^1] c[^1]\n\n[^1]: note";
  const parts = [
    '<a href="#user-content-fn-1" id="user-content-fnref-1"',
    '<li id="user-content-fn-1">',
    'href="#user-content-fnref-1-2"',
    'aria-describedby="user-content-footnote-label"',
    'id="user-content-footnote-label">Footnotes</h2>',
  ];
  for (const part of parts) assertStringIncludes(html(note), part);

  const own = '<h2 id="footnote-label" class="sr-only">Footnotes</h2>';
  checkEach({
    [`# A\n\n${note}`]: 1,
    [`${own}\n\n${note}`]: 1,
    [`<section data-footnotes>${own}</section>`]: 1,
    [`# Footnote label\n\n${note}`]: 1,
    [`<div>\n\n${note}`]: 0,
  }, (markdown) => renderMarkdown(markdown).headings.length);
});

Deno.test("alerts carry their class and title", () => {
  for (const name of ["Note", "Tip", "Important", "Warning", "Caution"]) {
    const kind = name.toLowerCase();
    const alert =
      `<div class="markdown-alert markdown-alert-${kind}">\n<p class="markdown-alert-title">${name}</p>\n` +
      "<p>Some <strong>text</strong></p>\n<ul>\n<li>more</li>\n</ul>\n</div>";
    for (const spelling of [kind, kind.toUpperCase()]) {
      const markdown = `> [!${spelling}]\n> Some **text**\n>\n> - more`;
      assertEquals(html(markdown), alert);
    }
  }
  for (const alert of ["> [!NOTE]  \n> a", "> [!NOTE]\n>\n> a"]) {
    assertStringIncludes(html(alert), "Note</p>\n<p>a</p>");
  }
  const quotes = [
    "> [!NOTE]",
    "> [!OTHER]\n> a",
    "> [!constructor]\n> a",
    "> [!NOTE] a",
    "> [!NOTE]**a** b",
    "> \\[!NOTE]\n> a",
    "> a\n> [!NOTE]",
    "- > [!NOTE]\n  > a",
  ];
  for (const text of quotes) {
    assert(!html(text).includes("markdown-alert"), text);
    assertStringIncludes(html(text), "<blockquote>", text);
  }
});

Deno.test("relative addresses are left open and decoded once", () => {
  const rendered = renderMarkdown(
    "[a](./b%20c.md?x=1#d%20e) ![](/i.png?raw=true) [](<f g.md>) [](100%.md) [](%252e) [](?q#r)\n" +
      '<img src=" ../j.svg\n?k#l " srcset="m 2x"><a href="n\to&amp;p">q</a>',
  );
  const addresses = rendered.addresses.map((address) =>
    Object.values(address).join(" ")
  );
  assertEquals(addresses, [
    "link ./b c.md #d%20e",
    "image /i.png ",
    "link f g.md ",
    "link 100%.md ",
    "link %2e ",
    "link  #r",
    "image ../j.svg #l",
    "link no&p ",
  ]);
  assertEquals(rendered.parts.length, rendered.addresses.length + 1);
  assert(!join(rendered).includes("srcset"));
  const forged = renderMarkdown(
    '` href="0"` [a](b) <b title=" src=&quot;1&quot;">c</b> \u0000',
  );
  assertEquals([forged.addresses.length, forged.parts.length], [1, 2]);
});

Deno.test("absolute addresses stay and unknown schemes go", () => {
  const attributes = {
    "[a](https://b.example/c?d=e#f)": 'href="https://b.example/c?d=e#f"',
    "![a](http://b.example/c?d)": 'src="http://b.example/c?d"',
    "<a@b.example>": 'href="mailto:a@b.example"',
    "[b](Https://A.example/B)": 'href="https://A.example/B"',
    "[a](//b.example/c)": 'href="https://b.example/c"',
    '<img src="/\t/b.example/c">': 'src="https://b.example/c"',
  };
  for (const [markdown, attribute] of Object.entries(attributes)) {
    assertStringIncludes(html(markdown), attribute);
  }
  const schemes = "JavaScript:a data:text/html,a vbscript:a irc://a x:a".split(
    " ",
  );
  for (const url of schemes) {
    assertEquals(html(`[b](${url})`), "<p><a>b</a></p>");
  }
  for (const url of [...schemes, "mailto:a@b", "#c"]) {
    assertEquals(html(`![b](${url})`), '<p><img alt="b"></p>');
  }
  const cited = html('<q cite="javascript:a">b</q><img longdesc="c" src="d">');
  assertEquals(cited, '<p><q>b</q><img src="image:d"></p>');
});

Deno.test("joinHtml() escapes what it puts in and leaves null out", () => {
  const rendered = renderMarkdown("[a](b)![c](d)");
  assertEquals(
    joinHtml(rendered, () => `"><script>&'`),
    `<p><a href="&quot;&gt;&lt;script&gt;&amp;'">a</a>` +
      `<img src="&quot;&gt;&lt;script&gt;&amp;'" alt="c"></p>`,
  );
  assertEquals(joinHtml(rendered, () => null), '<p><a>a</a><img alt="c"></p>');
  assertEquals(
    JSON.parse(JSON.stringify(rendered)),
    rendered,
    "it is plain JSON",
  );
});

Deno.test("the excerpt is the first paragraph with text", () => {
  const words = "abcdefghi ".repeat(40).trim();
  checkEach({
    "# a\n\n![b](c)\n\n> d\n\n- e\n\n f *g*\n`h`<br>i  \nj\n\nk": "f g h i j",
    "<p>a <b>b</b></p>\n\nc": "a b",
    "# a": "",
    [words]: words.slice(0, 299),
    [`a${words}`]: `a${words.slice(0, 299)}`,
    [`ab${words}`]: `ab${words.slice(0, 289)}`,
    ["a".repeat(400)]: "a".repeat(300),
    [`a${"😀".repeat(200)}`]: `a${"😀".repeat(149)}`,
  }, (markdown) => renderMarkdown(markdown).excerpt);
});

Deno.test("words are the runs of the HTML's text", () => {
  checkEach({
    "": 0,
    "# a b\n\nc*d*e\u00a0f\n\n- g\n- h": 6,
    "|a|b|\n|-|-|\n|c|d|": 4,
    "<div>a<p>b</p>c</div><b>d</b><i>e</i>f<br>g": 5,
    "```\na b\n```\n\n![not](c) https://d.example": 3,
    "a<script>b c</script>": 1,
  }, (markdown) => renderMarkdown(markdown).words);
});

const refused = (markdown: string, message: string) =>
  assertThrows(() => renderMarkdown(markdown), RenderFailure, message);

Deno.test("cells of raw HTML count as many as they span", () => {
  const table = (cell: string, count: number) =>
    `<table><tr>${cell.repeat(count)}</tr></table>`;
  const cells = [
    "<td colspan=2000>",
    "<th colspan=25 rowspan=40>",
    "<td rowspan='1000 '>",
  ];
  for (const cell of cells) {
    renderMarkdown(table(cell, 100));
    refused(table(cell, 101), "too many cells");
  }
  refused(table("<td rowspan=0>", 2), "too many cells");
  renderMarkdown(table("<td colspan=0 rowspan=-9>", 5000));
});

Deno.test("what would grow without bound is refused", () => {
  const references = `[a]: ${"b".repeat(2000)}\n\n${"[a] ".repeat(1000)}`;
  refused(references, "refers too often");
  const head = `${"|a".repeat(1000)}\n${"|-".repeat(1000)}\n`;
  refused(`${head}${"|b\n".repeat(200)}`, "too many cells");
  refused("[a](b) ".repeat(5001), "relative addresses");
  renderMarkdown("[a](b) ".repeat(5000));
  refused("&".repeat(900_000), "too large");
  refused(
    "<h1><div>".repeat(150) + "x".repeat(10_000),
    "headings are too long",
  );
  assertThrows(() => renderMarkdown("<b>".repeat(20_000)), RangeError);
});

/** Where an address leads from `src/posts/a.md`. */
function leadsTo(
  kind: "link" | "image",
  path: string,
  changes: { linkTemplate?: string; webUrlStart?: null } = {},
) {
  return resolveAddress({ kind, path, fragment: "#f" }, "src/posts/a.md", {
    slugOf: (path) => /^src\/posts\/(.*)\.md$/.exec(path)?.[1] ?? null,
    linkTemplate: undefined,
    contentUrlStart: "content:",
    webUrlStart: "web:",
    ...changes,
  });
}

Deno.test("resolveAddress() stays in the repository", () => {
  const found = {
    "b.png": "src/posts/b.png",
    "./img/b c.png": "src/posts/img/b c.png",
    "../b.png": "src/b.png",
    "/b.png": "b.png",
    "/../../etc/passwd": "etc/passwd",
    "../../../../b.png": "b.png",
    "x/../..//./y/": "src/y",
    "..\\b.png": "src/posts/..\\b.png",
    "": "src/posts/a.md",
  };
  for (const [path, expected] of Object.entries(found)) {
    const url = `content:${encodeURIComponent(expected)}&format=raw#f`;
    assertEquals(leadsTo("image", path), url, path);
  }
  for (const path of ["/", "../..", "../../..", "a\u0000b", "a\nb", "\u007f"]) {
    assertEquals(leadsTo("image", path), null, path);
  }
});

Deno.test("resolveAddress() tells items and other files apart", () => {
  const linkTemplate = "/x/{slug}.html";
  assertEquals(leadsTo("link", "b.md"), "content:src%2Fposts%2Fb.md#f");
  assertEquals(
    leadsTo("link", "2026/é ?#$&.md", { linkTemplate }),
    "/x/2026/%C3%A9%20%3F%23%24%26.html#f",
  );
  const other = "../LICENSE";
  assertEquals(leadsTo("link", other, { linkTemplate }), "web:src/LICENSE#f");
  assertEquals(
    leadsTo("link", other, { webUrlStart: null }),
    "content:src%2FLICENSE#f",
  );
});
