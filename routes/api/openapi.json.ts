import { openApiText } from "../../lib/api/openapi.ts";
import { JSON_TYPE, type ReadyBody } from "../../lib/http/responses.ts";
import { define } from "../../lib/http/state.ts";
import { textBody } from "../../lib/http/static_files.ts";
import { RecentMap } from "../../lib/work/recent_map.ts";

/** The documents for the addresses that were last requested. */
const documents = new RecentMap<Promise<ReadyBody>>(4);

/** `GET /api/openapi.json`: the OpenAPI document of this deployment. */
export const handler = define.handlers({
  async GET({ state: { context } }) {
    const { baseUrl } = context;
    let document = documents.get(baseUrl);
    if (document === undefined) {
      // A client can name any host.
      context.recordMiss();
      document = textBody(openApiText(baseUrl), JSON_TYPE);
      documents.set(baseUrl, document);
    }
    return context.respond(await document, { "cache-control": "no-cache" });
  },
});
