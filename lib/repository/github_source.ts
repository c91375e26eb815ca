// What the parts that read from one GitHub host share.

import type { GitHubClient } from "./github_client.ts";
import type { TokenPool } from "./github_tokens.ts";

/** A GitHub host and how it is asked. Addresses have no slash at the end. */
export interface GitHubSource {
  readonly client: GitHubClient;
  readonly tokens: TokenPool;
  readonly apiUrl: string;
  readonly graphqlUrl: string;
  readonly rawUrl: string | null;
  readonly webUrl: string | null;
  /**
   * Whether the operator allowed owner and repo by name. Then private ones are served too, and 40 hex digits name no
   * commit, since in a network of forks such an id may be anybody's.
   */
  readonly allowedByName: boolean;
  readonly now: () => number;
  /** For how long an answer to a ref question may be given again. */
  readonly freshMs: number;
}
