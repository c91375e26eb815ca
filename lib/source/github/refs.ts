// Which commit a name means by the REST API: as branch, then as tag, then as commit id, and whether the repository may
// be seen at all, which is decided before anything else of an answer is used. Every request uses the requested name, so a
// name that now belongs to another repository shows that one. What was denied is never served because a request fails.

import { z } from "zod";
import {
  branchNotFound,
  type CollectionsError,
  isSourceFailure,
  repositoryNotAllowed,
  repositoryNotFound,
  sourceFailed,
} from "../../errors.ts";
import { isCheckFailure, withDenial } from "../failure_backoff.ts";
import { isAllowed, type RefQuery, type RepositoryName, type RequestContext } from "../source.ts";
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

export type FoundRef = { readonly commit: string; readonly validators: RefValidators };

/** A query whose default branch is filled in. */
export type BranchQuery = RefQuery & { readonly branch: string };

/** The fields used of `GET /repos/{owner}/{repo}` (docs.github.com/rest/repos/repos#get-a-repository). */
export const repositoryAnswer = z.object({
  private: z.boolean(),
  visibility: z.string().optional(),
  full_name: z.string().max(201).optional(),
  default_branch: z.string().min(1).max(255).optional(),
});

const ACCEPT = { repo: "application/vnd.github+json", commit: "application/vnd.github.sha" };
/** An answer about a repository has some 20 kB. */
const MAX_BYTES = 128 << 10;

/** Whether an id names a commit of a repository that everyone may see. @throws {CollectionsError} as the port's `resolve`. */
export async function isCommit(
  host: GitHubHost,
  name: RepositoryName,
  { id, context }: { readonly id: string; readonly context: RequestContext },
): Promise<boolean> {
  const base = namedBase(name);
  const answer = await send(host, { kind: "commit", base, rest: `/commits/${id}`, context });
  if (answer.status === 200) return commitIn(answer) === id;
  if (answer.status === 404 || answer.status === 422) return false;
  throw refusal(name, answer.status);
}

/** One search for the commit of a ref. */
export class RestRefSearch {
  private readonly known: RefValidators | null;

  /** `denial` is what GitHub denied, by Git's protocol or for the known ref, in case a later request fails. */
  constructor(
    private readonly host: GitHubHost,
    private readonly query: BranchQuery,
    private readonly context: RequestContext,
    private denial: CollectionsError | null,
  ) {
    this.known = parseValidators(query.known?.validators);
  }

  /** The commit of the ref. @throws {CollectionsError} as the port's `resolve`. */
  async find(): Promise<FoundRef> {
    try {
      if (this.query.failure !== undefined) throw this.query.failure;
      return await this.search();
    } catch (error) {
      if (this.denial === null || !isCheckFailure(error)) throw error;
      throw withDenial(error, error.denial ?? this.denial);
    }
  }

  private async search() {
    const { host, known, query } = this;
    const isByName = host.allowedRepos !== null;
    const forms = formsOf(query.branch, !isByName);
    // A form that was found before is requested together with those that go before it: a re-check is one round trip.
    // A commit id, the last form, is requested alone.
    const at = Math.max(forms.indexOf(known?.form ?? ""), 0);
    const together = forms.slice(at === 2 ? 2 : 0, at + 1);
    const visibilityRequest = host.tokens.mayHave(query.owner) && !isByName
      ? this.requestRepository(known?.visibility)
      : null;
    const refRequests = new Map(together.map((form) => [form, this.requestRef(form)]));
    // All requests are awaited, whatever one answers: a private repository must not answer sooner than a missing one.
    const [seen] = await Promise.allSettled([visibilityRequest, ...refRequests.values()]);
    const ofKnown = await refRequests.get(known?.form ?? "")?.catch(() => null);
    if (ofKnown) this.noteDenial(ofKnown.status, seen.status === "fulfilled" && !!seen.value);
    const visibility = await visibilityRequest;
    if (visibility !== null) requirePublic(query, visibility);

    let repository = visibility;
    for (const form of new Set([...together, ...forms])) {
      const answer = await (refRequests.get(form) ?? this.requestRef(form));
      if (visibility !== null && visibility.base !== answer.base) {
        throw sourceFailed(`Cannot resolve "${form}": the repository moved meanwhile`);
      }
      const isUnchanged = answer.status === 304;
      if (isUnchanged || answer.status === 200) {
        const commit = isUnchanged ? query.known!.commit : commitIn(answer);
        if (OBJECT_ID.test(form) && commit !== form) continue;
        await this.requireAllowed(answer.base, null);
        return {
          commit,
          validators: {
            base: answer.base,
            form,
            commit: isUnchanged ? known!.commit : validatorOf(answer),
            visibility: visibility?.status === 304 ? known!.visibility : validatorOf(visibility),
          },
        };
      }
      if (answer.status !== 404 && answer.status !== 422) throw refusal(query, answer.status);
      // 404 may mean the ref or the repository: find out which before requesting more.
      if (answer.status === 404) repository ??= await this.requestRepository();
    }
    throw branchNotFound(query.branch, await this.defaultBranch(repository));
  }

  private noteDenial(status: number, isSeen: boolean): void {
    if (status === 200 || status === 304) return;
    const error = isSeen || status === 422
      ? branchNotFound(this.query.branch, null)
      : refusal(this.query, status);
    if (!isSourceFailure(error)) this.denial = error;
  }

  /** A repository that moved must be allowed under its own name as well; `about` is what is known of it, if anything. */
  private async requireAllowed(base: string, about: RepositoryAnswer | null): Promise<void> {
    const { allowedRepos } = this.host;
    if (allowedRepos === null || base.toLowerCase() === namedBase(this.query).toLowerCase()) return;
    const answer = about ?? await this.requestRepository(null, base);
    const { full_name = "" } = parseAnswer(repositoryAnswer, answer);
    const [owner = "", repo = ""] = full_name.split("/");
    if (!isAllowed(allowedRepos, { owner, repo })) {
      throw repositoryNotAllowed(this.query.owner, this.query.repo);
    }
  }

  /** Only for the hint in the error: the branch is known to be missing without it. */
  private async defaultBranch(repository: RepositoryAnswer | null): Promise<string | null> {
    try {
      const answer = repository?.status === 200 ? repository : await this.requestRepository();
      if (this.host.allowedRepos === null) requirePublic(this.query, answer);
      else await this.requireAllowed(answer.base, answer);
      return parseAnswer(repositoryAnswer, answer).default_branch ?? null;
    } catch (error) {
      if (isSourceFailure(error)) return null;
      throw error;
    }
  }

  private requestRef(form: string) {
    return send(this.host, {
      kind: "commit",
      base: namedBase(this.query),
      rest: `/commits/${encodeURIComponent(form)}`,
      known: this.known?.form === form ? this.known.commit : null,
      context: this.context,
    });
  }

  /** The repository, or that it is unchanged. @throws {CollectionsError} where it may not be seen. */
  private async requestRepository(known: Validator | null = null, base = namedBase(this.query)) {
    const { context, query: { owner: account } } = this;
    const request = { kind: "repo", base, rest: "", known, account, context } as const;
    const answer = await send(this.host, request);
    if (answer.status === 200 || answer.status === 304) return answer;
    throw refusal(this.query, answer.status);
  }
}

async function send(
  host: GitHubHost,
  request: Omit<RepositoryRequest, "maxBytes"> & { readonly kind: keyof typeof ACCEPT },
) {
  const accept = ACCEPT[request.kind];
  const answer = await requestRepository(host, { ...request, accept, maxBytes: MAX_BYTES });
  answer.release();
  return answer;
}

/** What a name may mean: the default branch, or a branch, a tag and, if it may be one, a commit id in lower case. */
export function formsOf(branch: string, commitIds: boolean): string[] {
  if (branch === "HEAD") return ["HEAD"];
  const forms = [`heads/${branch}`, `tags/${branch}`];
  const id = branch.toLowerCase();
  return commitIds && OBJECT_ID.test(id) ? [...forms, id] : forms;
}

/** The commit id of an `application/vnd.github.sha` answer. @throws {CollectionsError} source-failed. */
function commitIn({ bytes }: GitHubAnswer): string {
  const id = bytes.length <= 64 ? new TextDecoder().decode(bytes).trim() : "";
  if (!OBJECT_ID.test(id)) throw sourceFailed(`Cannot read "commit": the answer is no commit id`);
  return id;
}

function requirePublic(name: RepositoryName, answer: RepositoryAnswer): void {
  // Only an answer with "public" leaves a validator, so 304 means the same.
  if (answer.status === 304) return;
  const { private: isPrivate, visibility } = parseAnswer(repositoryAnswer, answer);
  if (isPrivate || (visibility ?? "public") !== "public") {
    throw repositoryNotFound(name.owner, name.repo);
  }
}

function validatorOf(answer: RepositoryAnswer | null): Validator | null {
  const etag = answer?.headers.get("etag") ?? null;
  return answer === null || etag === null ? null : { etag, fingerprint: answer.token.fingerprint };
}
