import { problem } from "../../lib/errors.ts";
import { define } from "../../lib/http/state.ts";
import { assetResponse } from "../../lib/http/static_files.ts";

/** `GET /vendor/dompurify.js`: pages need it to insert the service's `html`. */
export const handler = define.handlers({
  GET({ state, params }) {
    if (params["name"] !== "dompurify.js") throw problem("route-not-found", {});
    return assetResponse(state.context, params);
  },
});
