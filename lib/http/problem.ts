// Errors as problem details (RFC 9457), and the one table that gives each code its status. Only what a
// CollectionsError says in public reaches a client; everything else is an internal error with its request id.

import { HttpError, type Middleware } from "fresh";
import { CollectionsError, type ErrorCode } from "../errors.ts";
import { describeError, type Log } from "../log.ts";
import { METHODS } from "./common_headers.ts";
import type { State } from "./state.ts";

/** Status and title of a problem. */
export interface ProblemKind {
  readonly status: number;
  readonly title: string;
}

/** Every code that can be the code of a response. */
export const PROBLEMS = {
  "invalid-parameters": { status: 400, title: "Parameters are missing or not usable" },
  "repository-not-allowed": { status: 403, title: "This repository is not served here" },
  "repository-not-found": { status: 404, title: "Repository not found" },
  "branch-not-found": { status: 404, title: "Branch not found" },
  "collection-not-found": { status: 404, title: "Collection not found" },
  "item-not-found": { status: 404, title: "File not found" },
  "route-not-found": { status: 404, title: "Nothing at this address" },
  "method-not-allowed": { status: 405, title: "Method not allowed" },
  "repository-empty": { status: 409, title: "Repository is empty" },
  "item-too-large": { status: 422, title: "File too large" },
  "collection-too-large": { status: 422, title: "Collection too large" },
  "too-many-requests": { status: 429, title: "Too many requests" },
  "repository-blocked": { status: 451, title: "Repository is blocked" },
  "internal-error": { status: 500, title: "Internal error" },
  "source-failed": { status: 502, title: "Source failed" },
  "source-rate-limited": { status: 503, title: "Source quota is spent" },
  "service-busy": { status: 503, title: "Service is busy" },
  "collection-not-ready": { status: 503, title: "Collection is not ready" },
  "source-timeout": { status: 504, title: "Source did not answer in time" },
} as const satisfies Partial<Record<ErrorCode, ProblemKind>>;

/** A code of {@linkcode PROBLEMS}. */
export type ProblemCode = keyof typeof PROBLEMS;

/** Whether a text is a code of {@linkcode PROBLEMS}. */
export function isProblemCode(text: string): text is ProblemCode {
  return Object.hasOwn(PROBLEMS, text);
}

/** Where a problem is answered. */
export interface ProblemContext {
  readonly requestId: string;
  readonly baseUrl: string;
}

/** The response for an error that was caught. Unexpected ones tell their request id and nothing else. */
export function problemResponse(error: unknown, { requestId, baseUrl }: ProblemContext): Response {
  const known = toCollectionsError(error, requestId);
  const code = known.code as ProblemCode;
  const { status, title } = PROBLEMS[code];
  const body = JSON.stringify({
    type: `${baseUrl}/problems/${code}`,
    title,
    status,
    detail: known.detail,
    code,
    requestId,
    ...known.facts,
  });
  const bytes = new TextEncoder().encode(body);
  const headers = new Headers({
    "content-type": "application/problem+json",
    "content-length": String(bytes.length),
    "cache-control": "no-store",
  });
  if (known.facts.retryAfterSeconds !== undefined) {
    headers.set("retry-after", String(known.facts.retryAfterSeconds));
  }
  if (code === "method-not-allowed") headers.set("allow", METHODS.join(", "));
  return new Response(bytes, { status, headers });
}

/** Turns whatever is thrown below into a problem, and logs what is this service's own fault. */
export const problems: Middleware<State> = async (ctx) => {
  const { exchange, services } = ctx.state;
  try {
    if (!METHODS.includes(ctx.req.method)) throw methodNotAllowed(ctx.req.method);
    return await ctx.next();
  } catch (error) {
    if (exchange.signal.aborted && error === exchange.signal.reason) {
      // Nobody reads this; the status is for the log (nginx's "client closed request").
      return new Response(null, { status: 499 });
    }
    const response = problemResponse(error, { requestId: exchange.id, baseUrl: exchange.baseUrl });
    if (error instanceof CollectionsError && error.code === "too-many-requests") {
      services.rateLimit.describe(exchange.clientAddress, response.headers);
    }
    logFailure(services.log, { error, status: response.status, requestId: exchange.id });
    return response;
  }
};

/** Logs what an operator should know of: failures of the source, and faults of this service. */
export function logFailure(
  log: Log,
  { error, status, requestId }: { error: unknown; status: number; requestId: string },
): void {
  if (status < 500) return;
  if (error instanceof CollectionsError) {
    log.warn("request failed", { id: requestId, code: error.code, reason: error.message });
  } else log.error("internal error", { id: requestId, ...describeError(error) });
}

/** 405 for anything but the three methods. */
function methodNotAllowed(method: string): CollectionsError {
  return new CollectionsError(
    "method-not-allowed",
    `This service only reads: use GET, HEAD or OPTIONS instead of ${method.slice(0, 20)}.`,
  );
}

/** 404 for an address where there is nothing. */
export function routeNotFound(): CollectionsError {
  return new CollectionsError(
    "route-not-found",
    "There is nothing at this address. The two operations are /api/list-collection-items and /api/get-item-content.",
  );
}

function toCollectionsError(error: unknown, requestId: string): CollectionsError {
  if (error instanceof CollectionsError && isProblemCode(error.code)) return error;
  if (error instanceof HttpError && error.status === 404) return routeNotFound();
  return new CollectionsError(
    "internal-error",
    `Something went wrong in this service. Tell its operator the request id ${requestId}.`,
  );
}
