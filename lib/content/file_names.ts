// Derives the media type, the kind and the slug of a file from its name. Lists
// and single files agree because both use this module.

import { mimes } from "mrmime";

/**
 * Source and prose files that the registry of media types lacks or has as
 * something else (`.ts` is video).
 */
const PLAIN_TEXT: ReadonlySet<string> = new Set(
  ("adoc asciidoc astro cjs cts go jsx lock log mts njk liquid org php " +
    "py rb rs rst sh svelte textile ts tsx vue")
    .split(" "),
);
const PLAIN_NAMES =
  /^(readme|licen[cs]e|copying|changelog|authors|makefile|dockerfile|cname)$/i;
const PLAIN = "text/plain; charset=utf-8";

/** Files of these types are not text whatever their bytes are. */
const BINARY =
  /^(image\/(?!svg)|audio\/|video\/|font\/|application\/(pdf|zip|gzip|wasm)\b)/;
/**
 * Types that a browser might run in the service's own origin. Their raw bytes
 * are sent as plain text. SVG is not included because its policy makes it
 * inert. Scripts are included because they would satisfy a page's
 * `script-src 'self'`.
 */
const ACTIVE =
  /^text\/(html|xml|javascript|xsl)\b|^application\/((java|ecma)script|xml)\b/;
const SVG = "image/svg+xml";

/** Returns the part of a path after its last slash. */
export function fileName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/**
 * Returns the path inside a collection without its extension. A name whose only
 * dot is the first character stays whole.
 */
export function slugOf(pathInside: string): string {
  const dot = pathInside.lastIndexOf(".");
  const nameStart = pathInside.lastIndexOf("/") + 1;
  return dot <= nameStart ? pathInside : pathInside.slice(0, dot);
}

/** Kinds of files by their names. */
export const KINDS = ["markdown", "text", "data", "image", "other"] as const;
export type Kind = typeof KINDS[number];

/** Returns the kind of a file. Data files hold rows, lists or mappings. */
export function kindOf(name: string): Kind {
  if (isMarkdown(name)) return "markdown";
  if (isDataFile(name)) return "data";
  const type = contentTypeOf(name);
  if (type.startsWith("image/")) return "image";
  return /^text\/|[/+](javascript|json|xml)\b/.test(type) ? "text" : "other";
}

/** Returns whether a name ends with `.md`, `.markdown` or `.mdx`. */
export function isMarkdown(name: string): boolean {
  return /\.(md|markdown|mdx)$/i.test(name);
}

/**
 * Returns the key of what is derived from a file: its blob id, followed by its
 * format if it is JSON, YAML, TOML or MDX.
 */
export function derivedKey({ path, id }: { path: string; id: string }): string {
  const [, format] = /\.(json|ya?ml|toml|mdx)$/i.exec(path) ?? [];
  if (format === undefined) return id;
  return `${id} ${format.toLowerCase().replace("yml", "yaml")}`;
}

/** Returns whether a name ends like that of a file with rows or entries. */
export function isDataFile(name: string): boolean {
  return /\.(csv|tsv|json|jsonl|ndjson|ya?ml|toml)$/i.test(name);
}

/** Returns the media type for a file name (RFC 2046). Text has a charset. */
export function contentTypeOf(name: string): string {
  const extension = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  if (PLAIN_NAMES.test(name) || PLAIN_TEXT.has(extension)) return PLAIN;
  const type = name.includes(".") ? registeredType(extension) : undefined;
  return type?.startsWith("text/")
    ? `${type}; charset=utf-8`
    : type ?? "application/octet-stream";
}

/**
 * Returns the media type from the registry. mrmime's own `lookup` finds
 * `Object.prototype` for `x.constructor`.
 */
export function registeredType(extension: string): string | undefined {
  return Object.hasOwn(mimes, extension) ? mimes[extension] : undefined;
}

/**
 * Returns whether a file must be loaded to know its front matter. Files over
 * the size limit and binary files have no front matter.
 */
export function needsReading(
  name: string,
  size: number,
  maxItemBytes: number,
): boolean {
  return size <= maxItemBytes && !BINARY.test(contentTypeOf(name));
}

/** Returns the media type for sending a file's bytes unchanged. */
export function rawContentType(contentType: string): string {
  const isActive = ACTIVE.test(contentType) ||
    contentType !== SVG && /\+xml\b/.test(contentType);
  return isActive ? PLAIN : contentType;
}
