import { isProblemCode, routeNotFound } from "../../lib/errors.ts";
import { problemPage } from "../../lib/http/problem_page.ts";
import { define } from "../../lib/http/state.ts";
import { PAGE_POLICY } from "../../lib/http/static_files.ts";
import { textResponse } from "../../lib/http/responses.ts";

/** `GET /problems/<code>`: what a problem means and what to do about it. */
export const handler = define.handlers({
  GET(ctx) {
    const code = ctx.params["code"] ?? "";
    if (!isProblemCode(code)) throw routeNotFound();
    return textResponse(problemPage(code), {
      headers: {
        "content-type": "text/html; charset=utf-8",
        "cache-control": "public, max-age=3600",
        "content-security-policy": PAGE_POLICY,
      },
    });
  },
});
