import { define } from "../lib/http/state.ts";
import { clientResponse } from "../lib/http/static_files.ts";

/** `GET /client.tgz`: the client as a package that npm installs. */
export const handler = define.handlers({
  GET: ({ state }) => clientResponse(state.context, "tgz"),
});
