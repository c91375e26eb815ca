// What each problem means and what to do about it, for a person who followed a problem's `type` here. One text a code.

import type { ProblemCode } from "./problem.ts";

/** The explanation of one code; `todo` is addressed to who sent the request. */
export interface ProblemText {
  readonly meaning: string;
  readonly todo: readonly string[];
}

/** By code. Backquotes set code. */
export const PROBLEM_TEXTS: Readonly<Record<ProblemCode, ProblemText>> = {
  "invalid-parameters": {
    meaning:
      "A parameter is missing, given twice, malformed or outside its limits. Nothing was asked of the repository.",
    todo: [
      "Read `errors`: it names every bad parameter at once, each with what it must be.",
      "Encode values for a URL: a plus is `%2B`, a slash may stay as it is.",
    ],
  },
  "repository-not-allowed": {
    meaning: "This deployment serves only the repositories that its operator named.",
    todo: [
      "Ask the operator to add the repository to `ALLOWED_REPOS`, or run a service of your own.",
    ],
  },
  "repository-not-found": {
    meaning:
      "There is no such repository, or it is private. Both get the same answer, so that nothing private can be guessed.",
    todo: [
      "Check the spelling of `owner` and `repo`.",
      "Check that everyone may see the repository.",
    ],
  },
  "branch-not-found": {
    meaning: "The repository has neither a branch nor a tag of that name, and it is no commit id.",
    todo: [
      "See `detail`: it names the default branch.",
      "Use `branch=HEAD` for the default branch, whatever its name.",
    ],
  },
  "collection-not-found": {
    meaning:
      "No folder has that path or name, neither at the root nor where collections usually are, such as `content/` or `src/content/`.",
    todo: [
      "See `suggestions`: each works as `collection`.",
      "Give the whole path from the root, such as `src/content/posts`, or `/` for all of the repository.",
      "A single file is read with `get-item-content`.",
    ],
  },
  "item-not-found": {
    meaning:
      "There is no file at that path on that branch: nothing, a folder, a link or a submodule.",
    todo: [
      "Check the path from the repository's root, upper and lower case too.",
      "Take `path` or `contentUrl` from a list of items instead of putting paths together.",
    ],
  },
  "route-not-found": {
    meaning: "The service has nothing at this address.",
    todo: ["The operations are `/api/list-collection-items` and `/api/get-item-content`."],
  },
  "method-not-allowed": {
    meaning: "The service only reads.",
    todo: ["Use `GET`, `HEAD` or `OPTIONS`."],
  },
  "repository-empty": {
    meaning: "The repository is there, but it has no commit yet.",
    todo: ["Push a first commit, and ask again."],
  },
  "item-too-large": {
    meaning:
      "The file is larger than this deployment reads. `size` and `maxBytes` say by how much.",
    todo: [
      "Take the file from its host: `htmlUrl` leads to it.",
      "The operator can raise `MAX_ITEM_MB`.",
    ],
  },
  "collection-too-large": {
    meaning:
      "The folder has more files than can be listed truthfully. A short list would look like a complete one, so there is none.",
    todo: ["Ask for one of its sub-folders."],
  },
  "too-many-requests": {
    meaning:
      "Your address asked for too much that was not in the cache. Answers that are kept are never limited.",
    todo: [
      "Wait as long as `Retry-After` says.",
      "Ask for the same addresses again rather than for new ones; a page of 100 items costs as little as one of 10.",
    ],
  },
  "repository-blocked": {
    meaning: "The host of the repository blocks it for legal reasons.",
    todo: ["There is nothing that this service can do about it; its host tells more."],
  },
  "internal-error": {
    meaning: "Something went wrong in this service, and it is not your request's fault.",
    todo: ["Tell the operator the `requestId`: the log has the details under it."],
  },
  "source-failed": {
    meaning:
      "The host of the repository answered with an error, or with something that is no answer.",
    todo: ["Try again in a minute.", "See whether the host reports trouble."],
  },
  "source-rate-limited": {
    meaning: "The quota that the repository's host grants to this service is spent.",
    todo: [
      "Wait as long as `Retry-After` says.",
      "The operator can add a `GITHUB_TOKEN`: it raises GitHub's quota from 60 to 5,000 requests an hour.",
    ],
  },
  "service-busy": {
    meaning: "More requests wait for the repository's host than can be answered soon.",
    todo: ["Wait as long as `Retry-After` says, and ask again."],
  },
  "collection-not-ready": {
    meaning: "The files of this collection are still being read; that goes on without you.",
    todo: ["Ask again after `Retry-After`: what was read until then is kept."],
  },
  "source-timeout": {
    meaning: "The host of the repository did not answer in time.",
    todo: ["Try again in a minute.", "The operator can raise `SOURCE_TIMEOUT_MS`."],
  },
};
