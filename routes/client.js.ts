import { define } from "../lib/http/state.ts";
import { staticFile } from "../lib/http/static_files.ts";

/** `GET /client.js`: the client, for `import` in a page, in Deno or in Node. */
export const handler = define.handlers({
  GET: (ctx) =>
    staticFile(ctx.req, "static/client.js", {
      contentType: "text/javascript; charset=utf-8",
      // Where Deno looks for the types of a module.
      headers: { "x-typescript-types": "./client.d.ts" },
    }),
});
