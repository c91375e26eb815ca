import { parseCollectionsQuery } from "../../lib/api/parameters.ts";
import { serveData } from "../../lib/http/data_pipeline.ts";
import { define } from "../../lib/http/state.ts";

/** `GET /api/list-collections`: what a repository has, declared and found. */
export const handler = define.handlers({
  GET({ url, state }) {
    const parameters = state.context.check(() =>
      parseCollectionsQuery(url.search.slice(1))
    );
    return serveData({ kind: "collections", parameters }, state);
  },
});
