// Which commit a name stands for at GitHub: as branch, then as tag, then as commit id, and whether the repository may
// be seen at all. Visibility is decided before anything that a branch question said is used.

import { branchNotFound, isSourceFailure, repositoryNotFound, sourceFailed } from "../errors.ts";
import { checked, parseCommitId, parseJson, refusal, repositoryAnswer } from "./github_answers.ts";
import type { Validator } from "./github_client.ts";
import { type GitHubMemo, parseMemo } from "./github_memo.ts";
import { askWithMoves, type MovedAnswer } from "./github_moves.ts";
import type { GitHubSource } from "./github_source.ts";
import { type Caller, type RefQuestion, type RepositoryName, signalOf } from "./repository.ts";

/** What a ref question found. */
export interface FoundRef {
  readonly commit: string;
  readonly unchanged: boolean;
  readonly memo: GitHubMemo;
}

/** How long the base of a moved repository is taken for granted before its old name is asked again. */
const MOVED_FOR_MS = 3_600_000;
const MAX_BYTES = 1 << 20;
const COMMIT_ID = /^[0-9a-f]{40}$/i;
const SHA_TYPE = "application/vnd.github.sha";
const JSON_TYPE = "application/vnd.github+json";

type RefAsked = RefQuestion & { readonly branch: string; readonly caller: Caller };

/**
 * Finds the commit of a ref.
 * @throws {CollectionsError} repository-not-found, branch-not-found, repository-empty, repository-blocked, or a
 * source failure.
 */
export async function findRef(question: RefAsked, source: GitHubSource): Promise<FoundRef> {
  const now = source.now();
  const known = parseMemo(question.known?.memo);
  const named = `repos/${question.owner}/${question.repo}`;
  const moved = known !== null && known.base.toLowerCase() !== named.toLowerCase();
  const memo = moved && now - known.namedAtMs > MOVED_FOR_MS ? null : known;
  const base = memo?.base ?? named;
  const ask = (
    rest: string,
    accept: string,
    kind: "commit" | "repo",
    validator?: Validator | null,
  ) =>
    askWithMoves(source.client, {
      apiUrl: source.apiUrl,
      base,
      rest,
      accept,
      kind,
      maxBytes: MAX_BYTES,
      ...(validator ? { known: validator } : {}),
      ...signalOf(question.caller),
    });
  const askRef = (form: string) =>
    ask(
      `/commits/${encodeURIComponent(form)}`,
      SHA_TYPE,
      "commit",
      memo?.form === form && question.known !== undefined ? memo.commit : null,
    );
  const askRepository = (validator?: Validator | null) => ask("", JSON_TYPE, "repo", validator);

  const forms = formsOf(question.branch, !source.allowedByName);
  const visibilityAsked = source.tokens.hasToken && !source.allowedByName
    ? askRepository(memo?.visibility)
    : null;
  // A form that was remembered is asked together with those that go before it, so that a re-check is one round trip.
  const together = memo?.form !== undefined && forms.includes(memo.form)
    ? COMMIT_ID.test(memo.form) ? [memo.form] : forms.slice(0, forms.indexOf(memo.form) + 1)
    : forms.slice(0, 1);
  // All are waited for, whatever one says: a private repository must not answer sooner than a missing one.
  const [visibilityResult, ...refResults] = await Promise.allSettled(
    [
      visibilityAsked,
      ...together.map(askRef),
    ] as const,
  );
  const isSeen = visibilityResult?.status === "fulfilled" && visibilityResult.value !== null;
  const hear = (form: string, { status }: MovedAnswer) => {
    if (form !== known?.form || status === 200 || status === 304) return;
    const error = isSeen || status === 422
      ? branchNotFound(question.branch, null)
      : refusal(question, status);
    if (!isSourceFailure(error)) question.denied?.(error);
  };
  refResults.forEach((result, index) => {
    if (result.status === "fulfilled") hear(together[index]!, result.value as MovedAnswer);
  });
  const visibility = unwrap(visibilityResult!) as MovedAnswer | null;
  if (visibility !== null) requirePublic(question, visibility);

  let repository = visibility;
  const early = new Map(together.map((form, index) => [form, refResults[index]!]));
  for (const form of [...together, ...forms.filter((form) => !early.has(form))]) {
    const result = early.get(form);
    const answer = result === undefined ? await askRef(form) : unwrap(result) as MovedAnswer;
    if (result === undefined) hear(form, answer);
    if (visibility !== null && visibility.base !== answer.base) {
      throw sourceFailed(`Cannot resolve "${form}": the repository moved meanwhile`);
    }
    if (answer.status === 200 || answer.status === 304) {
      const commit = answer.status === 304 ? question.known!.commit : parseCommitId(answer.bytes);
      if (COMMIT_ID.test(form) && commit !== form.toLowerCase()) continue;
      return {
        commit,
        unchanged: commit === question.known?.commit,
        memo: {
          base: answer.base,
          namedAtMs: memo?.namedAtMs ?? now,
          form,
          commit: answer.status === 304 ? memo!.commit : validatorOf(answer),
          visibility: visibility === null
            ? null
            : visibility.status === 304
            ? memo!.visibility
            : validatorOf(visibility),
        },
      };
    }
    if (answer.status !== 404 && answer.status !== 422) throw refusal(question, answer.status);
    // 404 may mean the ref or the repository: ask which before asking for more of what may not be there.
    if (repository === null && answer.status === 404) {
      repository = await askRepository();
      if (repository.status !== 200) throw refusal(question, repository.status);
    }
  }
  throw branchNotFound(question.branch, await defaultBranch());

  /** For the hint alone: that the branch is not there is known without it. */
  async function defaultBranch(): Promise<string | null> {
    try {
      const answer = repository?.status === 200 ? repository : await askRepository();
      if (answer.status !== 200) throw refusal(question, answer.status);
      if (visibility !== null) requirePublic(question, answer);
      return checked(repositoryAnswer, parseJson(answer.bytes)).default_branch ?? null;
    } catch (error) {
      if (isSourceFailure(error)) return null;
      throw error;
    }
  }
}

function formsOf(branch: string, commitIds: boolean): string[] {
  if (branch === "HEAD") return ["HEAD"];
  const forms = [`heads/${branch}`, `tags/${branch}`];
  return commitIds && COMMIT_ID.test(branch) ? [...forms, branch.toLowerCase()] : forms;
}

function requirePublic(name: RepositoryName, answer: MovedAnswer): void {
  // Only an answer that said "public" is ever remembered with a validator, so 304 says it again.
  if (answer.status === 304) return;
  if (answer.status !== 200) throw refusal(name, answer.status);
  const { private: isPrivate, visibility } = checked(repositoryAnswer, parseJson(answer.bytes));
  if (isPrivate || (visibility ?? "public") !== "public") {
    throw repositoryNotFound(name.owner, name.repo);
  }
}

function validatorOf(answer: MovedAnswer): Validator | null {
  const etag = answer.headers.get("etag");
  return etag === null ? null : { etag, fingerprint: answer.token.fingerprint };
}

function unwrap<T>(result: PromiseSettledResult<T>): T {
  if (result.status === "rejected") throw result.reason;
  return result.value;
}
