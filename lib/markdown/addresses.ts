// Rewrites the addresses of sanitized HTML: relative ones are left open, in-page ones get the prefix that the sanitizer
// gave to ids and names, and protocol-relative ones become https. Runs after the sanitizer, which has left http, https,
// mailto and relative addresses only.

import type { Element, Root } from "hast";
import type { RelativeAddress } from "./rendered.ts";

/** What the sanitizer puts before every id and name. */
export const ID_PREFIX = "user-content-";

/** Bounds the time of `joinHtml()`, which runs on the thread that serves requests. */
const MAX_ADDRESSES = 5_000;

/** The attributes with addresses, by element; the sanitizer removes every other. */
const ATTRIBUTES = { a: ["href", "link"], img: ["src", "image"] } as const;

/** A file that cannot be rendered, with the reason as a sentence. */
export class RenderFailure extends Error {}

/**
 * Replaces each relative address by `token` and its number, and gives the addresses.
 *
 * @throws {RenderFailure} for more than 5,000 relative addresses.
 */
export function openAddresses(tree: Root, token: string): RelativeAddress[] {
  const elements = [...elementsOf(tree)];
  const names = new Set<unknown>();
  for (const { properties } of elements) names.add(properties.id).add(properties.name);

  const addresses: RelativeAddress[] = [];
  for (const { tagName, properties } of elements) {
    if (tagName !== "a" && tagName !== "img") continue;
    const [attribute, kind] = ATTRIBUTES[tagName];
    const value = properties[attribute];
    if (typeof value !== "string") continue;
    const url = cleanAddress(value);
    if (url === "" || url.startsWith("#")) {
      properties[attribute] = kind === "link" ? inPageAddress(url, names) : undefined;
    } else if (url.startsWith("//") || /^[a-z][a-z0-9+.-]*:/i.test(url)) {
      const absolute = url.startsWith("//") ? `https:${url}` : url;
      // An address that no browser can parse is dropped.
      properties[attribute] = URL.canParse(absolute) ? absolute : undefined;
    } else {
      if (addresses.length === MAX_ADDRESSES) {
        throw new RenderFailure(`The file has more than ${MAX_ADDRESSES} relative addresses.`);
      }
      properties[attribute] = `${token}${addresses.length}`;
      addresses.push(relativeAddress(url, kind));
    }
  }
  return addresses;
}

/** Every element below a node, in document order. */
export function* elementsOf(parent: Root | Element): Generator<Element> {
  const stack = [...parent.children].reverse();
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (node.type !== "element") continue;
    yield node;
    for (let i = node.children.length - 1; i >= 0; i--) stack.push(node.children[i]!);
  }
}

/** An address as a browser reads it: without tabs and line ends, and without outer white space (WHATWG URL, 4.4). */
function cleanAddress(value: string): string {
  // deno-lint-ignore no-control-regex -- the standard names these characters
  return value.replace(/[\t\n\r]/g, "").replace(/^[\x00-\x20]+|[\x00-\x20]+$/g, "");
}

function inPageAddress(url: string, names: ReadonlySet<unknown>): string {
  const fragment = url.slice(1);
  const isName = (prefix: string) =>
    names.has(prefix + fragment) || names.has(prefix + decode(fragment));
  if (isName(ID_PREFIX)) return `#${ID_PREFIX}${fragment}`;
  // An author may write the prefix, which works on GitHub too. `#` and `#top` are the page's top (HTML, 7.4.6.4).
  if (isName("") || fragment === "" || fragment.toLowerCase() === "top") return url;
  return `#${ID_PREFIX}${fragment}`;
}

function relativeAddress(url: string, kind: RelativeAddress["kind"]): RelativeAddress {
  const hash = url.indexOf("#");
  const fragment = hash === -1 ? "" : url.slice(hash);
  const [path = ""] = (hash === -1 ? url : url.slice(0, hash)).split("?", 1);
  return { kind, path: decode(path), fragment };
}

/** Percent-decodes once; what is no valid escape stays as it is. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
