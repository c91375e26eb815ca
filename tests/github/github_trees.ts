// GET /repos/{owner}/{repo}/git/trees/{tree}: one level, or everything below, in Git's order and
// cut off at the settable limits. https://docs.github.com/rest/git/trees

import type { GitObjects } from "./git_objects.ts";

/** One entry as GitHub lists it; only blobs have a `size`, submodules have no `url`. */
export interface GithubTreeEntry {
  path: string;
  mode: string;
  type: string;
  sha: string;
  size?: number;
  url?: string;
}

/** The body of a tree. */
export interface GithubTree {
  sha: string;
  url: string;
  tree: GithubTreeEntry[];
  truncated: boolean;
}

interface Walk {
  objects: GitObjects;
  url: string;
  recursive: boolean;
  maxEntries: number;
  maxBytes: number;
  entries: GithubTreeEntry[];
  bytes: number;
}

/** The tree of that id; `url` is the API's address of the repository's Git data. */
export async function githubTree(
  oid: string,
  options: Pick<Walk, "objects" | "url" | "recursive" | "maxEntries" | "maxBytes">,
): Promise<GithubTree> {
  const walk: Walk = { ...options, entries: [], bytes: 2 };
  const complete = await visit(walk, oid, "");
  return {
    sha: oid,
    url: `${options.url}/trees/${oid}`,
    tree: walk.entries,
    truncated: !complete,
  };
}

async function visit(walk: Walk, oid: string, prefix: string): Promise<boolean> {
  for (const entry of await walk.objects.tree(oid) ?? []) {
    const listed: GithubTreeEntry = {
      path: prefix + entry.name,
      mode: entry.mode,
      type: entry.type,
      sha: entry.oid,
    };
    if (entry.size !== null) listed.size = entry.size;
    if (entry.type !== "commit") listed.url = `${walk.url}/${entry.type}s/${entry.oid}`;
    if (walk.recursive) {
      // Counts characters for bytes, and the comma: near enough for a limit.
      walk.bytes += JSON.stringify(listed).length + 1;
      if (walk.entries.length >= walk.maxEntries || walk.bytes > walk.maxBytes) return false;
    }
    walk.entries.push(listed);
    if (walk.recursive && entry.type === "tree") {
      if (!await visit(walk, entry.oid, `${listed.path}/`)) return false;
    }
  }
  return true;
}
