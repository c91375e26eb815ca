// Errors as problem details (RFC 9457), and the page to which a problem's `type` leads. Only the public parts of a
// CollectionsError reach a client; every other error is an internal error, whose response has only the request id.

import { HttpError } from "fresh";
import { CollectionsError, ERRORS, isProblemCode, problem, type ProblemCode } from "../errors.ts";
import { describeError } from "../log.ts";
import { textResponse } from "./responses.ts";
import type { State } from "./state.ts";
import { escapeHtml, fillPage, HTML, PAGE_POLICY } from "./static_files.ts";

/** nginx's "client closed request", for the log; no client receives the response. */
const CLIENT_CLOSED_REQUEST = 499;

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
  const isUnknown = error instanceof HttpError && error.status === 404;
  return isUnknown ? problem("route-not-found", {}) : problem("internal-error", { requestId });
}

/** The page of a code. */
export async function problemPage(code: ProblemCode): Promise<Response> {
  const { status, title, meaning, todo } = ERRORS[code];
  const toItems = (items: string[]) => items.map((item) => `<li>${item}</li>`).join("");
  const html = await fillPage("problem.html", {
    code,
    title,
    status: String(status),
    meaning: toHtml(meaning),
    todo: toItems(todo.map(toHtml)),
    others: toItems(
      Object.keys(ERRORS).filter((other) => other !== code)
        .map((other) => `<a class="pill" href="${other}">${other}</a>`),
    ),
  });
  return textResponse(html, {
    headers: {
      "content-type": HTML,
      "content-security-policy": PAGE_POLICY,
      "cache-control": "public, max-age=3600",
    },
  });
}

function toHtml(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]*)`/g, "<code>$1</code>");
}
