// What is rewritten in and read from the tree of sanitized HTML: addresses, and the outline of a post for lists. The
// sanitizer has left addresses that are http, https, mailto or relative.

import type { Element, Root } from "hast";
import type { Heading, RelativeAddress, Rendered } from "./rendered.ts";

/** What the sanitizer puts before every id and name. */
export const ID_PREFIX = "user-content-";

/** Bounds the time of `joinHtml()`, which runs on the thread that serves requests. */
const MAX_ADDRESSES = 5_000;
const MAX_EXCERPT_LENGTH = 300;

/** Elements that stand in a line of text; every other one ends the word before it. */
const INLINE = new Set(
  "a b code del em i img input ins kbd q rp rt ruby s samp span strike strong sub sup tt var"
    .split(" "),
);

/** A file that cannot be rendered, with the reason as a sentence. */
export class RenderFailure extends Error {}

/** Every element below a node, in document order. Without recursion, since hostile trees are deep. */
export function* elementsOf(parent: Root | Element): Generator<Element> {
  const stack = [...parent.children].reverse();
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (node.type !== "element") continue;
    yield node;
    for (let i = node.children.length - 1; i >= 0; i--) stack.push(node.children[i]!);
  }
}

/**
 * Replaces each relative address by `token` and its number, and gives the addresses. In-page ones get the sanitizer's
 * prefix, protocol-relative ones become https.
 *
 * @throws {RenderFailure} for more than 5,000 relative addresses.
 */
export function openAddresses(tree: Root, token: string): RelativeAddress[] {
  const elements = [...elementsOf(tree)];
  const names = new Set(elements.flatMap(({ properties: { id, name } }) => [id, name]));
  const addresses: RelativeAddress[] = [];
  for (const { tagName, properties } of elements) {
    if (tagName !== "a" && tagName !== "img") continue;
    const attribute = tagName === "a" ? "href" : "src";
    const value = properties[attribute];
    if (typeof value !== "string") continue;
    // As a browser reads it: without tabs and line ends, and without outer white space (WHATWG URL, 4.4).
    // deno-lint-ignore no-control-regex -- the standard names these characters
    const url = value.replace(/[\t\n\r]/g, "").replace(/^[\x00-\x20]+|[\x00-\x20]+$/g, "");
    const absolute = url.startsWith("//") ? `https:${url}` : url;
    if (url === "" || url.startsWith("#")) {
      properties[attribute] = tagName === "a" ? inPageAddress(url, names) : undefined;
    } else if (/^[a-z][a-z0-9+.-]*:/i.test(absolute)) {
      // An address that no browser can parse is dropped.
      properties[attribute] = URL.canParse(absolute) ? absolute : undefined;
    } else {
      if (addresses.length === MAX_ADDRESSES) {
        throw new RenderFailure(`The file has more than ${MAX_ADDRESSES} relative addresses.`);
      }
      properties[attribute] = `${token}${addresses.length}`;
      const [, path = "", fragment = ""] = /^([^?#]*)[^#]*(#[^]*)?$/.exec(url) ?? [];
      addresses.push({ kind: tagName === "a" ? "link" : "image", path: decode(path), fragment });
    }
  }
  return addresses;
}

function inPageAddress(url: string, names: ReadonlySet<unknown>): string {
  const fragment = url.slice(1);
  const isName = (prefix: string) =>
    names.has(prefix + fragment) || names.has(prefix + decode(fragment));
  // An author may write the prefix, which works on GitHub too. `#` and `#top` are the page's top (HTML, 7.4.6.4).
  const isComplete = isName("") || fragment === "" || fragment.toLowerCase() === "top";
  return isComplete && !isName(ID_PREFIX) ? url : `#${ID_PREFIX}${fragment}`;
}

/** Percent-decodes once; what is no valid escape stays as it is. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A post's outline for lists, as its HTML has it, but for the heading that was generated for its footnotes. */
export function outlineOf(
  tree: Root,
  generated: Element | undefined,
): Pick<Rendered, "headings" | "excerpt" | "words"> {
  const headings: Heading[] = [];
  for (const element of elementsOf(tree)) {
    const depth = Number(/^h([1-6])$/.exec(element.tagName)?.[1]);
    if (!(depth > 0) || element === generated) continue;
    headings.push({ depth, id: String(element.properties.id), text: collapse(textOf(element)) });
  }
  const paragraphs = tree.children.values().filter((node) => isElement(node, "p"));
  const text = paragraphs.map((node) => collapse(textOf(node))).find((text) => text !== "");
  const words = textOf(tree).match(/\S+/g)?.length ?? 0;
  return { headings, excerpt: cutAtWord(text ?? ""), words };
}

/** Whether a node is an element of this name. */
export function isElement(node: Root | Root["children"][number], name: string): node is Element {
  return node.type === "element" && node.tagName === name;
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
  return text.slice(0, MAX_EXCERPT_LENGTH).replace(/[\ud800-\udbff]$/, "");
}
