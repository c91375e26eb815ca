import { openApiDocument } from "../../lib/api/openapi.ts";
import { PROBLEMS } from "../../lib/http/problem.ts";
import { define } from "../../lib/http/state.ts";
import { textResponse } from "../../lib/http/text_response.ts";

/** `GET /api/openapi.json`: the OpenAPI document of this deployment. */
export const handler = define.handlers({
  GET({ state: { exchange: { baseUrl } } }) {
    return textResponse(JSON.stringify(openApiDocument({ baseUrl, problems: PROBLEMS })), {
      headers: { "content-type": "application/json", "cache-control": "no-cache" },
    });
  },
});
