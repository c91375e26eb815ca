// A file's bytes as they are, made harmless: a name that cannot break out of its header, and a policy under which
// nothing in the file runs.

import { rawContentType } from "../collections/content_type.ts";
import type { Content } from "./ready_body.ts";

const POLICY = "sandbox; default-src 'none'";

/** The raw answer for a file. */
export function rawContent(
  file: { name: string; contentType: string; bytes: Uint8Array<ArrayBuffer> },
): Content {
  return {
    bytes: file.bytes,
    contentType: rawContentType(file.contentType),
    headers: {
      "content-disposition": contentDisposition(file.name),
      "content-security-policy": POLICY,
    },
  };
}

/** `Content-Disposition: inline` with the name as ASCII and, by RFC 8187, whole (RFC 6266). */
export function contentDisposition(name: string): string {
  const plain = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, "_");
  const whole = encodeURIComponent(name.toWellFormed())
    .replaceAll(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  return `inline; filename="${plain}"; filename*=UTF-8''${whole}`;
}
