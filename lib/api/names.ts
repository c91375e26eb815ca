// Rules for paths, collections and branches. Each rule returns null for a valid
// value or a sentence about the fault.

// deno-lint-ignore no-control-regex -- the rule is about control characters
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;
// deno-lint-ignore no-control-regex -- Git bans control characters
const BAD_IN_REF = /[\u0000-\u001f\u007f ~^:?*[\\]/;

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

/**
 * Checks a path below the root of a repository. Segments must be plain so that
 * no path leads outside.
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
  if (/^\/|\/\/|\/$/.test(path)) {
    return "must not have an empty segment or an outer slash";
  }
  return /(^|\/)\.\.?(\/|$)/.test(path)
    ? "must not have a segment `.` or `..`"
    : null;
}

/** Checks the path of a file. A path has at most 4096 bytes. */
export function itemPathProblem(path: string): string | null {
  return byteLength(path) > 4096
    ? "must be at most 4096 bytes"
    : pathProblem(path);
}

/**
 * Checks a collection: `/` or a path that may have outer slashes. It has at
 * most 1024 bytes.
 */
export function collectionProblem(name: string): string | null {
  if (byteLength(name) > 1024) return "must be at most 1024 bytes";
  return name === "/" ? null : pathProblem(trimSlashes(name));
}

/**
 * Checks a link template. It is a relative or http(s) URL that contains
 * `{slug}` once.
 */
export function linkTemplateProblem(template: string): string | null {
  if (byteLength(template) > 200) return "must be at most 200 bytes";
  const isBroken = CONTROL.test(template) || /\s/.test(template);
  if (isBroken) return "must not hold spaces or control characters";
  if (template.split("{slug}").length !== 2) return "must hold {slug} once";
  // The template `{slug}:x` would let a slug choose any scheme.
  const scheme =
    /^[a-z][a-z0-9+.-]*:/i.exec(template.replace("{slug}", "a"))?.[0] ?? null;
  return scheme === null || /^https?:\/\/[^/]/i.test(template)
    ? null
    : "must be relative, or begin with http:// or https://";
}

/**
 * Returns whether a link template is an absolute URL whose host does not depend
 * on the slug.
 */
export function isAbsoluteTemplate(template: string): boolean {
  return /^https?:\/\/[^/?#{]+[/?#]/i.test(template) && URL.canParse(template);
}

/** Checks the title of a feed. It has at most 200 bytes. */
export function feedTitleProblem(title: string): string | null {
  if (byteLength(title) > 200) return "must be at most 200 bytes";
  return CONTROL.test(title) ? "must not hold control characters" : null;
}

/**
 * Checks a ref name (git-scm.com/docs/git-check-ref-format). It has at most 255
 * bytes.
 */
export function branchProblem(name: string): string | null {
  if (name === "") return "must not be empty";
  if (byteLength(name) > 255) return "must be at most 255 bytes";
  if (BAD_IN_REF.test(name)) {
    return "must not hold spaces, control characters or any of ~ ^ : ? * [ \\";
  }
  if (/\.\.|@\{/.test(name)) return "must not hold `..` or `@{`";
  if (name === "@") return "must not be the single character `@`";
  if (name.endsWith(".")) return "must not end with a dot";
  if (/^\/|\/\/|\/$/.test(name)) {
    return "must not begin or end with a slash or hold two in a row";
  }
  return /(^|\/)\.|\.lock(\/|$)/.test(name)
    ? "must not have a component that begins with a dot or ends with .lock"
    : null;
}

/** Returns a path without outer slashes. */
export function trimSlashes(path: string): string {
  // Without the look-behind, each inner slash of a run would be a new start.
  return path.replace(/^\/+|(?<!\/)\/+$/g, "");
}

/** Returns a path that is encoded for a URL. Slashes are kept. */
export function encodePath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

/** Returns the name of a folder for errors. The root is "" and becomes `/`. */
export function displayPath(path: string): string {
  return path === "" ? "/" : path;
}
