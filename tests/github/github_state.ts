// What the GitHub double knows and how it is set to behave. The endpoints read this and nothing
// else; a test changes the public fields at any time.

import { GithubAccounts } from "./github_accounts.ts";
import type { Fault, FaultChooser } from "./github_faults.ts";
import { GithubLog, type LoggedRequest } from "./github_log.ts";
import { GithubPauses } from "./github_pauses.ts";
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
  /** Whatever waits at the moment. */
  readonly pauses = new GithubPauses(() => this.log.notify());

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
  /** Status when the GraphQL quota is spent: 200 with `errors`, or that of `quotaStatus`. */
  graphqlQuotaStatus: 200 | 403 = 200;
  /** Bytes of all blobs in one query over which GraphQL answers 502. */
  graphqlMaxBytes = Infinity;
  /** Objects in one query after which GraphQL gives null and an error for the rest. */
  graphqlMaxObjects = Infinity;
  /** Whether GraphQL's `text` loses a byte order mark. */
  graphqlStripsBom = false;
  /** Time that every answer takes, in real milliseconds. */
  latencyMs = 0;

  /** What goes wrong with every request that it concerns. */
  fault: Fault | null = null;
  /** Answers in place of the double, where it gives a response. */
  intercept:
    | ((request: Request, logged: LoggedRequest) => Response | null | Promise<Response | null>)
    | null = null;
  #chooseFault: FaultChooser | null = null;

  /** Base URL of the REST API, without a slash at its end. */
  apiUrl = "";
  /** Base URL of the raw host. */
  rawUrl = "";

  constructor(options: { now?: () => number } = {}) {
    this.now = options.now ?? Date.now;
    this.accounts = new GithubAccounts(this.now);
  }

  /** Chooses a fault for each request; it comes before {@linkcode fault}. Null takes it back. */
  faultWhen(choose: FaultChooser | null): void {
    this.#chooseFault = choose;
  }

  /** The fault that a request meets, or null. */
  faultFor(logged: LoggedRequest, request: Request): Fault | null {
    const { fault } = this;
    const concerns = !fault?.only || fault.only.includes(logged.kind);
    return this.#chooseFault?.(logged, request) ?? (concerns ? fault : null);
  }

  /** The requests since the counting last began. */
  get requests(): LoggedRequest[] {
    return this.log.requests;
  }

  /** Unexpected requests, a line each. */
  get unexpected(): string[] {
    return this.log.unexpected;
  }

  /** The most requests that were under way at once. */
  get maxConcurrent(): number {
    return this.log.maxConcurrent;
  }

  /** URL of the GraphQL endpoint. */
  get graphqlUrl(): string {
    return `${this.apiUrl}/graphql`;
  }
}
