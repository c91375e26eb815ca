// How a ref is called in every cache of this process.

import { repositoryKey, type RepositoryName } from "./repository.ts";

/** A ref by its names. */
export type RefName = RepositoryName & { readonly branch: string };

/** The key of a ref. */
export function refKey(ref: RefName): string {
  return `${repositoryKey(ref)}\n${ref.branch}`;
}
