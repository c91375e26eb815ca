import { escapeMarkup } from "../lib/content/rendered.ts";
import { redirectResponse } from "../lib/http/responses.ts";
import { define } from "../lib/http/state.ts";
import { pageResponse } from "../lib/http/static_files.ts";
import { localRepositoryNames } from "../lib/local_repositories.ts";

/** `GET /reference`: the OpenAPI document as a page. */
export const handler = define.handlers({
  async GET({ url, state: { services: { config }, context } }) {
    // The links of the page are relative.
    if (url.pathname.endsWith("/")) {
      return redirectResponse(`../reference${url.search}`);
    }
    const names = await localRepositoryNames(config).catch(() => []);
    const local = escapeMarkup(names.join(" "));
    return pageResponse(context, "reference.html", () => ({ local }), local);
  },
});
