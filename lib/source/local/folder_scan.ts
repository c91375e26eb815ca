// One scan of a local folder: which files there are, with Git's ids for them and for their folders, and which branch is
// checked out. Only what may be served is listed: no name that begins with a dot, no `node_modules`, no device; links
// are never followed, and Git is never run.

import { basename, isAbsolute, join } from "@std/path";
import pLimit from "p-limit";
import { CollectionsError } from "../../errors.ts";
import { blobHash, blobId, type GitMode, inGitOrder, treeId } from "../git_object_id.ts";
import type { FileList } from "../file_list.ts";
import type { TreeEntry } from "../tree_entries.ts";

const READ_AT_ONCE = 16;
/** A file may change again within the resolution of its times, which is two seconds where it is coarsest. */
const SETTLED_AFTER_MS = 2_000;

/** A file, or a symbolic link, whose id is that of its target's path, as in Git. */
interface ScannedFile extends TreeEntry {
  readonly kind: "file" | "symbolic link";
  readonly mode: GitMode;
  /** Size, times, inode and mode before it was read. While they stand, so does its id; "" has it read again. */
  stamp: string;
}

/** A folder, its entries in Git's order. One without files does not exist, as in Git. */
export interface ScannedFolder extends TreeEntry {
  readonly kind: "folder";
  readonly mode: "40000";
  readonly entries: readonly (ScannedFile | ScannedFolder)[];
  /** How many names in it are not UTF-8; they are not among the entries. */
  readonly omitted: number;
  /** Every file below it, once that was requested. */
  list?: FileList;
}

export interface FolderState {
  readonly root: ScannedFolder;
  /** By tree id. */
  readonly folders: ReadonlyMap<string, ScannedFolder>;
  /** Files and links, by path from the root. */
  readonly files: ReadonlyMap<string, ScannedFile>;
}

/** Whether a path segment is served at all. */
export const isServedName = (name: string) => !name.startsWith(".") && name !== "node_modules";

/**
 * Scans the folder at `path`. `previous` is the result of the last scan; it is returned again where nothing changed. A
 * file that may not be read, or is deleted before it is read, is left out; any other failure fails the scan, since a
 * short list would be a wrong answer. `now` gives ms since the epoch.
 * @throws {CollectionsError} collection-too-large past `maxEntries` files and folders.
 * @throws {Deno.errors.NotFound} where there is no such folder or it is a link, and whatever else reading it gives.
 */
export async function scanFolder(
  path: string,
  previous: FolderState | null,
  { maxEntries, now }: { readonly maxEntries: number; readonly now: () => number },
): Promise<FolderState> {
  if (!(await Deno.lstat(path)).isDirectory) {
    throw new Deno.errors.NotFound(`Cannot scan "${path}": it is not a folder`);
  }
  const startedAtMs = now();
  const limit = pLimit(READ_AT_ONCE);
  const folders = new Map<string, ScannedFolder>();
  const files = new Map<string, ScannedFile>();
  let count = 0;

  /** The folder at a path from the root that is empty or ends in a slash. */
  const scan = async (folderPath: string, name: string): Promise<ScannedFolder> => {
    const fileNames: string[] = [];
    const folderNames: string[] = [];
    let omitted = 0;
    for await (const entry of Deno.readDir(join(path, folderPath))) {
      if (!isServedName(entry.name)) continue;
      // Deno shows a name that is not UTF-8 with this character, and opens no file by it.
      if (entry.name.includes("\ufffd")) omitted++;
      else if (entry.isDirectory) folderNames.push(entry.name);
      else if (entry.isFile || entry.isSymlink) fileNames.push(entry.name);
      else continue;
      if (++count > maxEntries) {
        const what = `The folder "${basename(path)}" cannot be served`;
        const why = `it holds more than ${maxEntries} files and folders`;
        throw new CollectionsError("collection-too-large", `${what}: ${why}.`);
      }
    }
    const found: (ScannedFile | ScannedFolder)[] = [];
    for (const name of folderNames) {
      const below = await nullIfMissing(scan(`${folderPath}${name}/`, name));
      if (below !== null && below.entries.length > 0) found.push(below);
      else omitted += below?.omitted ?? 0;
    }
    const read = await limit.map(fileNames, async (name) => {
      const previousFile = previous?.files.get(folderPath + name);
      const file = await scanFile(join(path, folderPath, name), name, startedAtMs, previousFile);
      if (file !== null) files.set(folderPath + name, file);
      return file;
    });
    found.push(...read.filter((file) => file !== null));
    const entries = inGitOrder(found);
    const id = treeId(entries);
    const folder = { name, kind: "folder", mode: "40000", id, size: 0, entries, omitted } as const;
    folders.set(id, folder);
    return folder;
  };

  const root = await scan("", "");
  const isUnchanged = previous !== null && files.size === previous.files.size &&
    [...files].every(([path, file]) => previous.files.get(path) === file) &&
    [...folders].every(([id, { omitted }]) => previous.folders.get(id)?.omitted === omitted);
  return isUnchanged ? previous : { root, folders, files };
}

/** Reads a file or link, or reuses its previous entry. Null where it is deleted or may not be read. */
async function scanFile(
  path: string,
  name: string,
  startedAtMs: number,
  previous: ScannedFile | undefined,
): Promise<ScannedFile | null> {
  const info = await nullIfMissing(Deno.lstat(path));
  if (info === null || !(info.isFile || info.isSymlink)) return null;
  const { size, mtime, ctime, ino, mode } = info;
  // The change time cannot be set back, as the modification time can; not every file system has it.
  const changedAtMs = (ctime ?? mtime)?.getTime() ?? Infinity;
  const isSettled = changedAtMs + SETTLED_AFTER_MS <= startedAtMs;
  const stamp = isSettled ? [size, mtime?.getTime(), ctime?.getTime(), ino, mode].join() : "";
  if (previous !== undefined && stamp !== "" && previous.stamp === stamp) return previous;
  const id = await nullIfMissing(hash(path, info));
  if (id === null) return null;
  if (info.isSymlink) return { name, kind: "symbolic link", mode: "120000", id, size: 0, stamp };
  return { name, kind: "file", mode: (mode ?? 0) & 0o100 ? "100755" : "100644", id, size, stamp };
}

/** The bytes that a scanned file has by its id; null where the file at `path` has other bytes by now, or is deleted. */
export async function readScannedFile(
  path: string,
  file: ScannedFile,
): Promise<Uint8Array<ArrayBuffer> | null> {
  // Checked first, so that a read never waits for a pipe and a file that grew is not read into memory.
  const info = await nullIfMissing(Deno.lstat(path));
  const isCandidate = info?.isFile && info.size === file.size;
  const bytes = isCandidate ? await nullIfMissing(Deno.readFile(path)) : null;
  if (bytes !== null && blobId(bytes) === file.id) return bytes;
  file.stamp = "";
  return null;
}

/** How a file fails that is deleted or may not be read; InvalidData: a link whose target is not UTF-8. */
const MISSING = /^(NotFound|PermissionDenied|NotCapable|NotADirectory|IsADirectory|InvalidData)$/;

async function nullIfMissing<T>(read: Promise<T>): Promise<T | null> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof Error && MISSING.test(error.name)) return null;
    throw error;
  }
}

/** The blob id of a file or link. It is no content's where the file changes meanwhile; the next scan reads that again. */
async function hash(path: string, { isSymlink, size }: Deno.FileInfo): Promise<string> {
  if (isSymlink) return blobId(new TextEncoder().encode(await Deno.readLink(path)));
  const hash = blobHash(size);
  const { readable } = await Deno.open(path);
  for await (const chunk of readable) hash.update(chunk);
  return hash.digest("hex");
}

/**
 * The branch that is checked out in a folder, by Git's own files (gitrepository-layout), or the commit id where HEAD is
 * detached; `main` for a folder that is no Git checkout or whose HEAD may not be read.
 */
export async function checkedOutBranch(folder: string): Promise<string> {
  // A linked worktree, or a repository with a separate Git directory, has a file that says where it is.
  const file = await readShort(join(folder, ".git"));
  const dir = /^gitdir: (.+)$/.exec(file ?? "")?.[1] ?? ".git";
  const head = await readShort(join(isAbsolute(dir) ? dir : join(folder, dir), "HEAD")) ?? "";
  // A reftable repository has its HEAD elsewhere and puts the name `.invalid` here.
  const branch = /^ref: refs\/heads\/([^\s.]\S*)$/.exec(head)?.[1];
  return branch ?? /^([0-9a-f]{40}|[0-9a-f]{64})$/.exec(head)?.[0] ?? "main";
}

async function readShort(path: string): Promise<string | null> {
  // Checked first, since reading a path without permission would prompt on a terminal.
  const { state } = await Deno.permissions.query({ name: "read", path });
  if (state !== "granted") return null;
  try {
    const { isFile, size } = await Deno.stat(path);
    if (!isFile || size > 4096) return null;
    return (await Deno.readTextFile(path)).replace(/\r?\n$/, "");
  } catch {
    return null;
  }
}
