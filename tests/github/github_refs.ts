// Resolves what GitHub accepts as a ref to a commit id: `heads/X`, `tags/X`, a plain branch or tag,
// a commit id, whole or short, and HEAD. Nothing else of Git's revision syntax gets through.

import type { GitObjects } from "./git_objects.ts";

const forbidden = /[\p{Cc}\p{Cs} ~^:?*[\\]|\.\.|@\{|^-|^$/u;

/** The id of the commit that a ref names, annotated tags followed, or null. */
export async function resolveCommit(
  objects: GitObjects,
  options: { ref: string; defaultBranch: string },
): Promise<string | null> {
  const { ref, defaultBranch } = options;
  if (forbidden.test(ref)) return null;
  for (const name of candidates(ref, defaultBranch)) {
    const info = await objects.info(`${name}^{commit}`);
    if (info?.type === "commit") return info.oid;
  }
  return null;
}

function candidates(ref: string, defaultBranch: string): string[] {
  if (/^[0-9a-f]{40}$/.test(ref)) return [ref];
  if (ref === "HEAD") return [`refs/heads/${defaultBranch}`];
  const names = [`refs/heads/${ref}`, `refs/tags/${ref}`];
  if (/^(heads|tags)\//.test(ref)) names.unshift(`refs/${ref}`);
  if (ref.startsWith("refs/")) names.unshift(ref);
  if (/^[0-9a-f]{4,39}$/.test(ref)) names.push(ref);
  return names;
}
