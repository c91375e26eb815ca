// Problem details responses (RFC 9457) and the pages that their `type` links
// to. Only the public parts of a CollectionsError reach a client. Every other
// error becomes an internal error with only the request id.

import { HttpError } from "fresh";
import { escapeMarkup } from "../content/rendered.ts";
import {
  CollectionsError,
  ERRORS,
  isProblemCode,
  problem,
  type ProblemCode,
} from "../errors.ts";
import { describeError } from "../log.ts";
import { textResponse } from "./responses.ts";
import type { State } from "./state.ts";
import { fillPage, HTML, PAGE_POLICY } from "./static_files.ts";

/**
 * The nginx status "client closed request". It is for the log because no client
 * receives the response.
 */
const CLIENT_CLOSED_REQUEST = 499;

/**
 * Returns the response for a caught error. Logs errors that an operator should
 * know about.
 */
export function problemResponse(
  error: unknown,
  { context, services }: State,
): Response {
  if (context.signal.aborted && error === context.signal.reason) {
    return new Response(null, { status: CLIENT_CLOSED_REQUEST });
  }
  const { id, baseUrl, client } = context;
  const { code, detail, facts } = toPublicError(error, id);
  const { status, title } = ERRORS[code as ProblemCode];
  services.metrics.count(`problems_total{code="${code}"}`);
  if (status >= 500 && error instanceof CollectionsError) {
    services.log.warn("request failed", {
      id,
      code: error.code,
      reason: error.message,
    });
  } else if (status >= 500) {
    services.log.error("internal error", { id, ...describeError(error) });
  }
  const type = `${baseUrl}/problems/${code}`;
  const body = { type, title, status, detail, code, requestId: id, ...facts };
  const response = textResponse(JSON.stringify(body), {
    status,
    headers: {
      "content-type": "application/problem+json",
      "cache-control": "no-store",
    },
  });
  const { headers } = response;
  const retryAfter = facts.retryAfterSeconds;
  if (retryAfter !== undefined) headers.set("retry-after", String(retryAfter));
  if (code === "too-many-requests") {
    services.rateLimit.describe(client, headers);
  }
  return response;
}

/**
 * Maps errors without a public code to `route-not-found` or `internal-error`.
 */
function toPublicError(error: unknown, requestId: string): CollectionsError {
  if (error instanceof CollectionsError && isProblemCode(error.code)) {
    return error;
  }
  const isUnknown = error instanceof HttpError && error.status === 404;
  return isUnknown
    ? problem("route-not-found", {})
    : problem("internal-error", { requestId });
}

/** Returns the page that explains a code. */
export const problemPage = (code: ProblemCode) =>
  pageOf(code, "..", {
    headers: { "cache-control": "public, max-age=3600" },
  });

/**
 * Returns the response for an error of the app. A person who follows a wrong
 * link gets a page instead of JSON.
 */
export async function errorResponse(
  error: unknown,
  request: Request,
  state: State,
): Promise<Response> {
  const wantsPage = /\btext\/html\b/.test(request.headers.get("accept") ?? "");
  const { code } = toPublicError(error, "");
  if (!wantsPage || code !== "route-not-found") {
    return problemResponse(error, state);
  }
  // The policy allows styles of the page's own origin alone.
  const root = new URL(state.context.baseUrl).pathname.replace(/\/$/, "");
  const headers = { "cache-control": "no-store", "vary": "Accept" };
  return await pageOf(code, root, { status: 404, headers });
}

/** `root` leads from the page to the pages of the service. */
async function pageOf(
  code: ProblemCode,
  root: string,
  { headers, ...options }: {
    status?: number;
    headers: Readonly<Record<string, string>>;
  },
): Promise<Response> {
  const { status, title, meaning, todo } = ERRORS[code];
  const toItems = (items: string[]) =>
    items.map((item) => `<li>${item}</li>`).join("");
  const pill = (other: string) =>
    `<a class="pill" href="${root}/problems/${other}">${other}</a>`;
  const html = await fillPage("problem.html", {
    root,
    code,
    title,
    status: String(status),
    meaning: toHtml(meaning),
    todo: toItems(todo.map(toHtml)),
    others: toItems(
      Object.keys(ERRORS).filter((other) => other !== code).map(pill),
    ),
  });
  return textResponse(html, {
    ...options,
    headers: {
      "content-type": HTML,
      "content-security-policy": PAGE_POLICY,
      ...headers,
    },
  });
}

function toHtml(text: string): string {
  return escapeMarkup(text).replaceAll(/`([^`]*)`/g, "<code>$1</code>");
}
