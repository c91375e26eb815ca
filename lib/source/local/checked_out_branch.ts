// Finds the Git directory and the branch of a local folder in Git's own files
// (gitrepository-layout). Git is not run.

import { join, resolve } from "@std/path";
import { checkedPath, readChecked } from "./checked_file.ts";

const MAX_BYTES = 4096;
/** A configuration names every branch that is tracked. */
const MAX_CONFIG_BYTES = 1 << 16;

/**
 * Returns the branch that is checked out in a folder, or the commit id if HEAD
 * is detached. Returns `main` if the folder is not a Git checkout or its HEAD
 * may not be read. Never throws.
 */
export async function checkedOutBranch(folder: string): Promise<string> {
  const dir = await gitDirOf(folder);
  const head = dir === null ? "" : await readShort(join(dir, "HEAD")) ?? "";
  // A reftable repository has its HEAD elsewhere and puts the name `.invalid`
  // here. Git forbids the other characters too.
  const branch = /^ref: refs\/heads\/((?!\.)[^\s\p{Cc}~^:?*[\\]+)$/u.exec(head)
    ?.[1];
  return branch ?? /^([0-9a-f]{40}|[0-9a-f]{64})$/.exec(head)?.[0] ?? "main";
}

/**
 * Returns the Git directory of a folder that is a checkout of its own, or null.
 * A linked worktree or a submodule has a file that names the directory. That
 * directory must name the folder too. Otherwise the folder's author could show
 * another repository. Never throws.
 */
export async function gitDirOf(folder: string): Promise<string | null> {
  const git = join(folder, ".git");
  try {
    if ((await Deno.lstat(git)).isDirectory) return git;
    const [, named] = /^gitdir: (.+)$/.exec(await readShort(git) ?? "")!;
    const dir = resolve(folder, named!);
    const config = await readShort(join(dir, "config"), MAX_CONFIG_BYTES) ?? "";
    // Git quotes a path with "#" or ";".
    const [, worktree] = /^[ \t]*worktree = "?(.+?)"?$/m.exec(config) ?? [];
    const owner = worktree === undefined
      ? await readShort(join(dir, "gitdir"))
      : join(worktree, ".git");
    const isOwn = await Deno.realPath(resolve(dir, owner!)) ===
      await Deno.realPath(git);
    return isOwn ? dir : null;
  } catch {
    return null;
  }
}

/**
 * Does not read a HEAD that is a link. Its target may be anything and
 * hexadecimal digits may be a secret.
 */
async function readShort(
  path: string,
  maxBytes = MAX_BYTES,
): Promise<string | null> {
  try {
    const found = await Deno.lstat(path);
    if (!found.isFile || found.size > maxBytes) return null;
    const content = await readChecked(await checkedPath(path), found);
    return content &&
      new TextDecoder().decode(content.bytes).replace(/\r?\n$/, "");
  } catch {
    return null;
  }
}
