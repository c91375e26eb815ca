// The whole service on a port, with the examples of this project, and `octo/site` at a GitHub double where files are given.

import type { GitFiles } from "../github/git_repository.ts";
import { startService } from "../service.ts";
import { type Site, startSite } from "../site.ts";
import { root } from "../source_files.ts";

/** A site that a browser can reach. */
export interface ServedSite extends Site {
  /** Its address, with a slash at the end. */
  readonly url: string;
}

/** The service with the examples alone. */
export async function serveExamples(): Promise<AsyncDisposable & { url: string }> {
  const service = await startService({ env: { LOCAL_REPOS_DIR: `${root}/examples` } });
  return {
    url: `http://127.0.0.1:${service.listen()}/`,
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

/** The service in front of `octo/site` with these files. */
export async function serveSite(files: GitFiles): Promise<ServedSite> {
  const site = await startSite(files, { env: { LOCAL_REPOS_DIR: `${root}/examples` } });
  return {
    ...site,
    url: `http://127.0.0.1:${site.service.listen()}/`,
    [Symbol.asyncDispose]: site[Symbol.asyncDispose],
  };
}
