import { define } from "../lib/http/state.ts";
import { clientResponse } from "../lib/http/static_files.ts";

/** `GET /client.js`: the client for `import` in pages, Deno and Node. */
export const handler = define.handlers({
  GET: ({ state }) => clientResponse(state.context, "js"),
});
