import { openApiTexts } from "../../lib/api/openapi.ts";
import { PROBLEMS } from "../../lib/http/problem.ts";
import { define } from "../../lib/http/state.ts";
import { textResponse } from "../../lib/http/text_response.ts";

const textAt = openApiTexts(PROBLEMS);

/** `GET /api/openapi.json`: the OpenAPI document of this deployment. */
export const handler = define.handlers({
  GET({ state: { exchange: { baseUrl } } }) {
    return textResponse(textAt(baseUrl), {
      headers: { "content-type": "application/json", "cache-control": "no-cache" },
    });
  },
});
