// Previews as data: what is made of a file's text, and the budget that bounds
// it.

import { assert, assertEquals } from "@std/assert";
import { convert, type Job, parseTable } from "../../static/assets/convert.ts";
import { buildTree, cutText } from "../../static/assets/tree.ts";
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

Deno.test("buildTree() bounds elements and characters", () => {
  const elements = buildTree((tree) => {
    for (;;) tree.add(tree.root, "p");
  });
  assertEquals([elements.nodes.length, elements.isCut], [10_000, true]);
  const words = buildTree((tree) => {
    for (;;) tree.text(tree.add(tree.root, "p"), "a".repeat(30));
  });
  assertEquals([textOf(words.nodes).length, words.isCut], [100_000, true]);
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

Deno.test("cutText() leaves no half a character", () => {
  assertEquals([cutText("a\u{1f600}b", 2), cutText("a\u{1f600}b", 3)], [
    "a",
    "a\u{1f600}",
  ]);
});

Deno.test("parseTable() reads quotes and line ends (RFC 4180)", () => {
  const rows = [["a", "b"], ['x, "y"', "1\n2"], ["", "z"]];
  assertEquals(parseTable('\uFEFFa,b\r\n"x, ""y""","1\n2"\n,z', ","), {
    rows,
    isCut: false,
  });
  const wide = parseTable(",".repeat(100_000), ",");
  assertEquals([wide.rows[0]!.length, wide.isCut], [100, true]);
});

Deno.test("convert() of JSON shows outer values before inner ones", () => {
  const inner = Array.from({ length: 600 }, () => Array(600).fill(1));
  const text = JSON.stringify({ inner, last: "end" });
  const shown = textOf(converted({ kind: "json", text }).nodes);
  assert(shown.includes('last:"end"') && shown.includes("and 100 more"));
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

Deno.test("convert() flattens deep HTML and cuts long attributes", () => {
  const deep = `${"<div>".repeat(9_000)}x${"</div>".repeat(9_000)}<i>y</i>`;
  const { nodes, isCut } = fromHtml(deep);
  assertEquals([elementsOf(nodes).length, textOf(nodes), isCut], [
    101,
    "xy",
    false,
  ]);
  assert(fromHtml(`<img alt="${"a".repeat(3_000)}">`).isCut);
  const code = "a\n".repeat(9_000);
  const pre = fromHtml(`<pre>${code}</pre>`);
  assertEquals([pre.isCut, textOf(pre.nodes)], [false, code]);
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
