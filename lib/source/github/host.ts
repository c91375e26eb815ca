// One GitHub host with its addresses, its repositories and the checks of its
// responses. Renames and moves are followed only on the API host. Nothing that
// GitHub or an impostor sends is trusted.

import { z } from "zod";
import type { Clock } from "../../work/clock.ts";
import { type CollectionsError, problem, sourceFailed } from "../../errors.ts";
import type { Compute } from "../../thread/compute.ts";
import type { AllowedRepos, RepositoryName, Snapshot } from "../source.ts";
import type { GitHubAnswer, GitHubClient, GitHubRequest } from "./client.ts";
import { parseJson } from "./json.ts";
import type { TokenPool } from "./tokens.ts";

/**
 * Addresses of one GitHub host without a slash at the end. Null if the host
 * lacks one.
 */
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
  /** Parses large responses. */
  readonly compute: Compute;
  /**
   * Repositories that the operator allowed by name, or null. If names are set,
   * private repositories are also served. 40 hex digits then name no commit
   * because such an id may be anybody's in a network of forks.
   */
  readonly allowedRepos: AllowedRepos | null;
}

const validator = z.object({ etag: z.string(), fingerprint: z.string() })
  .nullable();

const validatorsSchema = z.object({
  /**
   * The base at which the repository was found. Trees and blobs are requested
   * there. A ref is always requested under its own name.
   */
  base: z.string(),
  /**
   * The candidate that was found: `heads/…`, `tags/…`, a commit id or `HEAD`.
   */
  candidate: z.string(),
  commit: validator,
  visibility: validator,
});

/**
 * What a response about a ref means for the next request. Caches carry it as
 * `Snapshot.validators`.
 */
export type RefValidators = z.infer<typeof validatorsSchema>;

/**
 * Returns the validators of an earlier response. Returns null if the text is
 * invalid.
 */
export function parseValidators(text = ""): RefValidators | null {
  try {
    return validatorsSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/**
 * A request to one repository. `base` is `repos/{owner}/{repo}` or
 * `repositories/{id}`. `path` is empty or begins with `/`.
 */
export type RepositoryRequest =
  & Omit<GitHubRequest, "url" | "owner">
  & { readonly base: string; readonly path: string };

export type RepositoryAnswer = GitHubAnswer & { readonly base: string };

/** How many moves of a repository are followed. */
export const MAX_HOPS = 2;
const BASE =
  /^(?:repositories\/[0-9]+|repos\/[A-Za-z0-9_-]+\/[A-Za-z0-9._-]+)(?=[/?]|$)/;

/**
 * Returns whether a repository may be hidden from a request without a token.
 * Private repositories are served if they are allowed by name. A token that
 * waits or is set aside may see them.
 */
export const mayBeHidden = (
  { allowedRepos, tokens }: GitHubHost,
  owner: string,
) => allowedRepos !== null && tokens.mayHave(owner);

/** Returns the base of a repository under the requested name. */
export const namedBase = ({ owner, repo }: RepositoryName) =>
  `repos/${owner}/${repo}`;

/**
 * Sends a request and follows the repository if it moved. A permanent redirect
 * counts as 404 if it leads off the API host or past {@linkcode MAX_HOPS}.
 * There is then no repository to read.
 * @throws {CollectionsError} what the client throws.
 */
export async function requestRepository(
  host: GitHubHost,
  { base: firstBase, path, ...request }: RepositoryRequest,
): Promise<RepositoryAnswer> {
  const { client, apiUrl, tokens } = host;
  const { account = firstBase.split("/")[1]! } = request;
  let base = firstBase;
  for (let hop = 0;; hop++) {
    // May be the repository's id after a move. The id then stands for its
    // owner.
    const [, owner = ""] = base.split("/");
    const url = `${apiUrl}/${base}${path}`;
    const answer = await client.request({ ...request, owner, account, url });
    const isHidden = answer.status === 404 && answer.token.secret === null &&
      mayBeHidden(host, account);
    if (!isHidden && ![301, 302, 307, 308].includes(answer.status)) {
      return { ...answer, base };
    }
    answer.release();
    if (isHidden) throw tokens.unavailable("core", owner, account);
    const location = pathBelow(apiUrl, answer.headers.get("location")) ?? "";
    const target = hop < MAX_HOPS ? BASE.exec(location)?.[0] : undefined;
    // A temporary redirect says nothing about the repository. It may lead to a
    // page about maintenance.
    const isTemporary = [302, 307].includes(answer.status);
    if (target !== undefined) base = target;
    else if (!isTemporary) return { ...answer, status: 404, base };
    else {throw sourceFailed(
        `Cannot read "${request.kind}": GitHub redirects elsewhere for now`,
      );}
  }
}

/**
 * Requests an object at the base in the snapshot's validators.
 * @throws {CollectionsError} what the client throws.
 */
export function requestObject(
  host: GitHubHost,
  { name, validators }: Snapshot,
  request: Omit<RepositoryRequest, "base">,
): Promise<RepositoryAnswer> {
  const base = parseValidators(validators)?.base ?? namedBase(name);
  return requestRepository(host, { ...request, base, account: name.owner });
}

/**
 * Returns the path and query of a `Location` below an address. Returns null if
 * it leads elsewhere.
 */
export function pathBelow(
  address: string,
  location: string | null,
): string | null {
  const base = new URL(`${address}/`);
  const url = location === null ? null : URL.parse(location, base);
  if (url?.origin !== base.origin || !url.pathname.startsWith(base.pathname)) {
    return null;
  }
  return url.pathname.slice(base.pathname.length) + url.search;
}

const REFUSALS: Readonly<
  Record<
    number,
    "repository-not-found" | "repository-empty" | "repository-blocked"
  >
> = {
  403: "repository-not-found",
  404: "repository-not-found",
  409: "repository-empty",
  451: "repository-blocked",
};

/** Returns the error for a status of a repository that should exist. */
export function refusal(
  name: RepositoryName,
  status: number,
): CollectionsError {
  const code = REFUSALS[status];
  if (code !== undefined) return problem(code, name);
  // A status that GitHub does not document says nothing about the repository.
  return sourceFailed(
    `Cannot read "${name.owner}/${name.repo}": GitHub answered ${status}`,
  );
}

/**
 * The longest answer names 100 objects of Git LFS. A schema makes some objects
 * for each value that it refuses.
 */
const MAX_VALUES = 5_000;

/**
 * Returns the parsed JSON of a response if it has the shape of the schema.
 * @throws {CollectionsError} source-failed for anything else.
 */
export function parseAnswer<T>(
  schema: z.ZodType<T>,
  { bytes }: { bytes: Uint8Array },
): T {
  const answer = parseJson(bytes, MAX_VALUES);
  const { success, data, error } = schema.safeParse(answer);
  if (success) return data;
  throw sourceFailed(`Cannot read "answer": it has another shape`, {
    cause: error,
  });
}
