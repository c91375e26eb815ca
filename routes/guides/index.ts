import { guideResponse } from "../../lib/http/guides.ts";
import { redirectResponse } from "../../lib/http/responses.ts";
import { define } from "../../lib/http/state.ts";

/** `GET /guides`: the guides as a page. */
export const handler = define.handlers({
  GET({ url, state: { services: { compute }, context } }) {
    // The links of the page are relative.
    if (url.pathname.endsWith("/")) return redirectResponse("../guides");
    return guideResponse(context, compute, { name: "guides", root: "." });
  },
});
