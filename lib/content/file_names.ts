// What the name of a file says of it: its media type, its slug, and whether it is Markdown. A list and a file's own
// response agree, since nothing else decides.

import { mimes } from "mrmime";

/** Source and prose that are not in the registry of media types, or as something else (`.ts` as video). */
const PLAIN_TEXT: ReadonlySet<string> = new Set(
  ("adoc asciidoc astro cjs cts go jsx lock log mts njk liquid org php py rb rs rst sh svelte textile ts tsx vue")
    .split(" "),
);
const PLAIN_NAMES =
  /^(readme|license|licence|copying|changelog|authors|makefile|dockerfile|cname)$/i;
const PLAIN = "text/plain; charset=utf-8";

/** Types whose files are no text, whatever their bytes are. */
const BINARY = /^(image\/(?!svg)|audio\/|video\/|font\/|application\/(pdf|zip|gzip|wasm)\b)/;
/**
 * What a browser might run in the service's own origin; sent raw as plain text. SVG is made inert by its policy.
 * Scripts would satisfy a page's `script-src 'self'`.
 */
const ACTIVE =
  /^(text\/(html|xml|javascript|xsl)|application\/(javascript|ecmascript|xml)|(?!image\/svg\+xml$).*\+xml)\b/;

/** The part of a path after its last slash. */
export function fileName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** The path inside a collection without its extension; a name that is all extension stays whole. */
export function slugOf(pathInside: string): string {
  const dot = pathInside.lastIndexOf(".");
  const nameStart = pathInside.lastIndexOf("/") + 1;
  return dot <= nameStart ? pathInside : pathInside.slice(0, dot);
}

/** Whether a file is Markdown by its name: `.md`, `.markdown` or `.mdx`. */
export function isMarkdown(name: string): boolean {
  return /\.(md|markdown|mdx)$/i.test(name);
}

/** Whether a file is MDX by its name. */
export function isMdx(name: string): boolean {
  return /\.mdx$/i.test(name);
}

/** The media type of a file with this name (RFC 2046), text with its charset. */
export function contentTypeOf(name: string): string {
  const extension = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  if (PLAIN_NAMES.test(name) || PLAIN_TEXT.has(extension)) return PLAIN;
  const type = name.includes(".") ? registeredType(extension) : undefined;
  return type?.startsWith("text/") ? `${type}; charset=utf-8` : type ?? "application/octet-stream";
}

/** The media type in the registry; mrmime's own `lookup` finds `Object.prototype` for `x.constructor`. */
export function registeredType(extension: string): string | undefined {
  return Object.hasOwn(mimes, extension) ? mimes[extension] : undefined;
}

/** Whether a file has to be read to know its front matter: one over the size cap, or that is no text, has none. */
export function needsReading(name: string, size: number, maxItemBytes: number): boolean {
  return size <= maxItemBytes && !BINARY.test(contentTypeOf(name));
}

/** The media type under which a file's bytes are sent as they are. */
export function rawContentType(contentType: string): string {
  return ACTIVE.test(contentType) ? PLAIN : contentType;
}
