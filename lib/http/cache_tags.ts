// Tags of data responses by which a cache in front purges them. Sent as
// `Cache-Tag` (Cloudflare) and `Surrogate-Key` (Fastly; Varnish as `xkey`).

import { createHash } from "node:crypto";
import { type RefName, repositoryKey } from "../source/source.ts";

/** The tag of every data response. */
export const ALL_TAG = "repo-collections";

/**
 * Returns the tag of everything from one ref. The digest keeps it short and in
 * ASCII. A query without a branch has the tag of the default one.
 *
 * @example
 * ```ts
 * import { equal } from "node:assert/strict";
 *
 * const ref = { owner: "Octo", repo: "site", branch: "main" };
 * equal(refTag(ref), "octo/site@0d6e4079e36703eb");
 * ```
 */
export function refTag(ref: RefName): string {
  const digest = createHash("sha256").update(ref.branch).digest("hex");
  return `${repositoryKey(ref)}@${digest.slice(0, 16)}`;
}

/**
 * Returns the headers that carry all tags of a response. The tag of everything
 * from a repository is its key.
 */
export function tagHeaders(ref: RefName) {
  const tags = [ALL_TAG, repositoryKey(ref), refTag(ref)];
  return { "cache-tag": tags.join(","), "surrogate-key": tags.join(" ") };
}
