// One scan of a local folder: which files there are, with Git's ids for them and for their folders. Only what may be
// served is listed: no name that begins with a dot, no `node_modules`, no device; links are never followed.

import { join } from "@std/path";
import pLimit from "p-limit";
import { blobHash, blobId, type GitMode, inGitOrder, treeId } from "../git_object_id.ts";
import type { TreeEntry } from "../source.ts";

const READ_AT_ONCE = 16;
const CHUNK_BYTES = 256 * 1024;
/** A file that changed this shortly before it was read is read again, since a later change may leave its times alone. */
const SETTLED_AFTER_MS = 2000;

/** A file, or a symbolic link, whose id is that of its target's path, as in Git. */
export interface ScannedFile extends TreeEntry {
  readonly kind: "file" | "symbolic link";
  readonly mode: GitMode;
  /** Size, times, inode and mode before it was read. While they stand, so does its id, if it is settled. */
  readonly stamp: string;
  isSettled: boolean;
}

/** A folder with something to serve in it, entries by name in Git's order. */
export interface ScannedFolder extends TreeEntry {
  readonly kind: "folder";
  readonly mode: "40000";
  readonly entries: ReadonlyMap<string, ScannedFile | ScannedFolder>;
  /** How many names in it are not UTF-8; they are not among the entries. */
  readonly omitted: number;
}

/** How a folder is scanned. */
export interface ScanOptions {
  /** Milliseconds since the epoch, by the clock of the file system. */
  readonly now: () => number;
  /** How many files and folders there may be. */
  readonly maxEntries: number;
  /** How many folders may lie in each other. */
  readonly maxDepth: number;
}

/** A folder is past the bounds of {@linkcode ScanOptions}; the message says how. */
export class FolderTooLargeError extends Error {
  override readonly name = "FolderTooLargeError";
}

/** Whether a path segment is served at all. */
export function isServedName(name: string): boolean {
  return !name.startsWith(".") && name !== "node_modules";
}

/**
 * Scans the folder at `path`. `previous` is the result of the last scan; it is returned again where nothing changed. A
 * file that may not be read, or is deleted before it is read, is left out; any other failure fails the scan, since a
 * short list would be a wrong answer.
 * @throws {FolderTooLargeError} past the bounds.
 * @throws {Deno.errors.NotFound} where there is no such folder or it is a link, and whatever else reading it gives.
 */
export async function scanFolder(
  path: string,
  previous: ScannedFolder | null,
  options: ScanOptions,
): Promise<ScannedFolder> {
  if (!(await Deno.lstat(path)).isDirectory) {
    throw new Deno.errors.NotFound(`Cannot scan "${path}": it is not a folder`);
  }
  return await new Scan(options).folder(path, { name: "", previous, depth: 0 });
}

class Scan {
  private entries = 0;
  private readonly limit = pLimit(READ_AT_ONCE);

  constructor(private readonly options: ScanOptions) {}

  async folder(
    path: string,
    at: { name: string; previous: ScannedFolder | null; depth: number },
  ): Promise<ScannedFolder> {
    const { maxEntries, maxDepth, now } = this.options;
    const { name, previous, depth } = at;
    const names: { files: string[]; folders: string[] } = { files: [], folders: [] };
    let omitted = 0;
    for await (const entry of Deno.readDir(path)) {
      if (!isServedName(entry.name)) continue;
      // Deno shows a name that is not UTF-8 with this character, and opens no file by it.
      if (entry.name.includes("\ufffd")) omitted++;
      else if (entry.isDirectory) names.folders.push(entry.name);
      else if (entry.isFile || entry.isSymlink) names.files.push(entry.name);
      else continue;
      if (++this.entries > maxEntries) {
        throw new FolderTooLargeError(`it holds more than ${maxEntries} files and folders`);
      }
    }
    if (names.folders.length > 0 && depth >= maxDepth) {
      throw new FolderTooLargeError(`more than ${maxDepth} folders lie in each other`);
    }
    const found: (ScannedFile | ScannedFolder | null)[] = [];
    for (const folder of names.folders) {
      const before = previous?.entries.get(folder);
      const below = await nullIfMissing(this.folder(join(path, folder), {
        name: folder,
        previous: before?.kind === "folder" ? before : null,
        depth: depth + 1,
      }));
      // A folder without a file in it does not exist, as in Git.
      if (below !== null && below.entries.size === 0) omitted += below.omitted;
      else found.push(below);
    }
    found.push(
      ...await this.limit.map(names.files, (file) => {
        const before = previous?.entries.get(file);
        return scanFile(join(path, file), {
          name: file,
          previous: before?.kind === "folder" ? null : before ?? null,
          now,
        });
      }),
    );
    const entries = found.filter((entry) => entry !== null);
    const isUnchanged = previous !== null && previous.omitted === omitted &&
      previous.entries.size === entries.length &&
      entries.every((entry) => previous.entries.get(entry.name) === entry);
    if (isUnchanged) return previous;
    const ordered = inGitOrder(entries);
    return {
      name,
      kind: "folder",
      mode: "40000",
      id: treeId(ordered),
      size: 0,
      entries: new Map(ordered.map((entry) => [entry.name, entry])),
      omitted,
    };
  }
}

/**
 * Reads a file or link as `name`, or reuses its entry in `previous`. Null where it is deleted, may not be read, or is
 * neither file nor link.
 */
export async function scanFile(
  path: string,
  options: { name: string; previous: ScannedFile | null; now: () => number },
): Promise<ScannedFile | null> {
  const { name, previous } = options;
  const startedAtMs = options.now();
  const info = await nullIfMissing(Deno.lstat(path));
  if (info === null || !(info.isFile || info.isSymlink)) return null;
  const { size, mtime, ctime, ino, mode } = info;
  const stamp = [size, mtime?.getTime(), ctime?.getTime(), ino, mode].join();
  if (previous?.isSettled && previous.stamp === stamp) return previous;
  const content = await nullIfMissing(info.isSymlink ? hashLink(path) : hashFile(path, size));
  if (content === null) return null;
  // The change time cannot be set back, as the modification time can; not every file system has it.
  const changedAtMs = (ctime ?? mtime)?.getTime() ?? Infinity;
  const isSettled = changedAtMs + SETTLED_AFTER_MS <= startedAtMs;
  if (info.isSymlink) {
    return { name, kind: "symbolic link", mode: "120000", ...content, stamp, isSettled };
  }
  const isExecutable = mode !== null && (mode & 0o100) !== 0;
  const gitMode = isExecutable ? "100755" : "100644";
  return { name, kind: "file", mode: gitMode, ...content, stamp, isSettled };
}

/** The bytes that a scanned file has by its id; null where the file at `path` has other bytes by now, or is deleted. */
export async function readScannedFile(
  path: string,
  file: ScannedFile,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const info = await nullIfMissing(Deno.lstat(path));
  // Checked first, so that a read never waits for a pipe and a file that grew is not read into memory.
  const isCandidate = info !== null && info.isFile && info.size === file.size;
  const bytes = isCandidate ? await nullIfMissing(Deno.readFile(path)) : null;
  if (bytes !== null && blobId(bytes) === file.id) return bytes;
  file.isSettled = false;
  return null;
}

const MISSING = [
  Deno.errors.NotFound,
  Deno.errors.PermissionDenied,
  Deno.errors.NotCapable,
  Deno.errors.NotADirectory,
  Deno.errors.IsADirectory,
  Deno.errors.InvalidData, // A link whose target is not UTF-8.
];

/** The result of a read, or null where the file is deleted or may not be read. */
async function nullIfMissing<T>(read: Promise<T>): Promise<T | null> {
  try {
    return await read;
  } catch (error) {
    if (MISSING.some((kind) => error instanceof kind)) return null;
    throw error;
  }
}

async function hashLink(path: string): Promise<{ id: string; size: number }> {
  return { id: blobId(new TextEncoder().encode(await Deno.readLink(path))), size: 0 };
}

/** The hash begins with the size. A file that grows meanwhile is hashed up to `size`, one that shrinks is hashed anew. */
async function hashFile(path: string, size: number): Promise<{ id: string; size: number }> {
  using file = await Deno.open(path);
  const hash = blobHash(size);
  const buffer = new Uint8Array(Math.min(size, CHUNK_BYTES));
  for (let left = size; left > 0;) {
    const read = await file.read(buffer.subarray(0, left));
    if (read === null) return await hashFile(path, size - left);
    hash.update(buffer.subarray(0, read));
    left -= read;
  }
  return { id: hash.digest("hex"), size };
}
