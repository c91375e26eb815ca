// The page to which a problem's `type` leads. It contains only this service's own texts and needs no script.

import { HttpError, type Middleware } from "fresh";
import { CollectionsError, ERRORS, type ProblemCode } from "../errors.ts";
import { textResponse } from "./responses.ts";
import type { State } from "./state.ts";
import { PAGE_POLICY } from "./static_files.ts";

/** Answers an unknown address with a page where `Accept` prefers one; `/reference/` redirects to `/reference`. */
export const unknownAddressPages: Middleware<State> = async (ctx) => {
  try {
    return await ctx.next();
  } catch (error) {
    const isUnknown = error instanceof HttpError && error.status === 404 ||
      error instanceof CollectionsError && error.code === "route-not-found";
    const { req, url, state: { context } } = ctx;
    if (isUnknown && url.pathname === "/reference/") {
      return new Response(null, {
        status: 308,
        headers: { location: `../reference${url.search}` },
      });
    }
    if (!isUnknown || !/\btext\/html\b/.test(req.headers.get("accept") ?? "")) throw error;
    // A path, since the policy allows styles of the page's own origin alone.
    const root = new URL(context.baseUrl).pathname.replace(/\/$/, "");
    return textResponse(problemPage("route-not-found", root), {
      status: 404,
      headers: {
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-store",
        "content-security-policy": PAGE_POLICY,
        "vary": "Accept",
      },
    });
  }
};

/** The page of a code, as HTML. `root` is where the service's pages are, seen from where the page is shown. */
export function problemPage(code: ProblemCode, root = ".."): string {
  const { status, title, meaning, todo } = ERRORS[code];
  const others = (Object.keys(ERRORS) as ProblemCode[]).filter((other) => other !== code);
  return `<!doctype html>
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
}

function toHtml(text: string): string {
  const escaped = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return escaped.replaceAll(/`([^`]*)`/g, "<code>$1</code>");
}
