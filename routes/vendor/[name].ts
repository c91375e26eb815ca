import { routeNotFound } from "../../lib/errors.ts";
import { define } from "../../lib/http/state.ts";
import { staticFile } from "../../lib/http/static_files.ts";
import { VENDOR_FILES, VENDOR_MAX_AGE_SECONDS } from "../../lib/http/vendor_files.ts";

/** `GET /vendor/<name>`: a file of the table, from node_modules. */
export const handler = define.handlers({
  GET(ctx) {
    const known = VENDOR_FILES.get(ctx.params["name"] ?? "");
    if (known === undefined) throw routeNotFound();
    const { file, contentType } = known;
    return staticFile(ctx.req, file, { contentType, maxAgeSeconds: VENDOR_MAX_AGE_SECONDS });
  },
});
