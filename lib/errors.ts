// Every error that a caller may be told about, with the sentence that tells it. Knows no HTTP: the status of a
// code is decided in lib/http/problem.ts. `message` is for the log, `detail` for the person who asked.

/** The codes of the contract's error table, and `page-too-large`, which only an item of a page has. */
export type ErrorCode =
  | "invalid-parameters"
  | "repository-not-allowed"
  | "repository-not-found"
  | "branch-not-found"
  | "collection-not-found"
  | "item-not-found"
  | "route-not-found"
  | "method-not-allowed"
  | "repository-empty"
  | "item-too-large"
  | "page-too-large"
  | "collection-too-large"
  | "too-many-requests"
  | "repository-blocked"
  | "internal-error"
  | "source-failed"
  | "source-rate-limited"
  | "service-busy"
  | "collection-not-ready"
  | "source-timeout";

/** One bad parameter of an `invalid-parameters` error. */
export interface ParameterError {
  readonly parameter: string;
  readonly message: string;
}

/** What an error may carry beside its sentence; each field is part of the problem that the caller gets. */
export interface ErrorFacts {
  readonly errors?: readonly ParameterError[];
  readonly suggestions?: readonly string[];
  readonly size?: number;
  readonly maxBytes?: number;
  readonly htmlUrl?: string;
  /** Whole seconds after which asking again can help. */
  readonly retryAfterSeconds?: number;
}

/** Options of a {@linkcode CollectionsError}. */
export interface CollectionsErrorOptions extends ErrorFacts {
  /** For the log only, as `Cannot <do> "<what>": <state>`; `detail` serves where it is left out. */
  readonly message?: string;
  readonly cause?: unknown;
  /** Whether the source was not even reached; enough of these mean that it is down for everyone. */
  readonly unreachable?: boolean;
  /** For how long the failing source said that it wants not to be asked again, in ms. */
  readonly restMs?: number;
}

/** An error with a code of the contract and a public sentence. Its cause and message never reach a client. */
export class CollectionsError extends Error {
  override readonly name = "CollectionsError";
  readonly facts: ErrorFacts;
  readonly unreachable: boolean;
  readonly restMs: number;

  constructor(
    readonly code: ErrorCode,
    readonly detail: string,
    options: CollectionsErrorOptions = {},
  ) {
    const { message, cause, unreachable, restMs, ...facts } = options;
    super(message ?? detail, cause === undefined ? undefined : { cause });
    this.facts = facts;
    this.unreachable = unreachable ?? false;
    this.restMs = restMs ?? 0;
  }
}

const SOURCE_FAILURES: ReadonlySet<ErrorCode> = new Set([
  "source-failed",
  "source-timeout",
  "source-rate-limited",
]);

/** Whether the source could not be asked or did not answer properly; only then may an older answer be given. */
export function isSourceFailure(error: unknown): error is CollectionsError {
  return error instanceof CollectionsError && SOURCE_FAILURES.has(error.code);
}

/** 404 for a repository that does not exist and for one that may not be seen: one text for both. */
export function repositoryNotFound(owner: string, repo: string): CollectionsError {
  return new CollectionsError(
    "repository-not-found",
    `There is no public repository "${owner}/${repo}" here. Check the spelling of owner and repo, and that the repository is public.`,
  );
}

/** 404 for a repository of a local owner. There is nothing private to keep quiet about, so it says what it looked for. */
export function localFolderNotFound(repo: string): CollectionsError {
  return new CollectionsError("repository-not-found", `There is no local folder "${repo}".`);
}

/** 403 of a deployment that serves named repositories only. */
export function repositoryNotAllowed(owner: string, repo: string): CollectionsError {
  return new CollectionsError(
    "repository-not-allowed",
    `This deployment does not serve "${owner}/${repo}". Ask its operator to add it to ALLOWED_REPOS.`,
  );
}

/** 404 for a branch, tag or commit id; names the default branch where it is known. */
export function branchNotFound(branch: string, defaultBranch: string | null): CollectionsError {
  const hint = defaultBranch === null
    ? "Check the spelling of branch."
    : `The default branch is "${defaultBranch}".`;
  return new CollectionsError(
    "branch-not-found",
    `The repository has no branch or tag "${branch}". ${hint}`,
  );
}

/** 409 for a repository without a commit. */
export function repositoryEmpty(owner: string, repo: string): CollectionsError {
  return new CollectionsError(
    "repository-empty",
    `The repository "${owner}/${repo}" has no commit yet. Push one and ask again.`,
  );
}

/** 451 for a repository that its host blocks for legal reasons. */
export function repositoryBlocked(owner: string, repo: string): CollectionsError {
  return new CollectionsError(
    "repository-blocked",
    `The repository "${owner}/${repo}" is blocked by its host for legal reasons.`,
  );
}

/** 404 for a collection; `file` is the path of a file that has its name; `suggestions` are at most five strings that work as `collection`, `warnings` sentences without a full stop. */
export function collectionNotFound(
  collection: string,
  options: {
    file: string | null;
    suggestions: readonly string[];
    warnings: readonly string[];
  },
): CollectionsError {
  const state = options.file !== null
    ? `"${options.file}" is a file, not a folder. Read it with get-item-content.`
    : `No folder is named "${collection}", neither at the repository's root nor where collections usually are.`;
  const hint = options.suggestions.length > 0 ? " Perhaps one of the suggestions is meant." : "";
  const warnings = options.warnings.map((warning) => ` ${warning}.`).join("");
  return new CollectionsError("collection-not-found", state + hint + warnings, {
    suggestions: options.suggestions,
  });
}

/** 422 for a collection past the bounds that keep one listing's cost in hand. */
export function collectionTooLarge(collection: string, why: string): CollectionsError {
  return new CollectionsError(
    "collection-too-large",
    `The collection "${collection}" cannot be listed whole: ${why}. Ask for one of its sub-folders.`,
  );
}

/** What stands at a path that is not a readable file. */
export type NotAFile = "absent" | "folder" | "symbolic link" | "submodule";

/** 404 for a path at which no file is to be read; says what is there instead. */
export function itemNotFound(path: string, what: NotAFile = "absent"): CollectionsError {
  const state = what === "absent"
    ? `There is no file "${path}" on this branch. Paths are case-sensitive and start at the repository's root.`
    : what === "folder"
    ? `"${path}" is a folder. List it with list-collection-items.`
    : `"${path}" is a ${what}; only files are served.`;
  return new CollectionsError("item-not-found", state);
}

/** 422 for a file over the size cap, both in bytes. */
export function itemTooLarge(
  path: string,
  facts: { size: number; maxBytes: number; htmlUrl?: string },
): CollectionsError {
  return new CollectionsError(
    "item-too-large",
    `"${path}" has ${facts.size} bytes, this deployment reads files of up to ${facts.maxBytes} bytes.`,
    facts,
  );
}

/** 422 within a page: the item's bytes would take the page over its bound. */
export function pageTooLarge(path: string, maxBytes: number): CollectionsError {
  return new CollectionsError(
    "page-too-large",
    `The content of "${path}" does not fit into a page of ${maxBytes} bytes. Ask for a smaller limit or read it with get-item-content.`,
  );
}

/** 502: the source answered with an error or with something that is no answer. `message` is for the log. */
export function sourceFailed(
  message: string,
  options: { cause?: unknown; unreachable?: boolean; restMs?: number } = {},
): CollectionsError {
  return new CollectionsError(
    "source-failed",
    "The source of this repository answered with an error. Try again in a minute.",
    { message, ...options },
  );
}

/** 504: the source did not answer in time. */
export function sourceTimeout(message: string): CollectionsError {
  return new CollectionsError(
    "source-timeout",
    "The source of this repository did not answer in time. Try again in a minute.",
    { message, unreachable: true },
  );
}

/** 503 until the source's quota is there again. */
export function sourceRateLimited(message: string, retryAfterSeconds: number): CollectionsError {
  return new CollectionsError(
    "source-rate-limited",
    `The source's quota is spent. Try again in ${retryAfterSeconds} seconds.`,
    { message, retryAfterSeconds },
  );
}

/** 503: too much is waiting for the source already. */
export function serviceBusy(retryAfterSeconds: number): CollectionsError {
  return new CollectionsError(
    "service-busy",
    `Too many requests are waiting already. Try again in ${retryAfterSeconds} seconds.`,
    { retryAfterSeconds },
  );
}

/** 503: a long preparation goes on in the background. */
export function collectionNotReady(
  collection: string,
  retryAfterSeconds: number,
): CollectionsError {
  return new CollectionsError(
    "collection-not-ready",
    `The files of "${collection}" are still being read. Ask again in ${retryAfterSeconds} seconds.`,
    { retryAfterSeconds },
  );
}

/** 429: this client caused too many cache misses; answers that are kept go on. */
export function tooManyRequests(retryAfterSeconds: number): CollectionsError {
  return new CollectionsError(
    "too-many-requests",
    `Your address asked for too much that is not in the cache. Try again in ${retryAfterSeconds} seconds.`,
    { retryAfterSeconds },
  );
}

/** 400 that names every bad parameter at once. */
export function invalidParameters(errors: readonly ParameterError[]): CollectionsError {
  const names = [...new Set(errors.map((error) => error.parameter))];
  return new CollectionsError(
    "invalid-parameters",
    `${names.length === 1 ? "This parameter is" : "These parameters are"} not usable: ${
      names.join(", ")
    }. See "errors".`,
    { errors },
  );
}
