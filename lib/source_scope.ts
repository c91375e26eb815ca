// What a store was filled from. It may outlive a change of settings, and must not show then what is not served any more:
// repositories that were allowed by name, or those of another host.

import { createHash } from "node:crypto";
import type { Config } from "./settings.ts";

/** A short text, the same for all processes that serve the same repositories of the same host. */
export function sourceScope({ github, allowedRepos }: Config): string {
  const served = allowedRepos === null ? "public" : "named";
  return createHash("sha256").update(`${served} at ${github.apiUrl}`).digest("hex").slice(0, 12);
}
