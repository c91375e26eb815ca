import { isProblemCode, problem } from "../../lib/errors.ts";
import { problemPage } from "../../lib/http/problems.ts";
import { define } from "../../lib/http/state.ts";

/** `GET /problems/<code>`: what a problem means and what to do about it. */
export const handler = define.handlers({
  GET(ctx) {
    const code = ctx.params["code"] ?? "";
    if (!isProblemCode(code)) throw problem("route-not-found", {});
    return problemPage(code);
  },
});
