// Finds the branch of a local folder in Git's own files (gitrepository-layout).
// Git is not run.

import { isAbsolute, join } from "@std/path";
import { checkedPath, readChecked } from "./checked_file.ts";

const MAX_BYTES = 4096;

/**
 * Returns the branch that is checked out in a folder, or the commit id if HEAD
 * is detached. Returns `main` if the folder is not a Git checkout or its HEAD
 * may not be read. Never throws.
 */
export async function checkedOutBranch(folder: string): Promise<string> {
  // A linked worktree or a repository with a separate Git directory has a file
  // that names the directory.
  const file = await readShort(join(folder, ".git"));
  const dir = /^gitdir: (.+)$/.exec(file ?? "")?.[1] ?? ".git";
  const head =
    await readShort(join(isAbsolute(dir) ? dir : join(folder, dir), "HEAD")) ??
      "";
  // A reftable repository has its HEAD elsewhere and puts the name `.invalid`
  // here.
  const branch = /^ref: refs\/heads\/([^\s.]\S*)$/.exec(head)?.[1];
  return branch ?? /^([0-9a-f]{40}|[0-9a-f]{64})$/.exec(head)?.[0] ?? "main";
}

/**
 * Does not read a HEAD that is a link. Its target may be anything and
 * hexadecimal digits may be a secret.
 */
async function readShort(path: string): Promise<string | null> {
  try {
    const found = await Deno.lstat(path);
    if (!found.isFile || found.size > MAX_BYTES) return null;
    const content = await readChecked(await checkedPath(path), found);
    return content &&
      new TextDecoder().decode(content.bytes).replace(/\r?\n$/, "");
  } catch {
    return null;
  }
}
