// Everything that can go wrong at GitHub or on the way there, as data, which
// another thread can receive too. Refused connections are `down()` and `up()`
// of the double itself.

import type { TestClock } from "../test_clock.ts";
import type { GithubDouble } from "./github_double.ts";
import type { RequestKind } from "./github_log.ts";
import { errorReply } from "./github_api.ts";

/** A fault; `only` limits it to some kinds of requests. */
export type Fault = { only?: RequestKind[] } & FaultKind;

type FaultKind =
  /**
   * No answer; the connection breaks when the double lets go
   * (`pauses.release()`) or closes.
   */
  | { kind: "hang" }
  /** Headers and half of the body, then nothing more. */
  | { kind: "stall" }
  /** The connection breaks after the headers. */
  | { kind: "reset" }
  /** The body ends before its `content-length`. */
  | { kind: "cut" }
  /** The answer, this much later. */
  | { kind: "slow"; delayMs: number }
  | {
    kind: "status";
    status: number;
    message?: string;
    headers?: Record<string, string>;
  }
  /** The quota is spent, whatever the accounts have. */
  | { kind: "quota403" | "quota429"; resetAtMs?: number }
  /**
   * The secondary limit; `retryAfterSeconds` is 60, null leaves the header out.
   */
  | { kind: "secondary403" | "secondary429"; retryAfterSeconds?: number | null }
  /** 200 with JSON that breaks off. */
  | { kind: "garbage" }
  /** 200 with a web page. */
  | { kind: "html" }
  /**
   * Contents that do not hash to their id: blobs, raw files and GraphQL texts.
   */
  | { kind: "wrong-bytes" }
  /** Trees with these `entries` at their end. */
  | { kind: "evil-tree"; entries: unknown[] };

/**
 * The answer that a fault gives instead of the real one, or null if it gives
 * none.
 */
export function replyInstead(fault: Fault, nowMs: number): Response | null {
  switch (fault.kind) {
    case "hang":
      return errorReply(502, "Server Error");
    case "status":
      return errorReply(
        fault.status,
        fault.message ?? "Server Error",
        fault.headers,
      );
    case "quota403":
    case "quota429": {
      const reset = String(
        Math.ceil((fault.resetAtMs ?? nowMs + 3_600_000) / 1000),
      );
      const headers = {
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset": reset,
      };
      const message = "API rate limit exceeded for 127.0.0.1.";
      return errorReply(Number(fault.kind.slice(-3)), message, headers);
    }
    case "secondary403":
    case "secondary429": {
      const { retryAfterSeconds: seconds = 60 } = fault;
      const message =
        "You have exceeded a secondary rate limit. Please wait a few minutes.";
      const headers = seconds === null ? {} : { "retry-after": `${seconds}` };
      return errorReply(Number(fault.kind.slice(-3)), message, headers);
    }
    case "garbage":
      return new Response('{"sha": "0123', {
        headers: { "content-type": "application/json" },
      });
    case "html":
      return new Response("<!DOCTYPE html>", {
        headers: { "content-type": "text/html" },
      });
    default:
      return null;
  }
}

/** The real answer, changed as the fault requires. */
export async function spoil(
  fault: Fault | null,
  reply: Response,
  kind: RequestKind,
): Promise<Response> {
  const { status, headers } = reply;
  if (fault === null || status !== 200) return reply;
  if (fault.kind === "evil-tree" && kind.startsWith("tree")) {
    const body = await reply.json();
    body.tree.push(...fault.entries);
    return new Response(JSON.stringify(body), { headers });
  }
  if (fault.kind !== "wrong-bytes") return reply;
  if (kind === "raw" || kind === "blob") {
    const bytes = await reply.bytes();
    if (bytes.length > 0) bytes[0]! ^= 1;
    return new Response(bytes, { headers });
  }
  if (kind !== "graphql") return reply;
  const wrong = (key: string, value: unknown) =>
    key === "text" && typeof value === "string" ? `${value}!` : value;
  return new Response(JSON.stringify(await reply.json(), wrong), { headers });
}

/** SOURCE_TIMEOUT_MS by default. */
const CLIENT_TIMEOUT_MS = 10_000;

/**
 * From now on requests to the double that hang time out, while the clock stands
 * still: the time of a request is up as soon as nothing goes on but what hangs,
 * so that no request that would have been answered is cut short, however slow
 * the machine is.
 */
export function timeOutHangs(clock: TestClock, { pauses }: GithubDouble): void {
  /**
   * One for each request under way: it is canceled when the answer has come.
   */
  const timers = new Set<() => void>();
  const setTimer = clock.setTimer.bind(clock);
  const look = () => {
    if (pauses.hangs.size === 0 || pauses.hangs.size < timers.size) return;
    pauses.hangs.clear();
    const due = [...timers];
    timers.clear();
    for (const timeOut of due) timeOut();
  };
  clock.setTimer = (ms, callback) => {
    if (ms !== CLIENT_TIMEOUT_MS) return setTimer(ms, callback);
    timers.add(callback);
    return () => {
      if (timers.delete(callback)) look();
    };
  };
  pauses.onHang = () => {
    look();
    // A client without a time-out would wait without end: a broken connection
    // tells the test.
    if (timers.size === 0) queueMicrotask(() => pauses.release());
  };
}
