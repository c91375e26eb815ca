// What the parts that read from one GitHub host share: its addresses, and requests to one of its repositories with
// renames and moves followed on the API host alone.

import { z } from "zod";
import type { AllowedRepos } from "../../allowed_repos.ts";
import type { Clock } from "../../clock.ts";
import { sourceFailed } from "../../errors.ts";
import type { RepositoryName, Snapshot } from "../source.ts";
import type { GitHubAnswer, GitHubClient, GitHubRequest } from "./client.ts";
import type { TokenPool } from "./tokens.ts";

/** Addresses of one GitHub host, none with a slash at the end. */
export interface GitHubAddresses {
  readonly apiUrl: string;
  readonly graphqlUrl: string;
  /** Null where file bytes come from the API. */
  readonly rawUrl: string | null;
  /** Null where files have no web pages. */
  readonly webUrl: string | null;
  /** Null where Git's own protocol is not used. */
  readonly gitUrl: string | null;
}

/** A GitHub host and how to reach it. */
export interface GitHubHost extends GitHubAddresses {
  readonly client: GitHubClient;
  readonly tokens: TokenPool;
  readonly clock: Clock;
  /**
   * What the operator allowed by name, or null. With names, private repositories are served too, and 40 hex digits name
   * no commit, since in a network of forks such an id may be anybody's.
   */
  readonly allowedRepos: AllowedRepos | null;
}

const validator = z.object({ etag: z.string(), fingerprint: z.string() }).nullable();

const validatorsSchema = z.object({
  /** Where the repository was found; trees and blobs are requested there, a ref always under its own name. */
  base: z.string(),
  /** `heads/…`, `tags/…`, a commit id or `HEAD`. */
  form: z.string(),
  commit: validator,
  visibility: validator,
});

/** What one answer about a ref leaves for the next request; it travels through caches as `Snapshot.validators`. */
export type RefValidators = z.infer<typeof validatorsSchema>;

/** The validators of an earlier answer, or null where the text is none. */
export function parseValidators(text: string | undefined): RefValidators | null {
  if (text === undefined) return null;
  try {
    return validatorsSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** A request to one repository: `base` is `repos/{owner}/{repo}` or `repositories/{id}`, `rest` begins with `/` or is empty. */
export interface RepositoryRequest extends Omit<GitHubRequest, "url"> {
  readonly base: string;
  readonly rest: string;
}

/** An answer and the base that gave it. */
export interface RepositoryAnswer extends GitHubAnswer {
  readonly base: string;
}

const MAX_HOPS = 2;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 307, 308]);
/** A temporary redirect (to a page about maintenance, say) tells nothing about the repository. */
const TEMPORARY: ReadonlySet<number> = new Set([302, 307]);

/** The base of a repository under the requested name. */
export function namedBase({ owner, repo }: RepositoryName): string {
  return `repos/${owner}/${repo}`;
}

/** The base under which a snapshot's repository was found. */
export function baseOf(snapshot: Snapshot): string {
  return parseValidators(snapshot.validators)?.base ?? namedBase(snapshot.name);
}

/**
 * Sends a request, and repeats it where the repository is now. A permanent redirect that leads off the API host, or on
 * and on, comes back as 404: there is no repository to be read.
 * @throws {CollectionsError} as {@linkcode GitHubClient.request}; source-failed for such a temporary redirect.
 */
export async function requestRepository(
  { client, apiUrl }: GitHubHost,
  { base: firstBase, rest, ...request }: RepositoryRequest,
): Promise<RepositoryAnswer> {
  let base = firstBase;
  for (let hop = 0;; hop++) {
    const answer = await client.request({ ...request, url: `${apiUrl}/${base}${rest}` });
    if (!REDIRECTS.has(answer.status)) return { ...answer, base };
    const target = targetOf(answer.headers.get("location"), apiUrl);
    if (target === null || hop === MAX_HOPS) {
      if (!TEMPORARY.has(answer.status)) return { ...answer, status: 404, base };
      answer.release();
      throw sourceFailed(`Cannot read "${request.kind}": GitHub redirects elsewhere for now`);
    }
    answer.release();
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
