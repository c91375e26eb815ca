// The JSON of a file in both operations, and its media type, which its name alone decides, so that a list and a file's own
// response agree.

import type { ItemBody } from "../api/contract.ts";
import { itemPathProblem } from "../api/names.ts";
import { itemUrl } from "../api/parameters.ts";
import { registeredType } from "../media_type.ts";
import type { FileRef } from "../source/source.ts";
import type { ReadContext } from "./read_context.ts";

/** Memory for each byte of a path in a response: the texts of its item, and JSON whose buffer is copied as it grows. */
export const BYTES_PER_PATH_BYTE = 28;
/** Memory for each byte of a file in a response: its bytes, its text, and its JSON, which has it twice with `body`. */
export const BYTES_PER_CONTENT_BYTE = { content: 8, frontMatter: 8, html: 16 };

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

/** The media type of a file with this name (RFC 2046), text with its charset. */
export function contentTypeOf(name: string): string {
  const extension = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  if (PLAIN_NAMES.test(name) || PLAIN_TEXT.has(extension)) return PLAIN;
  const type = registeredType(name);
  return type?.startsWith("text/") ? `${type}; charset=utf-8` : type ?? "application/octet-stream";
}

/** Whether a file of this type can have front matter; another need not be read. */
export function mayHaveFrontMatter(contentType: string): boolean {
  return !BINARY.test(contentType);
}

/** The media type under which a file's bytes are sent as they are. */
export function rawContentType(contentType: string): string {
  return ACTIVE.test(contentType) ? PLAIN : contentType;
}

/** The fields of a file that need none of its bytes. */
export function fileBody(
  { path, id, size }: FileRef,
  { source, snapshot, baseUrl }: ReadContext,
): Omit<ItemBody, "slug"> {
  const { name: { owner, repo }, branch } = snapshot;
  const name = fileName(path);
  const isReadable = itemPathProblem(path) === null;
  return {
    name,
    path,
    sha: id,
    size,
    contentType: contentTypeOf(name),
    contentUrl: isReadable ? itemUrl(baseUrl, { owner, repo, branch, path }) : undefined,
    htmlUrl: source.webUrl(snapshot, path) ?? undefined,
  };
}

// With ignoreBOM the mark stays in the text, so that encoding it again gives the same bytes.
const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text of bytes that are UTF-8 without a NUL, else null. */
export function textOf(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return strictUtf8.decode(bytes);
  } catch {
    return null;
  }
}
