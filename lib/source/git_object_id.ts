// The ids that Git gives to contents: SHA-1 over a short header and the content (git-hash-object, gitformat-pack).
// An id computed here is the one that Git and GitHub give for the same bytes, so that either can check the other.

import { Buffer } from "node:buffer";
import { createHash, type Hash } from "node:crypto";

/** The mode of a tree entry, as a tree object spells it. */
export type GitMode = "100644" | "100755" | "120000" | "40000" | "160000";

/** One entry of a tree object: a single path segment, and the id of what it names in 40 hex digits. */
export interface TreeObjectEntry {
  readonly name: string;
  readonly mode: GitMode;
  readonly id: string;
}

/** The blob id of a file's bytes, 40 hex digits. */
export function blobId(bytes: Uint8Array): string {
  return blobHash(bytes.length).update(bytes).digest("hex");
}

/**
 * A hash that gives a blob id with `digest("hex")` once it was fed all of a file's bytes, `size` of them; for
 * files that do not fit into memory whole.
 */
export function blobHash(size: number): Hash {
  return createHash("sha1").update(`blob ${size}\0`);
}

/** The id of the tree object with these entries, given in any order, 40 hex digits. */
export function treeId(entries: readonly TreeObjectEntry[]): string {
  const content = Buffer.concat(
    inGitOrder(entries).flatMap(({ mode, name, id }) => [
      Buffer.from(`${mode} ${name}\0`),
      Buffer.from(id, "hex"),
    ]),
  );
  return createHash("sha1").update(`tree ${content.length}\0`).update(content).digest("hex");
}

/** Entries in the order of a tree object: by the bytes of their names, a folder's taken as if it ended in a slash. */
export function inGitOrder<T extends { readonly name: string; readonly mode: GitMode }>(
  entries: readonly T[],
): T[] {
  return entries
    .map((entry) => ({ entry, key: Buffer.from(sortName(entry)) }))
    .sort((a, b) => Buffer.compare(a.key, b.key))
    .map(({ entry }) => entry);
}

function sortName(entry: { readonly name: string; readonly mode: GitMode }): string {
  return entry.mode === "40000" ? `${entry.name}/` : entry.name;
}
