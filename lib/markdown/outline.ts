// The outline of a post for lists: its headings, the beginning of its text, and its length. All of it is read from the
// sanitized tree, so that it matches the HTML.

import type { Element, Root } from "hast";
import { elementsOf } from "./addresses.ts";
import type { Heading } from "./rendered.ts";

const MAX_EXCERPT_LENGTH = 300;

/** Elements that stand in a line of text; every other one ends the word before it. */
const INLINE = new Set(
  "a b code del em i img input ins kbd q rp rt ruby s samp span strike strong sub sup tt var"
    .split(" "),
);

/** The headings of a tree, but for the one that was generated for its footnotes. */
export function headingsOf(tree: Root, generated: Element | null): Heading[] {
  const headings: Heading[] = [];
  for (const element of elementsOf(tree)) {
    const depth = /^h([1-6])$/.exec(element.tagName)?.[1];
    if (depth === undefined || element === generated) continue;
    const id = String(element.properties.id);
    headings.push({ depth: Number(depth), id, text: collapse(textOf(element)) });
  }
  return headings;
}

/** The text of the first top-level paragraph that has any, cut at a word. */
export function excerptOf(tree: Root): string {
  for (const node of tree.children) {
    if (node.type !== "element" || node.tagName !== "p") continue;
    const text = collapse(textOf(node));
    if (text !== "") return cutAtWord(text);
  }
  return "";
}

/** How many runs without white space the text of a tree has. */
export function countWords(tree: Root): number {
  let count = 0;
  for (const _ of textOf(tree).matchAll(/\S+/g)) count++;
  return count;
}

/** The text of a node, a space at the boundaries of its blocks. */
function textOf(parent: Root | Element): string {
  let text = "";
  for (const node of parent.children) {
    if (node.type === "text") text += node.value;
    else if (node.type === "element") {
      text += INLINE.has(node.tagName) ? textOf(node) : ` ${textOf(node)} `;
    }
  }
  return text;
}

function collapse(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

function cutAtWord(text: string): string {
  if (text.length <= MAX_EXCERPT_LENGTH) return text;
  const space = text.lastIndexOf(" ", MAX_EXCERPT_LENGTH);
  if (space > 0) return text.slice(0, space);
  // One long word, or a script without spaces: cut it, but no character of two units.
  const isPair = /[\ud800-\udbff]/.test(text[MAX_EXCERPT_LENGTH - 1]!);
  return text.slice(0, MAX_EXCERPT_LENGTH - (isPair ? 1 : 0));
}
