import { redirectResponse } from "../lib/http/responses.ts";
import { define } from "../lib/http/state.ts";
import { pageResponse } from "../lib/http/static_files.ts";

/** `GET /reference`: the OpenAPI document as a page. */
export const handler = define.handlers({
  GET({ url, state: { context } }) {
    // The links of the page are relative.
    if (url.pathname.endsWith("/")) {
      return redirectResponse(`../reference${url.search}`);
    }
    return pageResponse(context, "reference.html");
  },
});
