// Which branch a local folder is at, read from Git's own files (gitrepository-layout). Git is never run, and only a
// `.git` that is directly in the folder counts; one that cannot be read makes it a plain folder.

import { isAbsolute, join } from "@std/path";

/** The branch of a plain folder. */
const PLAIN_BRANCH = "main";

const MAX_BYTES = 4096;
const LINE_END = /\r?\n$/;

/**
 * The branch that is checked out in a folder, the commit id where HEAD is detached, or {@linkcode PLAIN_BRANCH}
 * for a folder that is no Git checkout or whose HEAD may not be read.
 */
export async function checkedOutBranch(folder: string): Promise<string> {
  const head = await readHead(join(folder, ".git"), folder);
  const branch = head === null ? null : /^ref: refs\/heads\/([^\s]+)$/.exec(head)?.[1];
  // A reftable repository has its HEAD elsewhere and puts the name `.invalid` here.
  if (branch && !branch.startsWith(".")) return branch;
  return head !== null && /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(head) ? head : PLAIN_BRANCH;
}

async function readHead(git: string, folder: string): Promise<string | null> {
  const info = await Deno.lstat(git).catch(() => null);
  if (info?.isDirectory) return await readShort(join(git, "HEAD"));
  // A linked worktree, or a repository with a separate Git directory, has a file that says where it is.
  const target = info?.isFile ? (await readShort(git))?.match(/^gitdir: (.+)$/)?.[1] : undefined;
  if (target === undefined) return null;
  return await readShort(join(isAbsolute(target) ? target : join(folder, target), "HEAD"));
}

async function readShort(path: string): Promise<string | null> {
  // Checked first, since reading a path without permission would prompt on a terminal.
  const { state } = await Deno.permissions.query({ name: "read", path });
  if (state !== "granted") return null;
  try {
    const { isFile, size } = await Deno.stat(path);
    if (!isFile || size > MAX_BYTES) return null;
    return (await Deno.readTextFile(path)).replace(LINE_END, "");
  } catch {
    return null;
  }
}
