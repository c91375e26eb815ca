import { serveDir } from "@std/http";
import { asStatic, projectPath } from "../../lib/http/static_files.ts";
import { define } from "../../lib/http/state.ts";

/** `GET /playground/<file>`: the scripts and styles of the pages. */
export const handler = define.handlers({
  async GET(ctx) {
    const fsRoot = projectPath("static/playground");
    return asStatic(
      await serveDir(ctx.req, { fsRoot, urlRoot: "playground", showIndex: false, quiet: true }),
    );
  },
});
