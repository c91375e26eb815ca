import { define } from "../lib/http/state.ts";
import { moduleResponse } from "../lib/http/static_files.ts";

/** `GET /client.js`: the client, for `import` in a page, in Deno or in Node. */
export const handler = define.handlers({
  GET: (ctx) =>
    moduleResponse(ctx.req, "packages/client/client.ts", {
      // Where Deno looks for the types of a module.
      headers: { "x-typescript-types": "./client.ts" },
    }),
});
