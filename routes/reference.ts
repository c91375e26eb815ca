import { define } from "../lib/http/state.ts";
import { REFERENCE_POLICY, staticPage } from "../lib/http/static_files.ts";

/** `GET /reference`: the OpenAPI document as a page. */
export const handler = define.handlers({
  GET: (ctx) => staticPage(ctx.req, "static/reference.html", REFERENCE_POLICY),
});
