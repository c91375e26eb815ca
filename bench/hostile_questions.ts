// What hostile requests made the service ask of its source: only paths of the few forms that it uses, with every value in
// one escaped segment. GraphQL has one path; graphql_watch.ts looks into its bodies.

import type { LoggedRequest } from "../tests/github/github_log.ts";
import type { RunningDouble } from "../tests/github/start_double.ts";

const ASKED =
  /^(?:\/repos\/[A-Za-z0-9][A-Za-z0-9_-]{0,38}\/[A-Za-z0-9._-]{1,100}|\/repositories\/\d+)(?:\/commits\/([^/?#]+)|\/git\/trees\/[0-9a-f]{40}(?:\?recursive=1)?|\/git\/blobs\/[0-9a-f]{40})?$/;
const RAW = /^\/octo\/odd\/[0-9a-f]{40}\/([^?#]+)$/i;

/** The paths of those questions of which a value is not one escaped segment. */
export function unescapedOf(
  asked: readonly LoggedRequest[],
  { graphqlUrl }: RunningDouble,
): string[] {
  const graphqlPath = new URL(graphqlUrl).pathname;
  return asked.map(({ path }) => path).filter((path) => {
    if (path === graphqlPath) return false;
    const match = ASKED.exec(path) ?? RAW.exec(path);
    return match === null || (match[1] ?? "a").split("/").some((part) => !isSegment(part));
  });
}

function isSegment(part: string): boolean {
  try {
    const text = decodeURIComponent(part);
    return encodeURIComponent(text) === part && text !== "." && text !== ".." && text !== "";
  } catch {
    return false;
  }
}
