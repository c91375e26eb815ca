// The part of @std/http that this service uses, under the published package's name; see ../README.md.

export { type ErrorStatus, STATUS_CODE, STATUS_TEXT, type StatusCode } from "./status.ts";
