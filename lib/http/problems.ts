// Errors as problem details (RFC 9457), and the page to which a problem's `type` leads. Only the public parts of a
// CollectionsError reach a client; every other error is an internal error, whose response has only the request id.

import { HttpError, type Middleware } from "fresh";
import {
  CollectionsError,
  ERRORS,
  internalError,
  isProblemCode,
  type ProblemCode,
  routeNotFound,
} from "../errors.ts";
import { describeError } from "../log.ts";
import { textResponse } from "./responses.ts";
import type { State } from "./state.ts";
import { escapeHtml, PAGE_POLICY } from "./static_files.ts";

/** nginx's "client closed request", for the log; no client receives the response. */
const CLIENT_CLOSED_REQUEST = 499;

/** Answers what routes throw, since Fresh would answer it in its own way; an unknown address may get a page. */
export const problems: Middleware<State> = async (ctx) => {
  const { req, url, state } = ctx;
  state.context.route = ctx.route ?? "none";
  // Fresh may or may not answer with a slash at the end, and the links of the page are relative.
  if (url.pathname === "/reference/") {
    return new Response(null, { status: 308, headers: { location: `../reference${url.search}` } });
  }
  try {
    // `next()` may throw before it returns a promise.
    return await ctx.next();
  } catch (error) {
    const isUnknown = toPublicError(error, "").code === "route-not-found";
    const wantsPage = /\btext\/html\b/.test(req.headers.get("accept") ?? "");
    if (!isUnknown || !wantsPage) return problemResponse(error, state);
    // A path, since the policy allows styles of the page's own origin alone.
    const root = new URL(state.context.baseUrl).pathname.replace(/\/$/, "");
    const headers = { "cache-control": "no-store", "vary": "Accept" };
    return problemPage("route-not-found", { root, status: 404, headers });
  }
};

/** The response for an error that was caught; logs what an operator should know of. */
export function problemResponse(error: unknown, { context, services }: State): Response {
  if (context.signal.aborted && error === context.signal.reason) {
    return new Response(null, { status: CLIENT_CLOSED_REQUEST });
  }
  const { id, baseUrl, client } = context;
  const { code, detail, facts } = toPublicError(error, id);
  const { status, title } = ERRORS[code as ProblemCode];
  if (status >= 500 && error instanceof CollectionsError) {
    services.log.warn("request failed", { id, code: error.code, reason: error.message });
  } else if (status >= 500) {
    services.log.error("internal error", { id, ...describeError(error) });
  }
  const type = `${baseUrl}/problems/${code}`;
  const body = { type, title, status, detail, code, requestId: id, ...facts };
  const response = textResponse(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/problem+json", "cache-control": "no-store" },
  });
  const { headers } = response;
  const retryAfter = facts.retryAfterSeconds;
  if (retryAfter !== undefined) headers.set("retry-after", String(retryAfter));
  if (code === "too-many-requests") services.rateLimit.describe(client, headers);
  return response;
}

/** An error whose code is one of a response. */
function toPublicError(error: unknown, requestId: string): CollectionsError {
  if (error instanceof CollectionsError && isProblemCode(error.code)) return error;
  if (error instanceof HttpError && error.status === 404) return routeNotFound();
  return internalError(requestId);
}

let template: string | null = null;

/** The page of a code. `root` is where the service's pages are, seen from where the page is shown. */
export async function problemPage(
  code: ProblemCode,
  { root, ...options }: { root: string; status?: number; headers: Record<string, string> },
): Promise<Response> {
  const { status, title, meaning, todo } = ERRORS[code];
  const list = (items: string[]) => items.map((item) => `<li>${item}</li>`).join("\n        ");
  const pill = (code: string) => `<a class="pill" href="${root}/problems/${code}">${code}</a>`;
  const values: Readonly<Record<string, string>> = {
    ...{ root, code, title, status: String(status), meaning: toHtml(meaning) },
    todo: list(todo.map(toHtml)),
    others: list(Object.keys(ERRORS).filter((other) => other !== code).map(pill)),
  };
  template ??= await Deno.readTextFile(new URL("../../static/problem.html", import.meta.url));
  const page = template.replaceAll(/%([a-z]+)%/g, (_, name) => values[name] ?? "");
  const type = "text/html; charset=utf-8";
  const common = { "content-type": type, "content-security-policy": PAGE_POLICY };
  return textResponse(page, { ...options, headers: { ...common, ...options.headers } });
}

function toHtml(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]*)`/g, "<code>$1</code>");
}
