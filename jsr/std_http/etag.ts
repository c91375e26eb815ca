// Entity tags (RFC 9110, 8.8.3): "<size in hex>-<27 characters of a digest>".

/** What a tag is made of when the content itself is not read. */
export interface FileInfo {
  mtime: Date | null;
  size: number;
}

/** How a tag is made. */
export interface ETagOptions {
  /** SHA-256 by default. */
  algorithm?: AlgorithmIdentifier;
  /** By default a tag of content is strong, and one of file information weak. */
  weak?: boolean;
}

/** Gives the tag of some content, or of a file by its size and time; undefined without a time. */
export function eTag(entity: string | Uint8Array, options?: ETagOptions): Promise<string>;
export function eTag(entity: FileInfo, options?: ETagOptions): Promise<string | undefined>;
export async function eTag(
  entity: string | Uint8Array | FileInfo,
  options: ETagOptions = {},
): Promise<string | undefined> {
  const isContent = typeof entity === "string" || entity instanceof Uint8Array;
  const { algorithm = "SHA-256", weak = !isContent } = options;
  const source = isContent ? entity : entity.mtime?.toJSON();
  if (source === undefined) return undefined;

  const bytes = typeof source === "string" ? new TextEncoder().encode(source) : source;
  const size = isContent ? bytes.length : entity.size;
  const digest = await crypto.subtle.digest(algorithm, bytes.slice());
  const base64 = btoa(String.fromCharCode(...new Uint8Array(digest)));
  return `${weak ? "W/" : ""}"${size.toString(16)}-${base64.slice(0, 27)}"`;
}

/** Whether a request with this `If-None-Match` is to get the content: no tag in it is this one. */
export function ifNoneMatch(value: string | null, etag: string | undefined): boolean {
  if (!value || !etag) return true;
  if (value.trim() === "*") return false;
  return !value.trim().split(/\s*,\s*/).some((tag) => toOpaque(tag) === toOpaque(etag));
}

/** If-None-Match compares weakly (RFC 9110, 13.1.2). */
function toOpaque(etag: string): string {
  return etag.startsWith("W/") ? etag.slice(2) : etag;
}
