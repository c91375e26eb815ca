// Answers before they become HTTP responses, and the bodies that GitHub sends with its errors.

/** An answer. `etagOf` stands for the body's content where hashing it would be slow. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: Uint8Array<ArrayBuffer>;
  etagOf?: string;
}

const encoder = new TextEncoder();

/** A request that the service must not send; the message says what is wrong with it. */
export class UnexpectedRequest extends Error {}

/** A JSON answer. */
export function jsonReply(
  body: unknown,
  { status = 200, ...options }: {
    status?: number;
    headers?: Record<string, string>;
    etagOf?: string;
  } = {},
): Reply {
  const headers = { "content-type": "application/json; charset=utf-8", ...options.headers };
  const bytes = encoder.encode(typeof body === "string" ? body : JSON.stringify(body));
  return { ...options, status, headers, body: bytes };
}

/** An error as GitHub words it: `{ message, documentation_url, status }`. */
export function errorReply(
  status: number,
  message: string,
  { fields = {}, headers = {} }: {
    fields?: Record<string, unknown>;
    headers?: Record<string, string>;
  } = {},
): Reply {
  const documentation_url = "https://docs.github.com/rest";
  const body = { message, ...fields, documentation_url, status: String(status) };
  return jsonReply(body, { status, headers });
}

/** The answer for what is missing and for what may not be seen alike. */
export function notFoundReply(): Reply {
  return errorReply(404, "Not Found");
}

/**
 * The answer with its validator, or 304 where the request has it. The tag differs by content, media type and account;
 * it is weak for JSON, as at GitHub.
 */
export async function validated(reply: Reply, request: Request, account: string): Promise<Reply> {
  const content = reply.etagOf === undefined ? reply.body : encoder.encode(reply.etagOf);
  const type = reply.headers["content-type"] ?? "";
  const seed = encoder.encode(`${account}\n${type}\n`);
  const bytes = new Uint8Array(seed.length + content.length);
  bytes.set(seed);
  bytes.set(content, seed.length);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
  const etag = `${type.startsWith("application/json") ? "W/" : ""}"${hash}"`;
  // Compared weakly (RFC 9110, 13.1.2).
  const bare = (tag: string) => tag.trim().replace(/^W\//, "");
  const known = (request.headers.get("if-none-match") ?? "").split(",").map(bare);
  if (!known.includes(bare(etag)) && !known.includes("*")) {
    return { ...reply, headers: { ...reply.headers, etag } };
  }
  return { status: 304, headers: { etag }, body: new Uint8Array() };
}

/** One entry as GitHub lists it; only blobs have a `size`, submodules have no `url`. */
export interface GithubTreeEntry {
  path: string;
  mode: string;
  type: string;
  sha: string;
  size?: number;
  url?: string;
}

/** The body of a tree. */
export interface GithubTree {
  sha: string;
  url: string;
  tree: GithubTreeEntry[];
  truncated: boolean;
}
