import { guideResponse } from "../../lib/http/guides.ts";
import { define } from "../../lib/http/state.ts";

/** `GET /guides/<name>`: another document as a page. */
export const handler = define.handlers({
  GET({ params, state: { services: { compute }, context } }) {
    return guideResponse(context, compute, {
      name: params["name"] ?? "",
      root: "..",
    });
  },
});
