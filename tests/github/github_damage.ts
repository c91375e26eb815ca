// Changes one byte of every content in an answer, so that it no longer hashes to its id.

import type { RequestKind } from "./github_log.ts";
import type { Reply } from "./github_reply.ts";

/** The answer with wrong contents; other kinds of answers are left as they are. */
export function damaged(reply: Reply, kind: RequestKind): Reply {
  const json = reply.headers["content-type"]?.startsWith("application/json") ?? false;
  if (kind === "raw" || (kind === "blob" && !json)) return { ...reply, body: flipped(reply.body) };
  if (kind !== "blob" && kind !== "graphql") return reply;
  const text = JSON.stringify(
    JSON.parse(new TextDecoder().decode(reply.body)),
    (key, value) =>
      key === "content"
        ? flipped(Uint8Array.fromBase64(value)).toBase64()
        : key === "text" && typeof value === "string"
        ? `${value}!`
        : value,
  );
  return { ...reply, body: new TextEncoder().encode(text) };
}

function flipped(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  if (bytes.length === 0) return new Uint8Array([33]);
  const copy = new Uint8Array(bytes);
  copy[0] = copy[0]! ^ 1;
  return copy;
}
