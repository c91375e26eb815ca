// Finds the commit that a name means through the REST API. A name is tried as a
// branch, then as a tag and then as a commit id. Whether the repository may be
// seen is decided before anything else in a response is used. Every request
// uses the requested name. If that name now belongs to another repository, that
// repository is shown. A ref or repository that is missing is never served
// because a request fails.

import { z } from "zod";
import {
  branchNotFound,
  type CollectionsError,
  isSourceFailure,
  problem,
  sourceFailed,
} from "../../errors.ts";
import {
  isAllowed,
  type RefQuery,
  type RepositoryName,
  type RequestContext,
} from "../source.ts";
import {
  consequencesOf,
  isCheckFailure,
  SourceFailure,
} from "../source_failure.ts";
import type { GitHubAnswer, Validator } from "./client.ts";
import {
  type GitHubHost,
  namedBase,
  parseAnswer,
  parseValidators,
  refusal,
  type RefValidators,
  type RepositoryAnswer,
  type RepositoryRequest,
  requestRepository,
} from "./host.ts";
import { OBJECT_ID } from "./json.ts";

export type FoundCommit = {
  readonly commit: string;
  readonly validators: RefValidators;
};

/** A query with its default branch filled in. */
export type BranchQuery = RefQuery & { readonly branch: string };

/**
 * Fields used from `GET /repos/{owner}/{repo}`
 * (docs.github.com/rest/repos/repos#get-a-repository).
 */
export const repositoryAnswer = z.object({
  private: z.boolean(),
  visibility: z.string().optional(),
  full_name: z.string().max(201).optional(),
  default_branch: z.string().min(1).max(255).optional(),
});

const ACCEPT = {
  repo: "application/vnd.github+json",
  commit: "application/vnd.github.sha",
};
/** A response about a repository has about 20 kB. */
const MAX_BYTES = 128 << 10;

/**
 * Returns whether an id names a commit of a public repository.
 * @throws {CollectionsError} what `Source.resolve` throws.
 */
export async function isCommit(
  host: GitHubHost,
  name: RepositoryName,
  { id, context }: { id: string; context: RequestContext },
): Promise<boolean> {
  const base = namedBase(name);
  const answer = await send(host, {
    kind: "commit",
    base,
    path: `/commits/${id}`,
    context,
  });
  if (answer.status === 200) return commitIn(answer) === id;
  if (answer.status === 404 || answer.status === 422) return false;
  throw refusal(name, answer.status);
}

/**
 * Finds the commit of a ref. `missing` is what Git's protocol said in case a
 * request fails.
 * @throws {CollectionsError} what `Source.resolve` throws.
 */
export async function findByRest(
  host: GitHubHost,
  query: BranchQuery,
  context: RequestContext,
  missing: CollectionsError | null,
): Promise<FoundCommit> {
  const { allowedRepos, tokens } = host;
  const namedAt = namedBase(query);
  const known = parseValidators(query.known?.validators);

  const requestRef = (candidate: string) => {
    const path = `/commits/${encodeURIComponent(candidate)}`;
    const validator = known?.candidate === candidate ? known.commit : null;
    return send(host, {
      kind: "commit",
      base: namedAt,
      path,
      known: validator,
      context,
    });
  };
  const requestRepository = async (
    known: Validator | null = null,
    base = namedAt,
  ) => {
    const about = { base, path: "", account: query.owner };
    const answer = await send(host, { kind: "repo", ...about, known, context });
    if (answer.status === 200 || answer.status === 304) return answer;
    throw refusal(query, answer.status);
  };
  /** A repository that moved must also be allowed under its own name. */
  const requireAllowed = async (base: string, about?: RepositoryAnswer) => {
    if (allowedRepos === null || base.toLowerCase() === namedAt.toLowerCase()) {
      return;
    }
    const answer = about ?? await requestRepository(null, base);
    const [owner = "", repo = ""] =
      parseAnswer(repositoryAnswer, answer).full_name?.split("/") ??
        [];
    if (!isAllowed(allowedRepos, { owner, repo })) {
      throw problem("repository-not-allowed", query);
    }
  };
  /**
   * Only for the hint in the error. The branch is already known to be missing.
   */
  const defaultBranch = async (repository: RepositoryAnswer | null) => {
    try {
      const answer = repository?.status === 200
        ? repository
        : await requestRepository();
      if (allowedRepos === null) requirePublic(query, answer);
      else await requireAllowed(answer.base, answer);
      return parseAnswer(repositoryAnswer, answer).default_branch ?? null;
    } catch (error) {
      if (isSourceFailure(error)) return null;
      throw error;
    }
  };

  try {
    if (query.failure !== undefined) throw query.failure;
    const candidates = candidatesOf(query.branch, allowedRepos === null);
    // The candidate that was found before and those that precede it are
    // requested together. A re-check is then one round trip. A commit id is the
    // last candidate and is requested alone.
    const at = Math.max(candidates.indexOf(known?.candidate ?? ""), 0);
    const together = candidates.slice(at === 2 ? 2 : 0, at + 1);
    const seeing = tokens.mayHave(query.owner) && allowedRepos === null
      ? requestRepository(known?.visibility)
      : null;
    const finding = new Map(
      together.map((candidate) => [candidate, requestRef(candidate)]),
    );
    // All requests are awaited whatever one of them returns. A private
    // repository must not answer sooner than a missing one.
    const [seen] = await Promise.allSettled([seeing, ...finding.values()]);
    const last = await finding.get(known?.candidate ?? "")?.catch(() => null);
    if (last && last.status !== 200 && last.status !== 304) {
      const isSeen = seen.status === "fulfilled" && seen.value !== null;
      missing = isSeen || last.status === 422
        ? branchNotFound(query.branch, null)
        : refusal(query, last.status);
    }
    const visibility = await seeing;
    if (visibility !== null) requirePublic(query, visibility);

    let repository = visibility;
    for (const candidate of new Set([...together, ...candidates])) {
      const answer = await (finding.get(candidate) ?? requestRef(candidate));
      if (visibility !== null && visibility.base !== answer.base) {
        throw sourceFailed(
          'Cannot read "ref": the repository moved meanwhile',
        );
      }
      const isUnchanged = answer.status === 304;
      if (isUnchanged || answer.status === 200) {
        const commit = isUnchanged ? query.known!.commit : commitIn(answer);
        if (OBJECT_ID.test(candidate) && commit !== candidate) continue;
        await requireAllowed(answer.base);
        return {
          commit,
          validators: {
            base: answer.base,
            candidate,
            commit: isUnchanged ? known!.commit : validatorOf(answer),
            visibility: visibility?.status === 304
              ? known!.visibility
              : validatorOf(visibility),
          },
        };
      }
      if (answer.status !== 404 && answer.status !== 422) {
        throw refusal(query, answer.status);
      }
      // 404 may mean the ref or the repository. Find out which before
      // requesting more.
      if (answer.status === 404) repository ??= await requestRepository();
    }
    throw branchNotFound(query.branch, await defaultBranch(repository));
  } catch (error) {
    if (missing === null || !isCheckFailure(error)) throw error;
    throw new SourceFailure(error, { ...consequencesOf(error), missing });
  }
}

async function send(
  host: GitHubHost,
  request: Omit<RepositoryRequest, "maxBytes"> & {
    kind: keyof typeof ACCEPT;
  },
) {
  const accept = ACCEPT[request.kind];
  const answer = await requestRepository(host, {
    ...request,
    accept,
    maxBytes: MAX_BYTES,
  });
  answer.release();
  return answer;
}

/**
 * Returns the candidates for a name. `HEAD` is the default branch. Other names
 * are a branch, a tag and possibly a commit id in lower case.
 */
export function candidatesOf(branch: string, commitIds: boolean): string[] {
  if (branch === "HEAD") return ["HEAD"];
  const candidates = [`heads/${branch}`, `tags/${branch}`];
  const id = branch.toLowerCase();
  return commitIds && OBJECT_ID.test(id) ? [...candidates, id] : candidates;
}

/**
 * Returns the commit id of an `application/vnd.github.sha` response.
 * @throws {CollectionsError} source-failed if there is no commit id.
 */
function commitIn({ bytes }: GitHubAnswer): string {
  const id = bytes.length <= 64 ? new TextDecoder().decode(bytes).trim() : "";
  if (!OBJECT_ID.test(id)) {
    throw sourceFailed(`Cannot read "commit": the answer is no commit id`);
  }
  return id;
}

function requirePublic(name: RepositoryName, answer: RepositoryAnswer) {
  // Validators are kept only from responses with "public". A 304 means the
  // same.
  if (answer.status === 304) return;
  const { private: isPrivate, visibility } = parseAnswer(
    repositoryAnswer,
    answer,
  );
  if (isPrivate || (visibility ?? "public") !== "public") {
    throw problem("repository-not-found", name);
  }
}

function validatorOf(answer: RepositoryAnswer | null): Validator | null {
  const etag = answer?.headers.get("etag") ?? null;
  return answer === null || etag === null
    ? null
    : { etag, fingerprint: answer.token.fingerprint };
}
