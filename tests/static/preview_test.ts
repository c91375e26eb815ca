// Previews as data: what is made of a file's text, and the budget that bounds
// it.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { convert, type Job, parseTable } from "../../static/assets/convert.ts";
import { buildTree, ConvertError, cutText } from "../../static/assets/tree.ts";
import type { Tree, TreeNode } from "../../static/assets/tree.ts";

/** A tree as HTML, in which nothing is escaped. */
function written(nodes: readonly TreeNode[]): string {
  return nodes.map((node) => {
    if (typeof node === "string") return node;
    const attributes = Object.entries(node.attributes).map(([name, value]) =>
      ` ${name}="${value}"`
    );
    return `<${node.name}${attributes.join("")}>${
      written(node.children)
    }</${node.name}>`;
  }).join("");
}

function textOf(nodes: readonly TreeNode[]): string {
  return nodes.map((node) =>
    typeof node === "string" ? node : textOf(node.children)
  ).join("");
}

/** The names of the elements, from the outer to the inner ones. */
function elementsOf(nodes: readonly TreeNode[]): string[] {
  return nodes.flatMap((node) =>
    typeof node === "string" ? [] : [node.name, ...elementsOf(node.children)]
  );
}

const NO_COLORS = ({ text }: { text: string }) => text;
const converted = (job: Job): Tree => convert(job, NO_COLORS);
const fromHtml = (text: string): Tree => converted({ kind: "html", text });

Deno.test("buildTree() bounds elements, spans and characters", () => {
  const elements = buildTree((tree) => {
    for (;;) tree.add(tree.root, "p");
  });
  assertEquals([elements.nodes.length, elements.isCut], [10_000, true]);
  const words = buildTree((tree) => {
    for (;;) tree.text(tree.add(tree.root, "p"), "a".repeat(30));
  });
  assertEquals([textOf(words.nodes).length, words.isCut], [100_000, true]);
  const spans = buildTree((tree) => tree.add(tree.root, "td", {}, 10_001));
  assertEquals([spans.nodes.length, spans.isCut], [0, true]);
});

Deno.test("buildTree() throws what is thrown while it writes", () => {
  const write = () => {
    throw new RangeError("x");
  };
  assertThrows(() => buildTree(write), RangeError);
});

Deno.test("TreeBuilder.add() nests 100 elements and flattens deeper ones", () => {
  const { nodes, isCut } = buildTree((tree) => {
    let parent = tree.root;
    for (let depth = 0; depth < 500; depth++) parent = tree.add(parent, "b");
    tree.text(parent, "x");
  });
  assertEquals([elementsOf(nodes).length, textOf(nodes), isCut], [
    100,
    "x",
    false,
  ]);
});

Deno.test("TreeBuilder.text() cuts a long block, and not the next one", () => {
  const { nodes, isCut } = buildTree((tree) => {
    const first = tree.add(tree.root, "p");
    for (const name of ["b", "i"]) {
      tree.text(tree.add(first, name), "a".repeat(4_000));
    }
    tree.text(tree.add(tree.root, "p"), "b".repeat(5_000));
  });
  assertEquals(textOf(nodes), "a".repeat(5_000) + "b".repeat(5_000));
  assert(isCut);
});

Deno.test("TreeBuilder.code() divides text into blocks, unchanged", () => {
  const lines = "one\ntwo\n".repeat(1_000) + "long ".repeat(2_000) + "\n\nend";
  const { nodes, isCut } = buildTree((tree) =>
    tree.code(tree.root, [[lines, ["k"]], ["\n", []]])
  );
  assertEquals([textOf(nodes), isCut], [`${lines}\n`, false]);
  assertEquals(
    written(nodes).slice(0, 44),
    '<span class="block"><span class="k">one\ntwo\n',
  );
  const lengths = nodes.map((node) => textOf([node]).length);
  assert(Math.max(...lengths) === 5_000 && lengths.length > 8, lengths.join());
});

Deno.test("TreeBuilder.code() ends at 100,000 characters", () => {
  for (
    const text of [
      "a".repeat(1_000_000),
      "\n".repeat(1_000_000),
      "\u{1f600}".repeat(400_000),
    ]
  ) {
    const { nodes, isCut } = buildTree((tree) =>
      tree.code(tree.root, [[text, []]])
    );
    const shown = textOf(nodes);
    assert(
      isCut && text.startsWith(shown) && shown.length > 99_000 &&
        shown.isWellFormed(),
    );
  }
});

Deno.test("cutText() leaves no half a character", () => {
  assertEquals([cutText("a\u{1f600}b", 2), cutText("a\u{1f600}b", 3)], [
    "a",
    "a\u{1f600}",
  ]);
});

Deno.test("parseTable() reads quotes, breaks in them and both line ends (RFC 4180)", () => {
  const rows = [["a", "b"], ['x, "y"', "1\n2"], ["", "z"]];
  assertEquals(parseTable('\uFEFFa,b\r\n"x, ""y""","1\n2"\n,z', ","), {
    rows,
    isCut: false,
  });
  assertEquals(parseTable("a\tb\n", "\t").rows, [["a", "b"]]);
});

Deno.test("parseTable() reads 500 rows of 100 columns, and says so", () => {
  const sizeOf = (text: string) => {
    const { rows, isCut } = parseTable(text, ",");
    return [rows.length, rows.at(-1)!.length, isCut];
  };
  assertEquals(sizeOf("a,b\n".repeat(500)), [500, 2, false]);
  assertEquals(sizeOf("a,b\n".repeat(501)), [500, 2, true]);
  assertEquals(sizeOf(`${",".repeat(99)}\n`), [1, 100, false]);
  assertEquals(sizeOf(",".repeat(100_000)), [1, 100, true]);
});

Deno.test("convert() of JSON shows outer values before inner ones", () => {
  const value = {
    inner: Array.from({ length: 600 }, () => Array(600).fill(1)),
    last: "end",
  };
  const { nodes, isCut } = converted({
    kind: "json",
    text: JSON.stringify(value),
  });
  const text = textOf(nodes);
  assert(isCut && text.includes('last:"end"') && text.includes("and 100 more"));
  const small = converted({
    kind: "json",
    text: '{ "a": [], "b": { "c": null } }',
  });
  assertEquals(
    written(small.nodes),
    '<div class="tree"><details open=""><summary><span class="soft">{ } 2 keys</span></summary>' +
      '<div class="leaf"><span class="key">a:</span><span class="v-object">[]</span></div>' +
      '<details open=""><summary><span class="key">b:</span><span class="soft">{ } 1 key</span></summary>' +
      '<div class="leaf"><span class="key">c:</span><span class="v-null">null</span></div>' +
      "</details></details></div>",
  );
});

Deno.test("convert() refuses what is no JSON and no notebook", () => {
  assertThrows(
    () => converted({ kind: "json", text: "{ nope" }),
    ConvertError,
    "This is not valid JSON:",
  );
  for (
    const text of [
      '{ "cells": "abc" }',
      "null",
      '{ "cells": [{ "outputs": {} }] }',
    ]
  ) {
    assertThrows(
      () => converted({ kind: "notebook", text }),
      TypeError,
      undefined,
      text,
    );
  }
});

Deno.test("convert() of a notebook has its code, words and outputs", () => {
  const outputs = [{ text: ["1\n", "2"] }, {
    data: { "image/png": "iVB\nORw" },
  }];
  const cells = [
    { cell_type: "markdown", source: ["# A\n"] },
    { cell_type: "code", source: "x", outputs },
  ];
  const { nodes } = converted({
    kind: "notebook",
    text: JSON.stringify({ cells }),
  });
  const html = written(nodes).replaceAll(/ (tabindex|aria-label)="\w+"/g, "");
  assertEquals(
    html,
    '<div class="notebook"><div class="cell"><div class="words"><span class="block"># A\n</span></div></div>' +
      '<div class="cell"><pre class="code"><div class="hljs language-python"><span class="block">x</span></div></pre>' +
      '<pre class="output"><span class="block">1\n2</span></pre>' +
      '<img src="data:image/png;base64,iVBORw" alt="Output"></img></div></div>',
  );
});

Deno.test("convert() of HTML reads it as the service writes it", () => {
  const cases: Record<string, string> = {
    '<p id="a" title="&#x22;&lt;>">x &#x26;amp; y<br>z</p>':
      '<p id="a" title=""<>">x &amp; y<br></br>z</p>',
    "<ul>\n<li><input type='checkbox' disabled> a</li></ul>":
      '<ul>\n<li><input type="checkbox" disabled=""></input> a</li></ul>',
    "a<b>c</i>d</b>e": "a<b>cd</b>e",
    "<!-- <b> -->x < y</p>": "x < y",
    "&#0;&#x110000;&nbsp;": "\0&#x110000;&nbsp;",
  };
  for (const [html, expected] of Object.entries(cases)) {
    assertEquals(written(fromHtml(html).nodes), expected, html);
  }
});

Deno.test("convert() of HTML cuts what browsers lay out slowly", () => {
  const cut = [
    `<table>${"<td colspan=1000>x</td>".repeat(11)}</table>`,
    `<p>${"a<b>\u05d0</b>".repeat(3_000)}</p>`,
    `<img alt="${"a".repeat(3_000)}">`,
    "<p></p>".repeat(10_001),
  ];
  for (const html of cut) assert(fromHtml(html).isCut, html.slice(0, 40));
  const pre = fromHtml(`<pre>${"a\n".repeat(9_000)}</pre>`);
  assertEquals([pre.isCut, textOf(pre.nodes)], [false, "a\n".repeat(9_000)]);
  const { nodes, isCut } = fromHtml(
    `${"<div>".repeat(9_000)}x${"</div>".repeat(9_000)}<i>y</i>`,
  );
  assertEquals([elementsOf(nodes).length, textOf(nodes), isCut], [
    101,
    "xy",
    false,
  ]);
});

Deno.test("convert() of code ends its colors before its text", () => {
  const highlight = ({ text }: { text: string }) =>
    text.replaceAll(/a/g, '<span class="hljs-a">a</span>').replaceAll(
      "&",
      "&amp;",
    );
  const text = "a&b\n".repeat(20_000);
  const blocks = [{ text, language: "x" }, { text: "aa", language: "x" }];
  const { nodes, isCut } = convert({ kind: "code", blocks }, highlight);
  assertEquals([nodes.map((node) => textOf([node])), isCut], [
    [text, "aa"],
    false,
  ]);
  const colors = elementsOf(nodes).length;
  assert(colors > 5_000 && colors < 6_000, `${colors}`);
});
