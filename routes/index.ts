import { define } from "../lib/http/state.ts";
import { pageResponse } from "../lib/http/static_files.ts";
import { localRepositories } from "../lib/local_repositories.ts";

/** `GET /`: the playground. It is told which repositories it may open on. */
export const handler = define.handlers({
  async GET({ req, state: { services, exchange } }) {
    const names = await localRepositories(services.config);
    return pageResponse(req, {
      name: "index.html",
      baseUrl: exchange.baseUrl,
      values: {
        local: names.slice(0, 20).join(" "),
        open: services.config.allowedRepos === null ? "true" : "false",
      },
    });
  },
});
