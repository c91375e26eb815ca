// Everything that can go wrong at GitHub or on the way there, as data, so that a separate process can receive it too.
// Refused connections are `down()` and `up()` of the double itself.

import type { LoggedRequest, RequestKind } from "./github_log.ts";
import { errorReply, type GithubTree, type Reply } from "./github_reply.ts";

/** A fault; `only` limits it to some kinds of requests. */
export type Fault = { only?: RequestKind[] } & FaultKind;

type FaultKind =
  /** No answer; the connection breaks when the double lets go (`pauses.release()`) or closes. */
  | { kind: "hang" }
  /** Headers and half of the body, then nothing more. */
  | { kind: "stall" }
  /** The connection breaks after the headers. */
  | { kind: "reset" }
  /** The body ends before its `content-length`. */
  | { kind: "cut" }
  /** The answer, this much later. */
  | { kind: "slow"; delayMs: number }
  | { kind: "status"; status: number; message?: string; headers?: Record<string, string> }
  /** The quota is spent, whatever the accounts have. */
  | { kind: "quota403" | "quota429"; resetAtMs?: number }
  /** The secondary limit; `retryAfterSeconds` is 60, null leaves the header out. */
  | { kind: "secondary403" | "secondary429"; retryAfterSeconds?: number | null }
  /** A 403 that is no rate limit. */
  | { kind: "forbidden" }
  /** 200 with JSON that breaks off. */
  | { kind: "garbage" }
  /** 200 with a web page. */
  | { kind: "html" }
  /** Contents that do not hash to their id: blobs, raw files and GraphQL texts. */
  | { kind: "wrong-bytes" }
  /** Trees as `rewrite` leaves them, or with these `entries` at their end. */
  | { kind: "evil-tree"; rewrite?: (tree: GithubTree) => unknown; entries?: unknown[] };

/** Chooses a fault, or none, for a request. */
export type FaultChooser = (logged: LoggedRequest, request: Request) => Fault | null;

const encode = (text: string) => new TextEncoder().encode(text);
const parse = (bytes: Uint8Array) => JSON.parse(new TextDecoder().decode(bytes));

/** The answer that a fault gives instead of the real one, or null if it gives none. */
export function replyInstead(fault: Fault, nowMs: number): Reply | null {
  switch (fault.kind) {
    case "hang":
      return errorReply(502, "Server Error");
    case "status": {
      const { status, message = "Server Error", headers = {} } = fault;
      return errorReply(status, message, { headers });
    }
    case "quota403":
    case "quota429": {
      const reset = String(Math.ceil((fault.resetAtMs ?? nowMs + 3_600_000) / 1000));
      const status = fault.kind === "quota403" ? 403 : 429;
      const headers = { "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset };
      return errorReply(status, "API rate limit exceeded for 127.0.0.1.", { headers });
    }
    case "secondary403":
    case "secondary429": {
      const { retryAfterSeconds: seconds = 60 } = fault;
      const status = fault.kind === "secondary403" ? 403 : 429;
      const message = "You have exceeded a secondary rate limit. Please wait a few minutes.";
      const headers: Record<string, string> = seconds === null
        ? {}
        : { "retry-after": `${seconds}` };
      return errorReply(status, message, { headers });
    }
    case "forbidden":
      return errorReply(403, "Resource not accessible by personal access token");
    case "garbage": {
      const headers = { "content-type": "application/json; charset=utf-8" };
      return { status: 200, headers, body: encode('{"sha": "0123') };
    }
    case "html": {
      const headers = { "content-type": "text/html; charset=utf-8" };
      return { status: 200, headers, body: encode("<!DOCTYPE html><title>Unicorn!</title>") };
    }
    default:
      return null;
  }
}

/** The real answer, changed as the fault requires. */
export function spoil(fault: Fault, reply: Reply, kind: RequestKind): Reply {
  if (reply.status !== 200) return reply;
  if (fault.kind === "evil-tree" && kind.startsWith("tree")) {
    const tree = parse(reply.body) as GithubTree;
    tree.tree.push(...(fault.entries ?? []) as GithubTree["tree"]);
    return { ...reply, body: encode(JSON.stringify(fault.rewrite?.(tree) ?? tree)) };
  }
  if (fault.kind !== "wrong-bytes") return reply;
  const isJson = reply.headers["content-type"]!.startsWith("application/json");
  if (kind === "raw" || (kind === "blob" && !isJson)) return { ...reply, body: flip(reply.body) };
  if (kind !== "blob" && kind !== "graphql") return reply;
  const wrong = (key: string, value: unknown) =>
    key === "content"
      ? flip(Uint8Array.fromBase64(value as string)).toBase64()
      : key === "text" && typeof value === "string"
      ? `${value}!`
      : value;
  return { ...reply, body: encode(JSON.stringify(parse(reply.body), wrong)) };
}

function flip(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const copy = bytes.length === 0 ? new Uint8Array(1) : new Uint8Array(bytes);
  copy[0]! ^= 1;
  return copy;
}
