// Resolves the relative addresses of a rendered file against the repository that it is in. No address leads out of the
// repository, whatever `..` and escapes it is written with.

import type { RelativeAddress } from "./rendered.ts";

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
    return fillLinkTemplate(targets.linkTemplate, slug) + fragment;
  };
}

/**
 * The path that a relative address of a file leads to: a leading `/` is the repository's root, and `..` ends there
 * (RFC 3986, 5.2.4). Null where no file can be.
 */
export function repositoryPath(relative: string, filePath: string): string | null {
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

/** Puts a slug into a `linkTemplate`, its segments percent-encoded and its slashes as they are. */
export function fillLinkTemplate(template: string, slug: string): string {
  // A function, since a slug may contain `$&`.
  return template.replace("{slug}", () => slug.split("/").map(encodeURIComponent).join("/"));
}
