// The result of rendering a Markdown file and the last step to HTML. A result
// depends on the file's text only, so it is cached by blob id and
// RENDERER_VERSION. Relative addresses are resolved for each response. They
// depend on the file's path, its commit and the request. This module does not
// load the renderer.

import { posix } from "node:path";
import { encodePath } from "../api/names.ts";

/**
 * Part of the cache key. Change it if the same text gives another `Rendered`.
 */
export const RENDERER_VERSION = 5;

/** A relative address in the file. Resolving it needs the request. */
interface RelativeAddress {
  kind: "link" | "image";
  /**
   * The percent-decoded path as the author wrote it without query and fragment.
   * The empty string is the file itself.
   */
  path: string;
  /** Begins with `#` unless it is empty. */
  fragment: string;
}

/**
 * A rendered file as plain JSON. One address belongs between each two parts of
 * the HTML.
 */
export interface Rendered {
  parts: string[];
  addresses: RelativeAddress[];
  /**
   * Headings in the order of the HTML. `depth` is 1 to 6. `id` is the id in the
   * HTML.
   */
  headings: { depth: number; id: string; text: string }[];
  /** Has at most 300 UTF-16 units. */
  excerpt: string;
  words: number;
  /** The names of components in MDX. */
  mdxComponents?: string[];
}

/**
 * The targets of links and images in files. Paths begin at the repository's
 * root.
 */
export interface LinkTargets {
  /** The address of a file's content up to its path. */
  readonly contentUrlStart: string;
  /**
   * The address of a file's web page up to its path. Null if the source has no
   * web pages.
   */
  readonly webUrlStart: string | null;
  readonly linkTemplate: string | undefined;
}

/** Longer Markdown is not rendered. */
export const MAX_RENDERED_BYTES = 1 << 20;

/** Limits one file's HTML with all its addresses. Counts UTF-16 units. */
export const MAX_HTML_LENGTH = 4 * 1024 * 1024;

/**
 * Returns the HTML of a rendered file. `resolve` returns the address of a link
 * or an image. Null omits the attribute.
 * @throws {RangeError} if the HTML is larger than {@linkcode MAX_HTML_LENGTH}.
 */
export function joinHtml(
  { parts, addresses }: Rendered,
  resolve: (address: RelativeAddress) => string | null,
): string {
  let html = parts[0] ?? "";
  for (const [index, address] of addresses.entries()) {
    const value = resolve(address);
    const name = address.kind === "link" ? "href" : "src";
    if (value !== null) html += ` ${name}="${escapeMarkup(value)}"`;
    html += parts[index + 1] ?? "";
    if (html.length > MAX_HTML_LENGTH) {
      throw new RangeError("The HTML is too large");
    }
  }
  return html;
}

/**
 * Escapes text for HTML elements and quoted attributes.
 *
 * @example
 * ```ts
 * import { equal } from "node:assert/strict";
 *
 * equal(escapeMarkup("<b>"), "&lt;b&gt;");
 * ```
 */
export function escapeMarkup(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;")
    .replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Returns the address of a file's content. */
export function contentUrlOf(
  path: string,
  { contentUrlStart }: LinkTargets,
): string {
  return contentUrlStart + encodeURIComponent(path);
}

/**
 * Returns the address of a file's web page, or null if the source has no web
 * pages.
 */
export function webUrlOf(
  path: string,
  { webUrlStart }: LinkTargets,
): string | null {
  return webUrlStart && webUrlStart + encodePath(path);
}

/**
 * Returns the target of an address in the file at `filePath`. Returns null if
 * the address names no file (the root or control characters). `slugOf` returns
 * the slug of an item of the collection, or null for any other file.
 */
export function resolveAddress(
  { kind, path: relative, fragment }: RelativeAddress,
  filePath: string,
  targets: LinkTargets & { slugOf: (path: string) => string | null },
): string | null {
  const path = repositoryPath(relative, filePath);
  if (path === null) return null;
  const contentUrl = contentUrlOf(path, targets);
  if (kind === "image") return `${contentUrl}&format=raw${fragment}`;
  const slug = targets.slugOf(path);
  if (slug === null) return (webUrlOf(path, targets) ?? contentUrl) + fragment;
  // A function is used because a slug may contain `$&`.
  const link = targets.linkTemplate?.replace("{slug}", () => encodePath(slug));
  return (link ?? contentUrl) + fragment;
}

/**
 * Returns the path that a relative address of a file leads to, or null if no
 * file can be there. A leading `/` is the repository's root. `..` ends at the
 * root (RFC 3986, 5.2.4), so no address leaves the repository.
 */
function repositoryPath(relative: string, filePath: string): string | null {
  if (relative === "") return filePath;
  // deno-lint-ignore no-control-regex -- no path of the API has such characters
  if (/[\x00-\x1f\x7f]/.test(relative)) return null;
  const path = posix.resolve("/", posix.dirname(filePath), relative).slice(1);
  return path === "" ? null : path;
}
