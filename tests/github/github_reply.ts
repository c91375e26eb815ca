// Answers before they become HTTP responses, and the bodies that GitHub sends with its errors.

/** An answer. `etagOf` stands for the body's content where hashing it would be slow. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: Uint8Array<ArrayBuffer>;
  etagOf?: string;
}

const encoder = new TextEncoder();
const documentation = "https://docs.github.com/rest";

/** A request that nobody should have sent; the message says what is wrong with it. */
export class UnexpectedRequest extends Error {}

/** A JSON answer. */
export function jsonReply(
  body: unknown,
  options: { status?: number; headers?: Record<string, string>; etagOf?: string } = {},
): Reply {
  return {
    status: options.status ?? 200,
    headers: { "content-type": "application/json; charset=utf-8", ...options.headers },
    body: encoder.encode(typeof body === "string" ? body : JSON.stringify(body)),
    ...(options.etagOf === undefined ? {} : { etagOf: options.etagOf }),
  };
}

/** An error as GitHub words it: `{ message, documentation_url, status }`. */
export function errorReply(
  status: number,
  message: string,
  options: { fields?: Record<string, unknown>; headers?: Record<string, string> } = {},
): Reply {
  const { fields = {}, headers = {} } = options;
  const body = { message, ...fields, documentation_url: documentation, status: String(status) };
  return jsonReply(body, { status, headers });
}

/** The answer for what is missing and for what may not be seen alike. */
export function notFoundReply(): Reply {
  return errorReply(404, "Not Found");
}

/** The answer to what GitHub itself would not have been asked. */
export function unexpectedReply(reason: string): Reply {
  return errorReply(418, `The double does not expect this: ${reason}`);
}

/** An entity tag that differs by content, media type and caller; weak for JSON, as at GitHub. */
export async function etagOf(reply: Reply, caller: string): Promise<string> {
  const content = reply.etagOf === undefined ? reply.body : encoder.encode(reply.etagOf);
  const type = reply.headers["content-type"] ?? "";
  const seed = encoder.encode(`${caller}\n${type}\n`);
  const bytes = new Uint8Array(seed.length + content.length);
  bytes.set(seed);
  bytes.set(content, seed.length);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
  return `${type.startsWith("application/json") ? "W/" : ""}"${hash}"`;
}

/** Whether an `If-None-Match` header names a tag, compared weakly (RFC 9110, 13.1.2). */
export function matchesEtag(ifNoneMatch: string, etag: string): boolean {
  const bare = (tag: string) => tag.trim().replace(/^W\//, "");
  return ifNoneMatch.trim() === "*" ||
    ifNoneMatch.split(",").some((tag) => bare(tag) === bare(etag));
}
