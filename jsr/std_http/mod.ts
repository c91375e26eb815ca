// The part of @std/http that this service uses, under the published package's name; see ../README.md.

export { eTag, type ETagOptions } from "./etag.ts";
export { acceptsEncodings } from "./negotiation.ts";
export { type ErrorStatus, STATUS_CODE, STATUS_TEXT, type StatusCode } from "./status.ts";
