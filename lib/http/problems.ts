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
import { PAGE_POLICY } from "./static_files.ts";

/** nginx's "client closed request", for the log; no client receives the response. */
const CLIENT_CLOSED_REQUEST = 499;

/** Answers what routes throw, since Fresh would answer it in its own way; an unknown address may get a page. */
export const problems: Middleware<State> = async (ctx) => {
  const { req, url, state } = ctx;
  state.context.route = ctx.route ?? "none";
  try {
    // `next()` may throw before it returns a promise.
    return await ctx.next();
  } catch (error) {
    const isUnknown = toPublicError(error, "").code === "route-not-found";
    if (isUnknown && url.pathname === "/reference/") {
      const headers = { location: `../reference${url.search}` };
      return new Response(null, { status: 308, headers });
    }
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
  const { id: requestId, baseUrl, client } = context;
  const known = toPublicError(error, requestId);
  const { detail, facts } = known;
  const code = known.code as ProblemCode;
  const { status, title } = ERRORS[code];
  if (status >= 500 && error instanceof CollectionsError) {
    const reason = error.message;
    services.log.warn("request failed", { id: requestId, code: error.code, reason });
  } else if (status >= 500) {
    services.log.error("internal error", { id: requestId, ...describeError(error) });
  }
  const type = `${baseUrl}/problems/${code}`;
  const body = { type, title, status, detail, code, requestId, ...facts };
  const retryAfter = facts.retryAfterSeconds;
  const response = textResponse(JSON.stringify(body), {
    status,
    headers: {
      "content-type": "application/problem+json",
      "cache-control": "no-store",
      ...(retryAfter === undefined ? {} : { "retry-after": String(retryAfter) }),
    },
  });
  if (code === "too-many-requests") services.rateLimit.describe(client, response.headers);
  return response;
}

/** An error whose code is one of a response. */
function toPublicError(error: unknown, requestId: string): CollectionsError {
  if (error instanceof CollectionsError && isProblemCode(error.code)) return error;
  if (error instanceof HttpError && error.status === 404) return routeNotFound();
  return internalError(requestId);
}

/** The page of a code. `root` is where the service's pages are, seen from where the page is shown. */
export function problemPage(
  code: ProblemCode,
  { root, ...options }: { root: string; status?: number; headers: Record<string, string> },
): Response {
  const { status, title, meaning, todo } = ERRORS[code];
  const others = (Object.keys(ERRORS) as ProblemCode[]).filter((other) => other !== code);
  const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${title} – Repo Collections</title>
    <link rel="icon" href="${root}/assets/current/icon.svg" type="image/svg+xml">
    <link rel="stylesheet" href="${root}/assets/current/site.css">
  </head>
  <body class="document">
    <header class="bar">
      <a class="brand" href="${root}/"><img src="${root}/assets/current/icon.svg" alt="" width="22" height="22"> Repo Collections</a>
      <nav class="pages" aria-label="Pages of this service">
        <a href="${root}/">Playground</a>
        <a href="${root}/reference">Reference</a>
      </nav>
    </header>
    <main class="text">
      <h1>${title}</h1>
      <p class="soft">Status ${status} · <code>${code}</code></p>
      <p>${toHtml(meaning)}</p>
      <h2>What to do</h2>
      <ul>
${todo.map((line) => `        <li>${toHtml(line)}</li>`).join("\n")}
      </ul>
      <h2>Other problems</h2>
      <ul class="pills">
${
    others.map((other) =>
      `        <li><a class="pill" href="${root}/problems/${other}">${other}</a></li>`
    ).join("\n")
  }
      </ul>
    </main>
  </body>
</html>
`;
  return textResponse(page, {
    ...options,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": PAGE_POLICY,
      ...options.headers,
    },
  });
}

function toHtml(text: string): string {
  const escaped = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return escaped.replaceAll(/`([^`]*)`/g, "<code>$1</code>");
}
