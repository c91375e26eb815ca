// Which blobs a double was asked for, whichever way: in GraphQL batches, by the blobs API, or from the raw host.

import type { GithubDouble } from "./github_double.ts";

/** The ids (or, from the raw host, paths) asked for so far, in order; empty the list to count anew. */
export function watchBlobs(gh: GithubDouble): string[] {
  const asked: string[] = [];
  gh.intercept = async (request, { kind, path }) => {
    if (kind === "graphql") {
      const { query } = await request.clone().json();
      asked.push(...[...query.matchAll(/oid: ?"([0-9a-f]{40})"/g)].map(([, id]) => id));
    } else if (kind === "blob") asked.push(path.slice(path.lastIndexOf("/") + 1));
    else if (kind === "raw") asked.push(path);
    return null;
  };
  return asked;
}
