// Which blobs were requested of a double, by any way: in GraphQL batches, by the blobs API, or from the raw host.

import type { GithubDouble } from "./github_double.ts";

/** The ids (or, from the raw host, paths) requested so far, in order; empty the list to count anew. */
export function watchBlobs(gh: GithubDouble): string[] {
  const requested: string[] = [];
  gh.intercept = async (request, { kind, path }) => {
    if (kind === "graphql") {
      const { query } = await request.clone().json();
      requested.push(...[...query.matchAll(/oid: ?"([0-9a-f]{40})"/g)].map(([, id]) => id));
    } else if (kind === "blob") requested.push(path.slice(path.lastIndexOf("/") + 1));
    else if (kind === "raw") requested.push(path);
    return null;
  };
  return requested;
}
