// How a repository and a ref are called in every cache: names of owners and repositories compare without case.

import type { RepositoryName } from "./repository.ts";

/** A ref by its names. */
export type RefName = RepositoryName & { readonly branch: string };

/** The key of a repository. */
export function repositoryKey(name: RepositoryName): string {
  return `${name.owner}/${name.repo}`.toLowerCase();
}

/** The key of a ref in this process. */
export function refKey(ref: RefName): string {
  return `${repositoryKey(ref)}\n${ref.branch}`;
}
