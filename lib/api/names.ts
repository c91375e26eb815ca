// Rules for paths, collections and branches. Each returns null for a valid value, else a sentence about the fault.

// deno-lint-ignore no-control-regex -- the rule is about control characters
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;
// deno-lint-ignore no-control-regex -- the rule is about ASCII control characters, as in Git
const BAD_IN_REF = /[\u0000-\u001f\u007f ~^:?*[\\]/;

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

/**
 * The rule for paths below a repository's root: plain segments, so that no path leads anywhere else.
 *
 * @example
 * ```ts
 * import { equal } from "node:assert/strict";
 *
 * equal(pathProblem("posts/a.md"), null);
 * equal(pathProblem("../a.md"), "must not have a segment `.` or `..`");
 * ```
 */
export function pathProblem(path: string): string | null {
  if (path === "") return "must not be empty";
  if (CONTROL.test(path)) return "must not hold control characters";
  if (/^\/|\/\/|\/$/.test(path)) return "must not have an empty segment or an outer slash";
  return /(^|\/)\.\.?(\/|$)/.test(path) ? "must not have a segment `.` or `..`" : null;
}

/** The rule for paths of files that can be read: a path of at most 4096 bytes. */
export function itemPathProblem(path: string): string | null {
  return byteLength(path) > 4096 ? "must be at most 4096 bytes" : pathProblem(path);
}

/** The rule for collections: `/`, or a path that may have outer slashes, of at most 1024 bytes. */
export function collectionProblem(name: string): string | null {
  if (byteLength(name) > 1024) return "must be at most 1024 bytes";
  return name === "/" ? null : pathProblem(trimSlashes(name));
}

/** The rule for link templates: a relative address, or one of http or https, with `{slug}` once. */
export function linkTemplateProblem(template: string): string | null {
  if (byteLength(template) > 200) return "must be at most 200 bytes";
  const isBroken = CONTROL.test(template) || /\s/.test(template);
  if (isBroken) return "must not hold spaces or control characters";
  if (template.split("{slug}").length !== 2) return "must hold {slug} once";
  // With any slug: `{slug}:x` could become an address of any scheme.
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(template.replace("{slug}", "a"))?.[0] ?? null;
  return scheme === null || /^https?:\/\/[^/]/i.test(template)
    ? null
    : "must be relative, or begin with http:// or https://";
}

/** The rule for ref names (git-scm.com/docs/git-check-ref-format), with at most 255 bytes. */
export function branchProblem(name: string): string | null {
  if (name === "") return "must not be empty";
  if (byteLength(name) > 255) return "must be at most 255 bytes";
  if (BAD_IN_REF.test(name)) {
    return "must not hold spaces, control characters or any of ~ ^ : ? * [ \\";
  }
  if (/\.\.|@\{/.test(name)) return "must not hold `..` or `@{`";
  if (name === "@") return "must not be the single character `@`";
  if (name.endsWith(".")) return "must not end with a dot";
  if (/^\/|\/\/|\/$/.test(name)) return "must not begin or end with a slash or hold two in a row";
  return /(^|\/)\.|\.lock(\/|$)/.test(name)
    ? "must not have a component that begins with a dot or ends with .lock"
    : null;
}

/** A path without outer slashes. */
export function trimSlashes(path: string): string {
  // A regular expression would rescan inner slashes.
  let start = 0;
  let end = path.length;
  while (start < end && path[start] === "/") start++;
  while (end > start && path[end - 1] === "/") end--;
  return path.slice(start, end);
}

/** A path for a URL, its slashes kept. */
export function encodePath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

/** How errors name a folder, which is "" for the repository's root. */
export function displayPath(path: string): string {
  return path === "" ? "/" : path;
}
