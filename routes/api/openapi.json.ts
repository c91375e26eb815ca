import { openApiTexts } from "../../lib/api/openapi.ts";
import { ERRORS } from "../../lib/errors.ts";
import { textResponse } from "../../lib/http/responses.ts";
import { define } from "../../lib/http/state.ts";

const textAt = openApiTexts(ERRORS);

/** `GET /api/openapi.json`: the OpenAPI document of this deployment. */
export const handler = define.handlers({
  GET({ state: { context: { baseUrl } } }) {
    return textResponse(textAt(baseUrl), {
      headers: { "content-type": "application/json", "cache-control": "no-cache" },
    });
  },
});
