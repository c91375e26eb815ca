// Every error that a response can carry: the table of codes and the constructors. Problem responses, the pages under
// /problems, the OpenAPI document and the README's rows all come from this table. Of an error only `detail` and `facts`
// reach a client; `message` and `cause` are for the log.

/** One row of the contract's error table. */
export interface ErrorEntry {
  readonly status: number;
  readonly title: string;
  /** What the code means, for the page under /problems. Backquotes mark code, here and in `todo`. */
  readonly meaning: string;
  /** What the sender of the request can do. */
  readonly todo: readonly string[];
  /** Whether the same request can succeed later: not without a change, perhaps, or after `Retry-After` seconds. */
  readonly retry: "no" | "later" | "retry-after";
  /** The only operation that has this error; absent where every operation can have it. */
  readonly only?: "list" | "item" | "webhook";
}

/** Every code that a response can have, in the order of the contract's table. */
export const ERRORS = {
  "invalid-parameters": entry(400, "Parameters are missing or not usable", {
    meaning:
      "A parameter is missing, given twice, malformed or outside its limits. The service read nothing of the repository.",
    todo: [
      "Read `errors`: it names every bad parameter at once, each with what it must be.",
      "Encode values for a URL: a plus is `%2B`, a slash may stay as it is.",
    ],
  }),
  "signature-invalid": entry(401, "Signature is missing or wrong", {
    meaning: "The webhook delivery is not signed with this deployment's secret.",
    todo: ["Set the same secret in the webhook's settings and in `GITHUB_WEBHOOK_SECRET`."],
    only: "webhook",
  }),
  "repository-not-allowed": entry(403, "This repository is not served here", {
    meaning: "This deployment serves only the repositories that its operator named.",
    todo: [
      "Ask the operator to add the repository to `ALLOWED_REPOS`, or run a service of your own.",
    ],
  }),
  "repository-not-found": entry(404, "Repository not found", {
    meaning:
      "There is no such repository, or it is private. Both get the same answer, so that nothing private can be guessed.",
    todo: [
      "Check the spelling of `owner` and `repo`.",
      "Check that everyone may see the repository.",
    ],
  }),
  "branch-not-found": entry(404, "Branch not found", {
    meaning: "The repository has neither a branch nor a tag of that name, and it is no commit id.",
    todo: [
      "See `detail`: it names the default branch.",
      "Use `branch=HEAD` for the default branch, whatever its name.",
    ],
  }),
  "collection-not-found": entry(404, "Collection not found", {
    meaning:
      "No folder has that path or name, neither at the root nor where collections usually are, such as `content/` or `src/content/`.",
    todo: [
      "See `suggestions`: each works as `collection`.",
      "Give the whole path from the root, such as `src/content/posts`, or `/` for all of the repository.",
      "A single file is read with `get-item-content`.",
    ],
  }),
  "item-not-found": entry(404, "File not found", {
    meaning:
      "There is no file at that path on that branch: nothing, a folder, a link or a submodule.",
    todo: [
      "Check the path from the repository's root, upper and lower case too.",
      "Take `path` or `contentUrl` from a list of items instead of putting paths together.",
    ],
    only: "item",
  }),
  "route-not-found": entry(404, "Nothing at this address", {
    meaning: "The service has nothing at this address.",
    todo: ["The operations are `/api/list-collection-items` and `/api/get-item-content`."],
  }),
  "method-not-allowed": entry(405, "Method not allowed", {
    meaning: "The service only reads.",
    todo: ["Use `GET`, `HEAD` or `OPTIONS`; `POST` is for the webhook alone."],
  }),
  "repository-empty": entry(409, "Repository is empty", {
    meaning: "The repository exists, but it has no commit yet.",
    todo: ["Push a first commit, and send the request again."],
  }),
  "slug-ambiguous": entry(409, "Several files have this slug", {
    meaning: "Several files of the collection have that slug, and none is the only Markdown file.",
    todo: ["See `paths`: read one of them with `path`."],
    only: "item",
  }),
  "body-too-large": entry(413, "Body too large", {
    meaning: "The webhook delivery is larger than GitHub sends.",
    todo: ["Deliveries have at most 25 MiB."],
    only: "webhook",
  }),
  "item-too-large": entry(422, "File too large", {
    meaning:
      "The file is larger than this deployment reads. `size` and `maxBytes` say by how much.",
    todo: [
      "Take the file from its host: `htmlUrl` leads to it.",
      "The operator can raise `MAX_ITEM_MB`.",
    ],
    only: "item",
  }),
  "collection-too-large": entry(422, "Collection too large", {
    meaning:
      "The folder has more files than can be listed truthfully. A short list would look like a complete one, so there is none.",
    todo: ["Ask for one of its sub-folders."],
  }),
  "too-many-requests": entry(429, "Too many requests", {
    meaning:
      "Your address sent too many requests whose answers were not in the cache. Cached answers are never limited.",
    todo: [
      "Wait as long as `Retry-After` says.",
      "Send the same requests again rather than new ones; a page of 100 items costs as little as one of 10.",
    ],
    retry: "retry-after",
  }),
  "repository-blocked": entry(451, "Repository is blocked", {
    meaning: "The host of the repository blocks it for legal reasons.",
    todo: ["There is nothing that this service can do about it; its host tells more."],
  }),
  "internal-error": entry(500, "Internal error", {
    meaning: "Something went wrong in this service, and it is not your request's fault.",
    todo: ["Tell the operator the `requestId`: the log has the details under it."],
    retry: "later",
  }),
  "source-failed": entry(502, "Source failed", {
    meaning:
      "The host of the repository answered with an error, or with something that is no answer.",
    todo: ["Try again in a minute.", "See whether the host reports trouble."],
    retry: "later",
  }),
  "source-rate-limited": entry(503, "Source quota is spent", {
    meaning: "The quota that the repository's host grants to this service is spent.",
    todo: [
      "Wait as long as `Retry-After` says.",
      "The operator can add a `GITHUB_TOKEN`: it raises GitHub's quota from 60 to 5,000 requests an hour.",
    ],
    retry: "retry-after",
  }),
  "service-busy": entry(503, "Service is busy", {
    meaning: "More requests are waiting than the service can answer soon.",
    todo: ["Wait as long as `Retry-After` says, and send the request again."],
    retry: "retry-after",
  }),
  "collection-not-ready": entry(503, "Collection is not ready", {
    meaning: "The service is still reading the files of this collection, and continues to do so.",
    todo: ["Send the request again after `Retry-After`: what was read until then is cached."],
    retry: "retry-after",
  }),
  "source-timeout": entry(504, "Source did not answer in time", {
    meaning: "The host of the repository did not answer in time.",
    todo: ["Try again in a minute.", "The operator can raise `SOURCE_TIMEOUT_MS`."],
    retry: "later",
  }),
};

function entry(
  status: number,
  title: string,
  more: Pick<ErrorEntry, "meaning" | "todo"> & Partial<ErrorEntry>,
): ErrorEntry {
  return { status, title, retry: "no", ...more };
}

/** A code of {@linkcode ERRORS}. */
export type ProblemCode = keyof typeof ERRORS;

/** A code that an error can have; an item of a page alone has `page-too-large`. */
export type ErrorCode = ProblemCode | "page-too-large";

/** Whether a text is a code of {@linkcode ERRORS}. */
export function isProblemCode(text: string): text is ProblemCode {
  return Object.hasOwn(ERRORS, text);
}

/** One bad parameter of an `invalid-parameters` error. */
export interface ParameterError {
  readonly parameter: string;
  readonly message: string;
}

/** What an error may carry beside its sentence; each field is part of the problem response. */
export interface ErrorFacts {
  readonly errors?: readonly ParameterError[];
  readonly suggestions?: readonly string[];
  readonly size?: number;
  readonly maxBytes?: number;
  readonly htmlUrl?: string;
  /** The files that a slug names. */
  readonly paths?: readonly string[];
  /** Whole seconds after which the same request can succeed. */
  readonly retryAfterSeconds?: number;
}

/** Options of a {@linkcode CollectionsError}. */
export interface CollectionsErrorOptions extends ErrorFacts {
  /** For the log only, as `Cannot <do> "<what>": <state>`; `detail` where it is left out. */
  readonly message?: string;
  readonly cause?: unknown;
  /** Whether the source could not even be reached. */
  readonly unreachable?: boolean;
  /** The pause that the failing source requested, in ms. */
  readonly restMs?: number;
  /** The source's answer before it failed: that the repository or the ref is missing. Nothing older may then be served. */
  readonly denial?: CollectionsError;
}

/** An error with a code of the contract and a public sentence. */
export class CollectionsError extends Error {
  override readonly name = "CollectionsError";
  readonly facts: ErrorFacts;
  readonly unreachable: boolean;
  readonly restMs: number;
  readonly denial: CollectionsError | undefined;

  constructor(
    readonly code: ErrorCode,
    readonly detail: string,
    options: CollectionsErrorOptions = {},
  ) {
    const { message, cause, unreachable, restMs, denial, ...facts } = options;
    super(message ?? detail, cause === undefined ? undefined : { cause });
    this.facts = facts;
    this.unreachable = unreachable ?? false;
    this.restMs = restMs ?? 0;
    this.denial = denial;
  }
}

const SOURCE_FAILURES: ReadonlySet<ErrorCode> = new Set([
  "source-failed",
  "source-timeout",
  "source-rate-limited",
]);

/** Whether the source could not be queried or did not answer properly; only then may an older answer be sent. */
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

/** 404 for a repository of a local owner. Nothing here is private, so it names the folder. */
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
    `The repository "${owner}/${repo}" has no commit yet. Push one and send the request again.`,
  );
}

/** 451 for a repository that its host blocks for legal reasons. */
export function repositoryBlocked(owner: string, repo: string): CollectionsError {
  return new CollectionsError(
    "repository-blocked",
    `The repository "${owner}/${repo}" is blocked by its host for legal reasons.`,
  );
}

/**
 * 404 for a collection; `file` is the path of a file that has its name; `suggestions` are at most five strings that work
 * as `collection`, `warnings` sentences without a full stop.
 */
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

/** 422 for a collection that would cost more than one listing may. */
export function collectionTooLarge(collection: string, why: string): CollectionsError {
  return new CollectionsError(
    "collection-too-large",
    `The collection "${collection}" cannot be listed whole: ${why}. Ask for one of its sub-folders.`,
  );
}

/** What is at a path that is not a readable file. */
export type NotAFile = "absent" | "folder" | "symbolic link" | "submodule";

/** 404 for a path that is not a readable file; says what is there instead. */
export function itemNotFound(path: string, what: NotAFile = "absent"): CollectionsError {
  const state = what === "absent"
    ? `There is no file "${path}" on this branch. Paths are case-sensitive and start at the repository's root.`
    : what === "folder"
    ? `"${path}" is a folder. List it with list-collection-items.`
    : `"${path}" is a ${what}; only files are served.`;
  return new CollectionsError("item-not-found", state);
}

/** 409 for a slug of several files. */
export function slugAmbiguous(slug: string, paths: readonly string[]): CollectionsError {
  return new CollectionsError(
    "slug-ambiguous",
    `Several files of the collection have the slug "${slug}". Read one of "paths" with path.`,
    { paths },
  );
}

/** 404 for a slug that no item of a collection has. */
export function slugNotFound(collection: string, slug: string): CollectionsError {
  return new CollectionsError(
    "item-not-found",
    `The collection "${collection}" has no item with the slug "${slug}". Slugs are case-sensitive.`,
  );
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

/** 503 until the source's quota is renewed. */
export function sourceRateLimited(message: string, retryAfterSeconds: number): CollectionsError {
  return new CollectionsError(
    "source-rate-limited",
    `The source's quota is spent. Try again in ${retryAfterSeconds} seconds.`,
    { message, retryAfterSeconds },
  );
}

/** 503: a queue is full, or the wait in it took too long. */
export function serviceBusy(retryAfterSeconds: number): CollectionsError {
  return new CollectionsError(
    "service-busy",
    `Too many requests are waiting already. Try again in ${retryAfterSeconds} seconds.`,
    { retryAfterSeconds },
  );
}

/** 503: a background job reads the collection, and continues. */
export function collectionNotReady(
  collection: string,
  retryAfterSeconds: number,
): CollectionsError {
  return new CollectionsError(
    "collection-not-ready",
    `The files of "${collection}" are still being read. Send the request again in ${retryAfterSeconds} seconds.`,
    { retryAfterSeconds },
  );
}

/** 429: this client caused too many cache misses; cached answers are still sent. */
export function tooManyRequests(retryAfterSeconds: number): CollectionsError {
  return new CollectionsError(
    "too-many-requests",
    `Your address sent too many requests whose answers are not in the cache. Try again in ${retryAfterSeconds} seconds.`,
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

/** 404 for an address where there is nothing. */
export function routeNotFound(): CollectionsError {
  return new CollectionsError(
    "route-not-found",
    "There is nothing at this address. The two operations are /api/list-collection-items and /api/get-item-content.",
  );
}

/** 405 for a method that the address does not have. */
export function methodNotAllowed(
  method: string,
  allowed: readonly string[],
): CollectionsError {
  return new CollectionsError(
    "method-not-allowed",
    `This address takes ${allowed.join(", ")}, and not ${method.slice(0, 20)}.`,
  );
}

/** 401 for a webhook delivery that is not signed with the secret. */
export function signatureInvalid(): CollectionsError {
  return new CollectionsError(
    "signature-invalid",
    "The delivery has no valid X-Hub-Signature-256. Compare the webhook's secret with GITHUB_WEBHOOK_SECRET.",
  );
}

/** 413 for a webhook delivery over the bound. */
export function bodyTooLarge(maxBytes: number): CollectionsError {
  return new CollectionsError("body-too-large", `The body has more than ${maxBytes} bytes.`, {
    maxBytes,
  });
}

/** 500: a fault of this service. The response has the request id and nothing else. */
export function internalError(requestId: string): CollectionsError {
  return new CollectionsError(
    "internal-error",
    `Something went wrong in this service. Tell its operator the request id ${requestId}.`,
  );
}
