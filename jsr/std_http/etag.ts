// Entity tags (RFC 9110, 8.8.3): "<size in hex>-<27 characters of a digest>".

/** How a tag is made. */
export interface ETagOptions {
  /** SHA-256 by default. */
  algorithm?: AlgorithmIdentifier;
  /** Whether the tag is weak; by default it is strong. */
  weak?: boolean;
}

/** Gives the tag of some content. */
export async function eTag(
  entity: string | Uint8Array,
  { algorithm = "SHA-256", weak = false }: ETagOptions = {},
): Promise<string> {
  const bytes = typeof entity === "string" ? new TextEncoder().encode(entity) : entity;
  const digest = await crypto.subtle.digest(algorithm, bytes.slice());
  const base64 = btoa(String.fromCharCode(...new Uint8Array(digest)));
  return `${weak ? "W/" : ""}"${bytes.length.toString(16)}-${base64.slice(0, 27)}"`;
}
