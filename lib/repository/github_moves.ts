// Renamed and moved repositories: GitHub answers 301, here that is followed on the API host alone.

import { sourceFailed } from "../errors.ts";
import type { GitHubAnswer, GitHubClient, GitHubRequest } from "./github_client.ts";

/** A question to one repository: `base` is `repos/{owner}/{repo}` or `repositories/{id}`, `rest` begins with `/` or is empty. */
export interface RepositoryQuestion extends Omit<GitHubRequest, "url"> {
  readonly base: string;
  readonly rest: string;
}

/** An answer and the base under which it was had. */
export interface MovedAnswer extends GitHubAnswer {
  readonly base: string;
}

const MAX_HOPS = 2;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 307, 308]);

/** What leads elsewhere for a while (a page about maintenance, say) tells nothing of the repository. */
const TEMPORARY: ReadonlySet<number> = new Set([302, 307]);

/**
 * Asks, and asks again where the repository is now. An answer that leads elsewhere for good, or on and on, comes back
 * as 404: there is no repository to be had. @throws {CollectionsError} source-failed where it leads there for a while.
 */
export async function askWithMoves(
  client: GitHubClient,
  question: RepositoryQuestion & { readonly apiUrl: string },
): Promise<MovedAnswer> {
  const { apiUrl, rest, ...request } = question;
  let base = question.base;
  for (let hop = 0;; hop++) {
    const answer = await client.ask({ ...request, url: `${apiUrl}/${base}${rest}` });
    if (!REDIRECTS.has(answer.status)) return { ...answer, base };
    const target = targetOf(answer.headers.get("location"), apiUrl);
    if (target === null || hop === MAX_HOPS) {
      if (TEMPORARY.has(answer.status)) {
        throw sourceFailed(`Cannot read "${request.kind}": GitHub leads elsewhere for now`);
      }
      return { ...answer, status: 404, base };
    }
    base = target;
  }
}

/** The base that a `Location` names below the API's own address, or null. */
function targetOf(location: string | null, apiUrl: string): string | null {
  if (location === null) return null;
  const url = URL.parse(location, `${apiUrl}/`);
  const api = new URL(`${apiUrl}/`);
  if (url === null || url.origin !== api.origin || !url.pathname.startsWith(api.pathname)) {
    return null;
  }
  const path = url.pathname.slice(api.pathname.length);
  return path.match(/^(?:repositories\/[0-9]+|repos\/[A-Za-z0-9_-]+\/[A-Za-z0-9._-]+)(?=\/|$)/)
    ?.[0] ?? null;
}
