import { define } from "../../../lib/http/state.ts";
import { assetResponse } from "../../../lib/http/static_files.ts";

/** `GET /assets/<version>/<name>`: the scripts and styles of the pages. */
export const handler = define.handlers({
  GET: ({ state, params }) => assetResponse(state.context, params),
});
