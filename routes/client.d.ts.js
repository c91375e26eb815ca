// JavaScript, since a module whose name ends with `.d.ts.ts` counts as declarations alone.

import { define } from "../lib/http/state.ts";
import { staticFile } from "../lib/http/static_files.ts";

/** `GET /client.d.ts`: the types of the client. */
export const handler = define.handlers({
  GET: (ctx) =>
    staticFile(ctx.req, "static/client.d.ts", {
      contentType: "application/typescript; charset=utf-8",
    }),
});
