import { define } from "../lib/http/state.ts";
import { pageResponse } from "../lib/http/static_files.ts";

/** `GET /reference`: the OpenAPI document as a page; its links are relative, so that a slash at the end leads back. */
export const handler = define.handlers({
  GET({ req, url, state: { exchange: { baseUrl } } }) {
    if (url.pathname.endsWith("/")) {
      const headers = { location: `../reference${url.search}`, "cache-control": "no-cache" };
      return new Response(null, { status: 308, headers });
    }
    return pageResponse(req, { name: "reference.html", baseUrl });
  },
});
