import { parseListQuery } from "../../lib/api/parameters.ts";
import { serveData } from "../../lib/http/data_pipeline.ts";
import { define } from "../../lib/http/state.ts";

/** `GET /api/list-collection-items`: one page of a collection's items. */
export const handler = define.handlers({
  GET({ url, state }) {
    const parameters = state.context.check(() =>
      parseListQuery(url.search.slice(1))
    );
    return serveData({ kind: "list", parameters }, state);
  },
});
