import { parseTypesQuery } from "../../lib/api/parameters.ts";
import { serveData } from "../../lib/http/data_pipeline.ts";
import { define } from "../../lib/http/state.ts";

/** `GET /api/collection-types.ts`: TypeScript declarations of front matter. */
export const handler = define.handlers({
  GET({ url, state }) {
    const parameters = state.context.check(() =>
      parseTypesQuery(url.search.slice(1))
    );
    return serveData({ kind: "types", parameters }, state);
  },
});
