import { routeNotFound } from "../../lib/errors.ts";
import { define } from "../../lib/http/state.ts";
import { staticFile } from "../../lib/http/static_files.ts";

// The file server writes what it cannot open to the log, path and stack: no other name gets there.
const NAME = /^[a-z_]{1,40}\.(?:js|css|svg)$/;

/** `GET /playground/<file>`: the scripts and styles of the pages. */
export const handler = define.handlers({
  GET(ctx) {
    const name = ctx.params["file"] ?? "";
    if (!NAME.test(name)) throw routeNotFound();
    return staticFile(ctx.req, `static/playground/${name}`);
  },
});
