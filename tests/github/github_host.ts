// The interface of the double that its parts use, so that they need not import it whole.

import type { GithubAccounts } from "./github_accounts.ts";
import type { GithubRegistry } from "./github_registry.ts";

/** Implemented by the double. */
export interface GithubHost {
  readonly registry: GithubRegistry;
  readonly accounts: GithubAccounts;
  readonly apiUrl: string;
  readonly missingRefStatus: number;
  /** Whether `trees/{commit}:{path}` works, as at GitHub, where it is undocumented. */
  readonly takesPaths: boolean;
  readonly truncateAt: number;
  readonly truncateBytes: number;
  readonly graphqlMaxObjects: number;
  readonly graphqlMaxBytes: number;
  readonly graphqlStripsBom: boolean;
}
