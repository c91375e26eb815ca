// What the GitHub double knows and how it is set to behave. The endpoints read this and nothing
// else; a test changes the public fields at any time.

import { GithubAccounts } from "./github_accounts.ts";
import { GithubLog } from "./github_log.ts";
import { GithubRegistry } from "./github_registry.ts";

/** Settings, repositories, accounts and log of one double. */
export class GithubState {
  /** The clock, in Unix milliseconds. */
  readonly now: () => number;
  /** The repositories and their names. */
  readonly registry = new GithubRegistry();
  /** The tokens and everyone's quota. */
  readonly accounts: GithubAccounts;
  /** Every request that came in. */
  readonly log = new GithubLog();

  /** Entries after which a recursive tree is truncated. */
  truncateAt = 100_000;
  /** Bytes of the `tree` array's JSON after which a recursive tree is truncated. */
  truncateBytes = 7_000_000;
  /** Size over which the blobs API refuses a blob. */
  maxBlobBytes = 100_000_000;
  /** Status of a commit question about a ref that does not exist. */
  missingRefStatus: 422 | 404 = 422;
  /** Status of an answer that says that the quota is spent. */
  quotaStatus: 403 | 429 = 403;
  /** Whether `git/trees/{ref}:{path}` works, as it does, undocumented, at GitHub. */
  treeByPath = false;
  /** Time that every answer takes, in real milliseconds. */
  latencyMs = 0;

  /** Base URL of the REST API, without a slash at its end. */
  apiUrl = "";
  /** Base URL of the raw host. */
  rawUrl = "";

  constructor(options: { now?: () => number } = {}) {
    this.now = options.now ?? Date.now;
    this.accounts = new GithubAccounts(this.now);
  }

  /** URL of the GraphQL endpoint. */
  get graphqlUrl(): string {
    return `${this.apiUrl}/graphql`;
  }
}
