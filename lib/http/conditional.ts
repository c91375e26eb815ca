// Conditional requests and codings (RFC 9110, sections 13 and 12.5.3).

import { acceptsEncodings } from "@std/http";

/** The codings that a body is kept in. */
export type Coding = "identity" | "gzip";

/** The tag of a representation in gzip: a strong tag is one per coding. */
export function gzipTag(etag: string): string {
  return etag.replace(/"$/, '-gzip"');
}

/**
 * The tag of `tags` that `If-None-Match` names (weak comparison), or the first where it is `*`; null where the caller
 * does not have the representation.
 */
export function matchingTag(ifNoneMatch: string, tags: readonly string[]): string | null {
  if (ifNoneMatch.trim() === "*") return tags[0] ?? null;
  const given = new Set(ifNoneMatch.match(/"[^"]*"/g) ?? []);
  return tags.find((tag) => given.has(tag)) ?? null;
}

const MAX_REMEMBERED = 200;
const remembered = new Map<string, Coding>();

/** The coding to send, of those that there are; browsers send few different values, so they are remembered. */
export function chooseCoding(acceptEncoding: string | null): Coding {
  // An empty field wants no coding (RFC 9110, 12.5.3).
  if (!acceptEncoding || acceptEncoding.length > 200) return "identity";
  const known = remembered.get(acceptEncoding);
  if (known !== undefined) return known;
  const request = new Request("http://localhost", {
    headers: { "accept-encoding": acceptEncoding },
  });
  const coding = acceptsEncodings(request, "gzip", "identity") === "gzip" ? "gzip" : "identity";
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  remembered.set(acceptEncoding, coding);
  return coding;
}
