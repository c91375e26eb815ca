import { define } from "../lib/http/state.ts";
import { moduleResponse } from "../lib/http/static_files.ts";

/** `GET /client.ts`: the client's source, which has its types. */
export const handler = define.handlers({
  GET: (ctx) => moduleResponse(ctx.req, "packages/client/client.ts", { asSource: true }),
});
