import { openApiDocument } from "../../lib/api/openapi.ts";
import { PROBLEMS } from "../../lib/http/problem.ts";
import { define } from "../../lib/http/state.ts";

/** `GET /api/openapi.json`: the OpenAPI document of this deployment. */
export const handler = define.handlers({
  GET({ state: { exchange: { baseUrl } } }) {
    return Response.json(openApiDocument({ baseUrl, problems: PROBLEMS }), {
      headers: { "cache-control": "no-cache" },
    });
  },
});
