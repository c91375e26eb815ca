import { staticPage } from "../lib/http/static_files.ts";
import { define } from "../lib/http/state.ts";

/** `GET /`: the playground. */
export const handler = define.handlers({
  GET: (ctx) => staticPage(ctx.req, "static/index.html"),
});
