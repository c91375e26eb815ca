import { escapeMarkup } from "../lib/content/rendered.ts";
import { define } from "../lib/http/state.ts";
import { pageResponse } from "../lib/http/static_files.ts";
import { localRepositoryNames } from "../lib/local_repositories.ts";
import { LOCAL_OWNER } from "../lib/source/local/local_source.ts";

const MAX_NAMES = 20;

/**
 * `GET /`: the playground. The page contains the names of the repositories that
 * it may open on.
 */
export const handler = define.handlers({
  async GET({ state: { services: { config }, context } }) {
    // A deleted folder must not break the page.
    const names = await localRepositoryNames(config).catch(() => []);
    const values = {
      local: escapeMarkup(names.slice(0, MAX_NAMES).join(" ")),
      open: String(config.allowedRepos === null),
      allowed: escapeMarkup(
        [...config.allowedRepos ?? []]
          .filter((name) => !name.startsWith(`${LOCAL_OWNER}/`))
          .slice(0, MAX_NAMES).join(" "),
      ),
    };
    return pageResponse(
      context,
      "index.html",
      () => values,
      JSON.stringify(values),
    );
  },
});
