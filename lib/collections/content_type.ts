// The media type of a file, by its name alone, so that a list and the file's own response agree.

import { lookup } from "mrmime";

/** Source and prose that are not in the registry of media types, or as something else (`.ts` as video). */
const PLAIN_TEXT: ReadonlySet<string> = new Set(
  ("adoc asciidoc astro cjs cts go jsx lock log mts njk liquid org php py rb rs rst sh svelte textile ts tsx vue")
    .split(" "),
);
const PLAIN_NAMES =
  /^(readme|license|licence|copying|changelog|authors|makefile|dockerfile|cname)$/i;
const PLAIN = "text/plain; charset=utf-8";
const UNKNOWN = "application/octet-stream";

/**
 * What a browser might run in the service's own origin; sent raw as plain text. SVG is made inert by its policy.
 * Scripts would satisfy a page's `script-src 'self'`.
 */
const ACTIVE =
  /^(text\/html|text\/xml|text\/javascript|application\/javascript|text\/xsl|application\/xml|application\/xslt\+xml|application\/xhtml\+xml)\b/;

/**
 * The media type of a file with this name (RFC 2046), text with its charset. A path is enough to know whether the file is
 * text, except for names that count as a whole, such as a readme without an extension.
 */
export function contentTypeOf(name: string): string {
  if (PLAIN_NAMES.test(name)) return PLAIN;
  const extension = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  if (PLAIN_TEXT.has(extension)) return PLAIN;
  const type = name.includes(".") ? lookup(name) : undefined;
  if (type === undefined) return UNKNOWN;
  return type.startsWith("text/") ? `${type}; charset=utf-8` : type;
}

/** Types whose files are no text, whatever their bytes are. */
const BINARY = /^(image\/(?!svg)|audio\/|video\/|font\/|application\/(pdf|zip|gzip|wasm)\b)/;

/** Whether a file of this type can have front matter; another need not be read. */
export function mayHaveFrontMatter(contentType: string): boolean {
  return !BINARY.test(contentType);
}

/** The media type under which a file's bytes are sent as they are. */
export function rawContentType(contentType: string): string {
  return ACTIVE.test(contentType) ||
      (/\+xml\b/.test(contentType) && contentType !== "image/svg+xml")
    ? PLAIN
    : contentType;
}
