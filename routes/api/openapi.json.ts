import { openApiText } from "../../lib/api/openapi.ts";
import { JSON_TYPE, type ReadyBody } from "../../lib/http/responses.ts";
import { define } from "../../lib/http/state.ts";
import { textBody } from "../../lib/http/static_files.ts";

/** The document for the address that was last requested. */
let last: { readonly baseUrl: string; readonly body: ReadyBody } | null = null;

/** `GET /api/openapi.json`: the OpenAPI document of this deployment. */
export const handler = define.handlers({
  async GET({ state: { context } }) {
    const { baseUrl } = context;
    if (last?.baseUrl !== baseUrl) {
      last = { baseUrl, body: await textBody(openApiText(baseUrl), JSON_TYPE) };
    }
    return context.respond(last.body, { "cache-control": "no-cache" });
  },
});
