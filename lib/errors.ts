// Every error that a response can contain is in one table. Problem responses,
// the pages under /problems, the OpenAPI document and the README use it. Only
// `detail` and `facts` of an error reach a client. `message` is for the log.

/**
 * Every code in the order of the contract's table. Each row has a status, a
 * title and the sentence of the response. Braces in the sentence mark values.
 * The other texts are for the page under /problems. They explain the code and
 * say what the client can do. Backquotes mark code.
 */
export const ERRORS = {
  "invalid-parameters": row(
    400,
    "Parameters are missing or not usable",
    "{subject} not usable: {names}.",
    "A parameter is missing, given twice, malformed or outside its " +
      "limits. The service read nothing of the repository.",
    "Read `errors`: it names every bad parameter at once, each with " +
      "what it must be.",
    "Encode values for a URL: a plus is `%2B`, a slash may stay as it is.",
  ),
  "signature-invalid": row(
    401,
    "Signature is missing or wrong",
    [
      "The delivery has no valid X-Hub-Signature-256. Compare the webhook's",
      "secret with GITHUB_WEBHOOK_SECRET.",
    ],
    "The webhook delivery is not signed with this deployment's secret.",
    "Set the same secret in the webhook's settings and in " +
      "`GITHUB_WEBHOOK_SECRET`.",
  ),
  "repository-not-allowed": row(
    403,
    "This repository is not served here",
    [
      'This deployment does not serve "{owner}/{repo}". Ask its operator to',
      "add it to ALLOWED_REPOS.",
    ],
    "This deployment serves only the repositories that its operator named.",
    "Ask the operator to add the repository to `ALLOWED_REPOS`, or run " +
      "a service of your own.",
  ),
  // Missing and private repositories get the same text.
  "repository-not-found": row(
    404,
    "Repository not found",
    [
      'There is no public repository "{owner}/{repo}" here. Check the',
      "spelling of owner and repo, and that the repository is public.",
    ],
    "There is no such repository, or it is private. Both get the same " +
      "answer, so that nothing private can be guessed.",
    "Check the spelling of `owner` and `repo`.",
    "Check that everyone may see the repository.",
  ),
  "branch-not-found": row(
    404,
    "Branch not found",
    'The repository has no branch or tag "{branch}". {hint}',
    "The repository has neither a branch nor a tag of that name, and it " +
      "is no commit id.",
    "See `detail`: it names the default branch.",
    "Use `branch=HEAD` for the default branch, whatever its name.",
  ),
  "collection-not-found": row(
    404,
    "Collection not found",
    "{state}",
    "No folder has that path or name, neither at the root nor where " +
      "collections usually are, such as `content/` or `src/content/`. Or " +
      "it is a data file without a list that can be read.",
    "See `suggestions`: each works as `collection`.",
    "Give the whole path from the root, such as `src/content/posts`, or " +
      "`/` for all of the repository.",
    "A single file is read with `get-item-content`.",
  ),
  "item-not-found": row(
    404,
    "File not found",
    "{state}",
    "There is no file at that path on that branch: nothing, a folder, a " +
      "link, a submodule, or a Git LFS pointer whose object is missing.",
    "Check the path from the repository's root, upper and lower case too.",
    "See `suggestions`: similar paths or slugs.",
    "Take `path` or `contentUrl` from a list of items instead of " +
      "putting paths together.",
  ),
  "route-not-found": row(
    404,
    "Nothing at this address",
    [
      "There is nothing at this address. The operations are those of",
      "/api/openapi.json.",
    ],
    "The service has nothing at this address.",
    "The operations are `/api/list-collections`, " +
      "`/api/list-collection-items`, `/api/get-item-content`, " +
      "`/api/list-collection-changes` and `/api/collection-types.ts`.",
  ),
  "method-not-allowed": row(
    405,
    "Method not allowed",
    "This address takes {allowed}, and not {method}.",
    "The service only reads.",
    "Use `GET`, `HEAD` or `OPTIONS`; `POST` is for the webhook alone.",
  ),
  "repository-empty": row(
    409,
    "Repository is empty",
    [
      'The repository "{owner}/{repo}" has no commit yet. Push one and send',
      "the request again.",
    ],
    "The repository exists, but it has no commit yet.",
    "Push a first commit, and send the request again.",
  ),
  "slug-ambiguous": row(
    409,
    "Several files have this slug",
    [
      '{count} files of the collection have the slug "{slug}". Read one of',
      'them with path; "paths" names {named}.',
    ],
    "Several files of the collection have that slug, and none is the " +
      "only Markdown file.",
    "See `paths`: read one of them with `path`.",
  ),
  "since-unknown": row(
    410,
    "Earlier commit is not there",
    [
      'The commit "{since}" cannot be had here, or no more. List the',
      "collection again and continue from the commit of that list.",
    ],
    "The repository has no such commit, or none that this deployment " +
      "may show. A deployment of chosen repositories shows the commits " +
      "that it has seen on their branches, and a local folder its last " +
      "two states.",
    "List the collection again.",
    "Continue with `repository.commit` of that list as `since`.",
  ),
  "body-too-large": row(
    413,
    "Body too large",
    "The body has more than {maxBytes} bytes.",
    "The webhook delivery is larger than GitHub sends.",
    "Deliveries have at most 25 MiB.",
  ),
  "item-too-large": row(
    422,
    "File too large",
    [
      '"{path}" has {size} bytes, this deployment reads files of up to',
      "{maxBytes} bytes.",
    ],
    "The file is larger than this deployment reads. `size` and " +
      "`maxBytes` say by how much.",
    "Take the file from its host: `htmlUrl` leads to it.",
    "The operator can raise `MAX_ITEM_MB`.",
  ),
  "collection-too-large": row(
    422,
    "Collection too large",
    [
      'The collection "{collection}" cannot be listed whole: {why}. Ask for',
      "one of its sub-folders, or split the file if it is one.",
    ],
    "The folder has more files than can be listed truthfully. A short " +
      "list would look like a complete one, so there is none.",
    "Ask for one of its sub-folders. Split a data file into several.",
  ),
  "query-too-expensive": row(
    422,
    "Query takes too long",
    [
      'Reading, sorting or filtering "{collection}" takes more time or memory',
      "than one request may. Use fewer or simpler filters, or a smaller",
      "collection.",
    ],
    "The work that the parameters ask for takes more time or memory than one " +
      "request may. A busy machine may be the cause. The answer is kept for " +
      "up to five minutes.",
    "Use fewer filters, with fewer stars, or fewer `facets`.",
    "Ask for one of the collection's sub-folders.",
    "Split a data file, or write it as CSV or JSON: YAML takes far more time " +
      "and memory.",
  ),
  "history-unavailable": row(
    422,
    "History is not available",
    [
      "{source} Leave out includeHistory and lastChanged, or ask the operator",
      "to {todo}.",
    ],
    "`includeHistory`, or `lastChanged` in `fields` or `sort`, was sent, but " +
      "this deployment has no token for GitHub, or the repository is a local " +
      "folder for which it may not run git.",
    "Leave out `includeHistory`, and `lastChanged` in `fields` and `sort`.",
    "The operator can set a `GITHUB_TOKEN`, and for local checkouts add " +
      "`--allow-run=git`.",
  ),
  "too-many-requests": row(
    429,
    "Too many requests",
    [
      "Your address sent too many requests whose answers are not in the",
      "cache. Try again in {retryAfterSeconds} seconds.",
    ],
    "Your address sent too many requests whose answers were not in the " +
      "cache, or has over 1,000 requests under way at once.",
    "Wait as long as `Retry-After` says.",
    "Read each response to its end, or close its connection.",
    "Send the same requests again rather than new ones; a page of 100 " +
      "items costs as little as one of 10.",
  ),
  "repository-blocked": row(
    451,
    "Repository is blocked",
    'The repository "{owner}/{repo}" is blocked by its host for legal reasons.',
    "The host of the repository blocks it for legal reasons.",
    "There is nothing that this service can do about it; its host tells more.",
  ),
  "internal-error": row(
    500,
    "Internal error",
    [
      "Something went wrong in this service. Tell its operator the request",
      "id {requestId}.",
    ],
    "Something went wrong in this service, and it is not your request's fault.",
    "Tell the operator the `requestId`: the log has the details under it.",
  ),
  "source-failed": row(
    502,
    "Source failed",
    "{source} did not give what was requested. Try again in a minute.",
    "GitHub, or another host of the repository, answered with an error, " +
      "or with something that is no answer.",
    "Try again in a minute.",
    "See whether the host reports trouble.",
  ),
  "source-rate-limited": row(
    503,
    "GitHub's quota is spent",
    "GitHub's quota is spent. Try again in {retryAfterSeconds} seconds.",
    "The quota that GitHub grants to this service is spent.",
    "Wait as long as `Retry-After` says.",
    "The operator can add a `GITHUB_TOKEN`: it raises GitHub's quota " +
      "from 60 to 5,000 requests an hour.",
  ),
  "service-busy": row(
    503,
    "Service is busy",
    [
      "The service has no room for this request now. Try again in",
      "{retryAfterSeconds} seconds.",
    ],
    "Too many requests are waiting, your address has too many jobs under " +
      "way, little memory is left, or the machine is too busy.",
    "Wait as long as `Retry-After` says, and send the request again.",
    "The operator finds the cause as `reason` in the log.",
  ),
  "collection-not-ready": row(
    503,
    "Collection is not ready",
    [
      'The files of "{collection}" are still being read. Send the request',
      "again in {retryAfterSeconds} seconds.",
    ],
    "The service is still reading the files of this collection, and " +
      "continues to do so.",
    "Send the request again after `Retry-After`: what was read until " +
      "then is cached.",
  ),
  "source-timeout": row(
    504,
    "GitHub did not answer in time",
    "GitHub did not answer in time. Try again in a minute.",
    "GitHub did not answer in time.",
    "Try again in a minute.",
    "The operator can raise `SOURCE_TIMEOUT_MS`.",
  ),
};

function row<const Detail extends string | readonly string[]>(
  status: number,
  title: string,
  detail: Detail,
  meaning: string,
  ...todo: string[]
) {
  return { status, title, detail, meaning, todo };
}

/** A code of {@linkcode ERRORS}. */
export type ProblemCode = keyof typeof ERRORS;

/** Returns whether a text is a code of {@linkcode ERRORS}. */
export function isProblemCode(text: string): text is ProblemCode {
  return Object.hasOwn(ERRORS, text);
}

/** One bad parameter of an `invalid-parameters` error. */
export interface ParameterError {
  readonly parameter: string;
  readonly message: string;
}

/** Additional fields of the problem response. */
interface ErrorFacts {
  errors?: readonly ParameterError[];
  suggestions?: readonly string[] | undefined;
  size?: number;
  maxBytes?: number;
  htmlUrl?: string;
  /** Paths of the files that have the slug. */
  paths?: readonly string[];
  /** Whole seconds after which the same request can succeed. */
  retryAfterSeconds?: number;
}

interface ErrorOptions extends ErrorFacts {
  /**
   * Text for the log: `Cannot <do> "<what>": <state>`. Defaults to `detail`.
   */
  message?: string;
  cause?: unknown;
}

/**
 * An error with a code of the contract and a public sentence. Only items of a
 * page have the code `page-too-large`.
 */
export class CollectionsError extends Error {
  override readonly name = "CollectionsError";
  readonly facts: ErrorFacts;

  constructor(
    readonly code: ProblemCode | "page-too-large",
    readonly detail: string,
    options: ErrorOptions = {},
  ) {
    const { message = detail, cause, ...facts } = options;
    super(message, cause === undefined ? undefined : { cause });
    this.facts = facts;
    dropFrames(this);
    if (cause instanceof Error) dropFrames(cause);
  }
}

/**
 * Frees what the functions of a stack use. V8 keeps it as long as the error.
 * Some errors are remembered for a day, and a list of files takes up to 80 MiB.
 * A stack that was read before cannot be freed (Deno 2.9.6).
 */
function dropFrames(error: Error): void {
  error.stack = `${error.name}: ${error.message}`;
}

/** Returns the code of an error. Returns null if it has none. */
export const codeOf = (error: unknown) =>
  error instanceof CollectionsError ? error.code : null;

/**
 * Returns whether the source could not be queried or sent no usable response.
 * Only then may an older response be sent.
 */
export function isSourceFailure(error: unknown): error is CollectionsError {
  return /^source-(failed|timeout|rate-limited)$/.test(codeOf(error) ?? "");
}

/** Maximum number of parameters or paths that an error names. */
export const MAX_NAMED = 20;
const MAX_NAME_CHARS = 80;
const MAX_PATH_CHARS = 1_000;

/** The values that a sentence of the table or its parts name. */
type Values<Text> = Text extends readonly [infer First, ...infer Others]
  ? Values<First> & Values<Others>
  : Text extends `${string}{${infer Name}}${infer After}`
    ? Record<Name, string | number> & Values<After>
  : unknown;

/** Values with these names become facts of the problem. */
const FACTS = [
  "errors",
  "suggestions",
  "size",
  "maxBytes",
  "htmlUrl",
  "paths",
  "retryAfterSeconds",
] as const;

/**
 * Returns an error with the sentence of its row. `values` fill the sentence and
 * become facts of the response.
 *
 * @example
 * ```ts
 * import { equal } from "node:assert/strict";
 *
 * const { detail, facts } = problem("too-many-requests", {
 *   retryAfterSeconds: 30,
 * });
 * equal(facts.retryAfterSeconds, 30);
 * equal(detail.endsWith("Try again in 30 seconds."), true);
 * const soon = problem("too-many-requests", { retryAfterSeconds: 1 });
 * equal(soon.detail.endsWith("Try again in 1 second."), true);
 * ```
 */
export function problem<Code extends ProblemCode>(
  code: Code,
  values: Values<typeof ERRORS[Code]["detail"]> & ErrorFacts,
  options?: Omit<ErrorOptions, keyof ErrorFacts>,
): CollectionsError {
  const texts = values as Record<string, unknown>;
  const detail = [ERRORS[code].detail].flat().join(" ").replaceAll(
    /\{(\w+)\}( seconds)?/g,
    // Only the path of the root is empty.
    (_, name, unit = "") =>
      (String(texts[name]) || "/") +
      (texts[name] === 1 ? unit.slice(0, -1) : unit),
  );
  const given = FACTS.filter((name) => texts[name] !== undefined);
  const facts = Object.fromEntries(given.map((name) => [name, texts[name]]));
  return new CollectionsError(code, detail, { ...options, ...facts });
}

/**
 * Returns an error for an unknown branch, tag or commit id. It names the
 * default branch if that is known.
 */
export function branchNotFound(branch: string, defaultBranch: string | null) {
  const hint = defaultBranch === null
    ? "Check the spelling of branch."
    : `The default branch is "${defaultBranch}".`;
  return problem("branch-not-found", { branch, hint });
}

/**
 * Returns an error for an unknown collection. `file` is the path of a file that
 * has the name of the collection. `suggestions` are at most five strings that
 * work as `collection`. `warnings` are sentences without a full stop.
 */
export function collectionNotFound(
  collection: string,
  { file, suggestions, warnings }: {
    file: string | null;
    suggestions: readonly string[];
    warnings: readonly string[];
  },
) {
  const sentences = [
    file !== null
      ? `"${file}" is a file, not a folder. ` +
        "Read it with get-item-content, or list a data file by its whole path."
      : `No folder is named "${collection}", neither at the repository's ` +
        "root nor where collections usually are.",
    ...suggestions.length > 0
      ? ["Perhaps one of the suggestions is meant."]
      : [],
    ...warnings.map((warning) => `${warning}.`),
  ];
  return problem("collection-not-found", {
    state: sentences.join(" "),
    suggestions,
  });
}

/**
 * Returns an error for a collection that cannot be listed whole. `why` is a
 * clause.
 */
export const collectionTooLarge = (collection: string, why: string) =>
  problem("collection-too-large", { collection, why });

/** Returns what a sentence shows of a path. */
export const shownPath = (path: string): string =>
  shorten(path, MAX_PATH_CHARS);

/**
 * Returns an error for a path that is not a file. `what` names what is there
 * instead, such as `folder` or `submodule`. Undefined means nothing. `outside`
 * means outside the collection. `suggestions` are similar paths.
 */
export function itemNotFound(
  path: string,
  what?: string,
  suggestions?: readonly string[],
) {
  const shown = shownPath(path);
  const texts: Readonly<Record<string, string>> = {
    nothing: `There is no file "${shown}" on this branch. Paths are ` +
      "case-sensitive and start at the repository's root.",
    folder: `"${shown}" is a folder. List it with list-collection-items.`,
    "missing object":
      `"${shown}" is a Git LFS pointer, and its object is missing. Run ` +
      "git lfs push --all, or git lfs fetch in a local folder.",
    outside: `"${shown}" is not in the folder of the collection. Leave out ` +
      "collection, or correct it.",
  };
  const state = texts[what ?? "nothing"] ??
    `"${shown}" is a ${what}; only files are served.`;
  return problem("item-not-found", { state, suggestions });
}

/**
 * Returns an error for an item whose bytes would exceed the limit of the page.
 */
export const pageTooLarge = (path: string, maxBytes: number) =>
  new CollectionsError(
    "page-too-large",
    `The content of "${shownPath(path)}" does not fit into a page of ` +
      `${maxBytes} bytes. Ask for a smaller limit or read it with ` +
      "get-item-content.",
  );

/**
 * Returns an error for a source that sent an error or no usable response.
 * `message` is for the log.
 */
export const sourceFailed = (
  message: string,
  { source = "GitHub", ...options }: { source?: string; cause?: unknown } = {},
) => problem("source-failed", { source }, { message, ...options });

/** Returns an error for a source that timed out. `message` is for the log. */
export const sourceTimeout = (message: string) =>
  problem("source-timeout", {}, { message });

/**
 * Returns an error for a used-up quota. `retryAfterSeconds` is the time until
 * the source renews it. `message` is for the log.
 */
export const sourceRateLimited = (message: string, retryAfterSeconds: number) =>
  problem("source-rate-limited", { retryAfterSeconds }, { message });

/** Sent with errors that usually clear up within seconds. */
export const RETRY_AFTER_SECONDS = 5;

/** Returns an error for what finds no room. `message` tells the log why. */
export const serviceBusy = (message: string) =>
  problem("service-busy", { retryAfterSeconds: RETRY_AFTER_SECONDS }, {
    message,
  });

/**
 * Returns an error that names every bad parameter up to {@linkcode MAX_NAMED}.
 */
export function invalidParameters(given: readonly ParameterError[]) {
  const errors = given.slice(0, MAX_NAMED)
    .map(({ parameter, message }) => ({
      parameter: shorten(parameter),
      message,
    }));
  const names = errors.map(({ parameter, message }) =>
    `${parameter} ${message}`
  );
  if (given.length > MAX_NAMED) {
    names.push(`and ${given.length - MAX_NAMED} more`);
  }
  const subject = names.length === 1
    ? "This parameter is"
    : "These parameters are";
  return problem("invalid-parameters", {
    subject,
    names: names.join("; "),
    errors,
  });
}

function shorten(name: string, maxChars = MAX_NAME_CHARS): string {
  return name.length <= maxChars
    ? name
    : `${name.slice(0, maxChars).toWellFormed()}…`;
}
