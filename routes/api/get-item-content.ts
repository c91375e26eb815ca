import { parseItemQuery } from "../../lib/api/parameters.ts";
import { serveData } from "../../lib/http/data_pipeline.ts";
import { define } from "../../lib/http/state.ts";

/** `GET /api/get-item-content`: one file as JSON or as raw bytes. */
export const handler = define.handlers({
  GET({ url, state }) {
    const parameters = state.context.check(() =>
      parseItemQuery(url.search.slice(1))
    );
    return serveData({ kind: "item", parameters }, state);
  },
});
