// The result of rendering a Markdown file, and the last step to HTML. A result depends on the file's text alone, so it is
// cached by blob id and RENDERER_VERSION; its relative addresses are resolved for each response, because they depend on
// the file's path, its commit and the request. This module loads no part of the renderer.

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

/** Why a file has no HTML, as a sentence. */
export interface RenderError {
  message: string;
}

/** Where the links and images of one file lead. Paths begin at the repository's root. */
export interface AddressTargets {
  /** The file's own path. */
  filePath: string;
  /** The slug of an item of the collection, or null for any other file. */
  slugOf(path: string): string | null;
  linkTemplate: string | null;
  contentUrl(path: string): string;
  /** The address of the file's bytes (`format=raw`). */
  rawUrl(path: string): string;
  /** Null where the source has no web pages. */
  htmlUrl(path: string): string | null;
}

/** In UTF-16 units: of one file's HTML with all its addresses. */
export const MAX_HTML_LENGTH = 4 * 1024 * 1024;

/**
 * The HTML of a rendered file. `resolve` gives the address of a link or an image; null leaves the attribute out. Files of
 * one folder may share `written`, since what is written there leads to the same places.
 * @throws {RangeError} where the HTML is larger than {@linkcode MAX_HTML_LENGTH}.
 */
export function joinHtml(
  { parts, addresses }: Rendered,
  resolve: (address: RelativeAddress) => string | null,
  written: Map<string, string> = new Map(),
): string {
  let html = parts[0] ?? "";
  addresses.forEach((address, i) => {
    const { kind, path, fragment } = address;
    // Either may contain any character, so that the length tells where the path ends.
    const key = `${kind}${path.length} ${path}${fragment}`;
    let attribute = written.get(key);
    if (attribute === undefined) {
      const value = resolve(address);
      const name = kind === "link" ? "href" : "src";
      attribute = value === null ? "" : ` ${name}="${escapeAttribute(value)}"`;
      // An empty path is the file itself.
      if (path !== "") written.set(key, attribute);
    }
    html += attribute + (parts[i + 1] ?? "");
    if (html.length > MAX_HTML_LENGTH) throw new RangeError("The HTML is too large");
  });
  return html;
}

function escapeAttribute(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}

/** Resolves the addresses of one file for `joinHtml()`; null for one that names no file (the root, control characters). */
export function addressResolver(
  targets: AddressTargets,
): (address: RelativeAddress) => string | null {
  return ({ kind, path: relative, fragment }) => {
    const path = repositoryPath(relative, targets.filePath);
    if (path === null) return null;
    if (kind === "image") return targets.rawUrl(path) + fragment;
    const slug = targets.slugOf(path);
    if (slug === null) return (targets.htmlUrl(path) ?? targets.contentUrl(path)) + fragment;
    if (targets.linkTemplate === null) return targets.contentUrl(path) + fragment;
    const encoded = slug.split("/").map(encodeURIComponent).join("/");
    // A function, since a slug may contain `$&`.
    return targets.linkTemplate.replace("{slug}", () => encoded) + fragment;
  };
}

/**
 * The path that a relative address of a file leads to: a leading `/` is the repository's root, and `..` ends there
 * (RFC 3986, 5.2.4), so no address leads out of the repository. Null where no file can be.
 */
function repositoryPath(relative: string, filePath: string): string | null {
  if (relative === "") return filePath;
  // deno-lint-ignore no-control-regex -- no path of the API has such characters
  if (/[\x00-\x1f\x7f]/.test(relative)) return null;
  const folder = filePath.slice(0, filePath.lastIndexOf("/") + 1);
  if (!/(^|\/)\.{0,2}(\/|$)/.test(relative)) return folder + relative;
  const path = relative.startsWith("/") ? [] : folder.split("/").slice(0, -1);
  for (const segment of relative.split("/")) {
    if (segment === "..") path.pop();
    else if (segment !== "" && segment !== ".") path.push(segment);
  }
  return path.length === 0 ? null : path.join("/");
}
