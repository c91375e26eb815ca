// One GitHub host: its addresses, requests to one of its repositories with renames and moves followed on the API host
// alone, and the checks of its answers. Nothing that GitHub, or a host in its place, sends is trusted.

import { z } from "zod";
import type { Clock } from "../../work/clock.ts";
import { type CollectionsError, problem, sourceFailed } from "../../errors.ts";
import type { Compute } from "../../thread/compute.ts";
import type { AllowedRepos, RepositoryName, Snapshot } from "../source.ts";
import type { GitHubAnswer, GitHubClient, GitHubRequest } from "./client.ts";
import { parseJson } from "./json.ts";
import type { TokenPool } from "./tokens.ts";

/** Addresses of one GitHub host, none with a slash at the end; null for what it does not have. */
export interface GitHubAddresses {
  readonly apiUrl: string;
  readonly graphqlUrl: string;
  readonly rawUrl: string | null;
  readonly webUrl: string | null;
  /** Base of `{owner}/{repo}.git`. */
  readonly gitUrl: string | null;
}

export interface GitHubHost extends GitHubAddresses {
  /** Base of `{owner}/{repo}.git/info/lfs`. */
  readonly lfsUrl: string;
  readonly client: GitHubClient;
  readonly tokens: TokenPool;
  readonly clock: Clock;
  /** Parses large answers. */
  readonly compute: Compute;
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
export function parseValidators(text = ""): RefValidators | null {
  try {
    return validatorsSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** A request to one repository: `base` is `repos/{owner}/{repo}` or `repositories/{id}`, `path` is empty or begins with `/`. */
export type RepositoryRequest =
  & Omit<GitHubRequest, "url" | "owner">
  & { readonly base: string; readonly path: string };

export type RepositoryAnswer = GitHubAnswer & { readonly base: string };

/** How many moves of a repository are followed. */
export const MAX_HOPS = 2;
const BASE = /^(?:repositories\/[0-9]+|repos\/[A-Za-z0-9_-]+\/[A-Za-z0-9._-]+)(?=[/?]|$)/;

/**
 * Whether a repository may be hidden from a request without a token: private ones are served where they are allowed by
 * name, and a token that waits, or is set aside, may see them.
 */
export const mayBeHidden = ({ allowedRepos, tokens }: GitHubHost, owner: string) =>
  allowedRepos !== null && tokens.mayHave(owner);

/** The base of a repository under the requested name. */
export const namedBase = ({ owner, repo }: RepositoryName) => `repos/${owner}/${repo}`;

/**
 * Sends a request, and repeats it where the repository is now. A redirect that leads off the API host, or on and on,
 * comes back as 404 where it is permanent: there is no repository to be read. @throws {CollectionsError} as the client.
 */
export async function requestRepository(
  host: GitHubHost,
  { base: firstBase, path, ...request }: RepositoryRequest,
): Promise<RepositoryAnswer> {
  const { client, apiUrl, tokens } = host;
  const { account = firstBase.split("/")[1]! } = request;
  let base = firstBase;
  for (let hop = 0;; hop++) {
    // Or the repository's id, which stands for its owner after a move.
    const [, owner = ""] = base.split("/");
    const url = `${apiUrl}/${base}${path}`;
    const answer = await client.request({ ...request, owner, account, url });
    const isHidden = answer.status === 404 && answer.token.secret === null &&
      mayBeHidden(host, account);
    if (!isHidden && ![301, 302, 307, 308].includes(answer.status)) return { ...answer, base };
    answer.release();
    if (isHidden) throw tokens.unavailable("core", owner, account);
    const location = pathBelow(apiUrl, answer.headers.get("location")) ?? "";
    const target = hop < MAX_HOPS ? BASE.exec(location)?.[0] : undefined;
    // A temporary redirect (to a page about maintenance, say) tells nothing about the repository.
    const isTemporary = [302, 307].includes(answer.status);
    if (target !== undefined) base = target;
    else if (!isTemporary) return { ...answer, status: 404, base };
    else throw sourceFailed(`Cannot read "${request.kind}": GitHub redirects elsewhere for now`);
  }
}

/** Requests an object where the snapshot's repository was found. @throws {CollectionsError} as the client. */
export function requestObject(
  host: GitHubHost,
  { name, validators }: Snapshot,
  request: Omit<RepositoryRequest, "base">,
): Promise<RepositoryAnswer> {
  const base = parseValidators(validators)?.base ?? namedBase(name);
  return requestRepository(host, { ...request, base, account: name.owner });
}

/** The path and query of a `Location` below an address, or null where it leads elsewhere. */
export function pathBelow(address: string, location: string | null): string | null {
  const base = new URL(`${address}/`);
  const url = location === null ? null : URL.parse(location, base);
  if (url?.origin !== base.origin || !url.pathname.startsWith(base.pathname)) return null;
  return url.pathname.slice(base.pathname.length) + url.search;
}

const REFUSALS: Readonly<
  Record<number, "repository-not-found" | "repository-empty" | "repository-blocked">
> = {
  403: "repository-not-found",
  404: "repository-not-found",
  409: "repository-empty",
  451: "repository-blocked",
};

/** The error that a status means for a request about a repository that should be there. */
export function refusal(name: RepositoryName, status: number): CollectionsError {
  const code = REFUSALS[status];
  if (code !== undefined) return problem(code, name);
  // A status that GitHub does not document says nothing about the repository.
  return sourceFailed(`Cannot read "${name.owner}/${name.repo}": GitHub answered ${status}`);
}

/** The JSON of an answer, if it has the shape. @throws {CollectionsError} source-failed for anything else. */
export function parseAnswer<T>(schema: z.ZodType<T>, { bytes }: Pick<GitHubAnswer, "bytes">): T {
  const { success, data, error } = schema.safeParse(parseJson(bytes));
  if (success) return data;
  throw sourceFailed(`Cannot read "answer": it has another shape`, { cause: error });
}
