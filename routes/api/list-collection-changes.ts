import { parseChangesQuery } from "../../lib/api/parameters.ts";
import { serveData } from "../../lib/http/data_pipeline.ts";
import { define } from "../../lib/http/state.ts";

/** `GET /api/list-collection-changes`: what changed since a commit. */
export const handler = define.handlers({
  GET({ url, state }) {
    const parameters = state.context.check(() =>
      parseChangesQuery(url.search.slice(1))
    );
    return serveData({ kind: "changes", parameters }, state);
  },
});
