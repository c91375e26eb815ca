import { define } from "../lib/http/state.ts";
import { clientResponse } from "../lib/http/static_files.ts";

/** `GET /client.ts`: the source of the client with its types. */
export const handler = define.handlers({
  GET: ({ state }) => clientResponse(state.context, "ts"),
});
