// The result of rendering a Markdown file, and the last step to HTML. A result depends on the file's text alone, so it is
// cached by blob id and RENDERER_VERSION; its relative addresses are resolved for each response, because they depend on
// the file's path, its commit and the request. This module loads no part of the renderer.

import { posix } from "node:path";
import { encodePath } from "../api/names.ts";

/** Changes whenever the same text gives another `Rendered`; part of the cache key. */
export const RENDERER_VERSION = 5;

/** A relative address of the file, which only the request can resolve. */
export interface RelativeAddress {
  kind: "link" | "image";
  /** As the author wrote it, percent-decoded, without query and fragment; "" is the file itself. */
  path: string;
  /** With its `#`, or "". */
  fragment: string;
}

/** A rendered file, as plain JSON: one address stands between each two parts of the HTML. */
export interface Rendered {
  parts: string[];
  addresses: RelativeAddress[];
  /** In the order of the HTML; `depth` is 1 to 6, `id` as it is there. */
  headings: { depth: number; id: string; text: string }[];
  /** At most 300 UTF-16 units. */
  excerpt: string;
  words: number;
}

/** Where the links and images of files lead. Paths begin at the repository's root. */
export interface LinkTargets {
  /** The address of a file's content up to its path. */
  readonly contentUrlStart: string;
  /** The address of a file's web page up to its path; null where the source has no web pages. */
  readonly webUrlStart: string | null;
  readonly linkTemplate: string | undefined;
}

/** In UTF-16 units: of one file's HTML with all its addresses. */
export const MAX_HTML_LENGTH = 4 * 1024 * 1024;

/**
 * The HTML of a rendered file. `resolve` gives the address of a link or an image; null leaves the attribute out.
 * @throws {RangeError} where the HTML is larger than {@linkcode MAX_HTML_LENGTH}.
 */
export function joinHtml(
  { parts, addresses }: Rendered,
  resolve: (address: RelativeAddress) => string | null,
): string {
  let html = parts[0] ?? "";
  for (const [index, address] of addresses.entries()) {
    const value = resolve(address);
    const name = address.kind === "link" ? "href" : "src";
    if (value !== null) html += ` ${name}="${escapeAttribute(value)}"`;
    html += parts[index + 1] ?? "";
    if (html.length > MAX_HTML_LENGTH) throw new RangeError("The HTML is too large");
  }
  return html;
}

function escapeAttribute(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}

/** The address of a file's content. */
export function contentUrlOf(path: string, { contentUrlStart }: LinkTargets): string {
  return contentUrlStart + encodeURIComponent(path);
}

/** The address of a file's web page; null where the source has none. */
export function webUrlOf(path: string, { webUrlStart }: LinkTargets): string | null {
  return webUrlStart && webUrlStart + encodePath(path);
}

/**
 * Where an address of the file at `filePath` leads; null for one that names no file (the root, control characters).
 * `slugOf` gives the slug of an item of the collection, or null for any other file.
 */
export function resolveAddress(
  { kind, path: relative, fragment }: RelativeAddress,
  filePath: string,
  targets: LinkTargets & { readonly slugOf: (path: string) => string | null },
): string | null {
  const path = repositoryPath(relative, filePath);
  if (path === null) return null;
  const contentUrl = contentUrlOf(path, targets);
  if (kind === "image") return `${contentUrl}&format=raw${fragment}`;
  const slug = targets.slugOf(path);
  if (slug === null) return (webUrlOf(path, targets) ?? contentUrl) + fragment;
  // A function, since a slug may contain `$&`.
  const link = targets.linkTemplate?.replace("{slug}", () => encodePath(slug));
  return (link ?? contentUrl) + fragment;
}

/**
 * The path that a relative address of a file leads to: a leading `/` is the repository's root, and `..` ends there
 * (RFC 3986, 5.2.4), so no address leads out of the repository. Null where no file can be.
 */
function repositoryPath(relative: string, filePath: string): string | null {
  if (relative === "") return filePath;
  // deno-lint-ignore no-control-regex -- no path of the API has such characters
  if (/[\x00-\x1f\x7f]/.test(relative)) return null;
  const path = posix.resolve("/", posix.dirname(filePath), relative).slice(1);
  return path === "" ? null : path;
}
