// Errors as problem details (RFC 9457). Only the public parts of a CollectionsError reach a client; every other error
// is an internal error, whose response has only the request id.

import { HttpError, type Middleware } from "fresh";
import {
  CollectionsError,
  ERRORS,
  internalError,
  isProblemCode,
  type ProblemCode,
  routeNotFound,
} from "../errors.ts";
import { describeError, type Log } from "../log.ts";
import { methodsOf } from "./responses.ts";
import type { State } from "./state.ts";

/** nginx's "client closed request", for the log; no client receives the response. */
const CLIENT_CLOSED_REQUEST = 499;

/** The response for an error that was caught; logs what an operator should know of. */
export function problemResponse(error: unknown, { context, services }: State): Response {
  if (context.signal.aborted && error === context.signal.reason) {
    return new Response(null, { status: CLIENT_CLOSED_REQUEST });
  }
  const { id: requestId } = context;
  const known = toCollectionsError(error, requestId);
  const { detail, facts } = known;
  const code = known.code as ProblemCode;
  const { status, title } = ERRORS[code];
  if (status >= 500) logFailure(error, { requestId, log: services.log });
  const type = `${context.baseUrl}/problems/${code}`;
  const body = { type, title, status, detail, code, requestId, ...facts };
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  const headers = new Headers({
    "content-type": "application/problem+json",
    "content-length": String(bytes.length),
    "cache-control": "no-store",
  });
  if (facts.retryAfterSeconds !== undefined) {
    headers.set("retry-after", String(facts.retryAfterSeconds));
  }
  if (code === "method-not-allowed") {
    const methods = methodsOf(context.request.url, { hasWebhook: services.webhook !== null });
    headers.set("allow", methods.join(", "));
  }
  if (code === "too-many-requests") services.rateLimit.describe(context.client, headers);
  return new Response(bytes, { status, headers });
}

/** An error whose code is one of a response. */
function toCollectionsError(error: unknown, requestId: string): CollectionsError {
  if (error instanceof CollectionsError && isProblemCode(error.code)) return error;
  if (error instanceof HttpError && error.status === 404) return routeNotFound();
  return internalError(requestId);
}

function logFailure(error: unknown, { requestId, log }: { requestId: string; log: Log }): void {
  if (error instanceof CollectionsError) {
    log.warn("request failed", { id: requestId, code: error.code, reason: error.message });
  } else log.error("internal error", { id: requestId, ...describeError(error) });
}

/** Answers what routes throw as problems, since Fresh would answer it in its own way. */
export const problems: Middleware<State> = async (ctx) => {
  ctx.state.context.route = ctx.route ?? "none";
  try {
    // `next()` may throw before it returns a promise.
    return await ctx.next();
  } catch (error) {
    return problemResponse(error, ctx.state);
  }
};
