import { openApiText } from "../../lib/api/openapi.ts";
import { textResponse } from "../../lib/http/responses.ts";
import { define } from "../../lib/http/state.ts";

/** `GET /api/openapi.json`: the OpenAPI document of this deployment. */
export const handler = define.handlers({
  GET({ state: { context: { baseUrl } } }) {
    return textResponse(openApiText(baseUrl), {
      headers: {
        "content-type": "application/json",
        "cache-control": "no-cache",
      },
    });
  },
});
