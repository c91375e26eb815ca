// The list of repositories that a deployment serves, where its operator set one.

import type { RepositoryName } from "./source/source.ts";

/** Names in lower case: `owner/repo`, or `owner/*` for all of an owner's. */
export type AllowedRepos = ReadonlySet<string>;

/** The list that a comma-separated text names, or null where an entry of it has neither form. */
export function parseAllowedRepos(text: string): AllowedRepos | null {
  const entries = text.split(",").map((entry) => entry.trim().toLowerCase()).filter(Boolean);
  const isUsable = entries.length > 0 &&
    entries.every((entry) => /^[a-z0-9_-]+\/(\*|[a-z0-9._-]+)$/.test(entry));
  return isUsable ? new Set(entries) : null;
}

/** Whether a repository is served; null allows all. */
export function isAllowed(allowed: AllowedRepos | null, { owner, repo }: RepositoryName): boolean {
  if (allowed === null) return true;
  return allowed.has(`${owner}/${repo}`.toLowerCase()) || allowed.has(`${owner}/*`.toLowerCase());
}
