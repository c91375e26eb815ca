import { define } from "../lib/http/state.ts";
import { pageResponse } from "../lib/http/static_files.ts";

/** `GET /reference`: the OpenAPI document as a page. Its links are relative, so a slash at the end leads back. */
export const handler = define.handlers({
  GET({ req, url, state: { context: { baseUrl } } }) {
    if (url.pathname.endsWith("/")) {
      return new Response(null, {
        status: 308,
        headers: { location: `../reference${url.search}` },
      });
    }
    return pageResponse(req, { name: "reference.html", baseUrl });
  },
});
