// One file or symbolic link of a local folder, with Git's id for it. It is read again only when its size, times, inode
// or mode say that it may have changed, or when it was read too soon after a change for them to tell.

import type { TreeEntry } from "./repository.ts";
import { blobHash, blobId, type GitMode } from "./git_object_id.ts";

/** A file system's times can be this coarse, in ms; a change this shortly before the reading may hide a later one. */
const RACY_MS = 2000;
const STREAM_FROM_BYTES = 1 << 20;
const CHUNK_BYTES = 256 * 1024;

/** A file, or a symbolic link, whose id is that of its target's path, as in Git. */
export interface ScannedFile extends TreeEntry {
  readonly kind: "file" | "symbolic link";
  readonly mode: GitMode;
  /** Size, times, inode and mode before it was read. While they stand, so does its id, if it is settled. */
  readonly stamp: string;
  /** Whether the stamp tells of every later change. Git calls the others racy (its racy-git document). */
  settled: boolean;
}

/**
 * Reads a file or link as `name`, or takes over what `previous` says of it. Null where it is gone, may not be read, or
 * is neither file nor link. `now` gives ms since the epoch, by the clock of the file system.
 */
export async function scanFile(
  path: string,
  options: { name: string; previous: ScannedFile | null; now: () => number },
): Promise<ScannedFile | null> {
  const { name, previous } = options;
  const startedAtMs = options.now();
  const info = await unlessGone(Deno.lstat(path));
  if (info === null || !(info.isFile || info.isSymlink)) return null;
  const stamp = stampOf(info);
  if (previous?.settled && previous.stamp === stamp) return previous;
  const content = await unlessGone(info.isSymlink ? hashLink(path) : hashFile(path, info.size));
  if (content === null) return null;
  // The change time cannot be set back, as the modification time can; not every file system has it.
  const changedAtMs = (info.ctime ?? info.mtime)?.getTime() ?? Infinity;
  const settled = changedAtMs + RACY_MS <= startedAtMs;
  if (info.isSymlink) {
    return { name, kind: "symbolic link", mode: "120000", ...content, stamp, settled };
  }
  const executable = info.mode !== null && (info.mode & 0o100) !== 0;
  return {
    name,
    kind: "file",
    mode: executable ? "100755" : "100644",
    ...content,
    stamp,
    settled,
  };
}

/** The bytes that a scanned file has by its id; null where the file at `path` has others by now, or is gone. */
export async function readScannedFile(
  path: string,
  file: ScannedFile,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const info = await unlessGone(Deno.lstat(path));
  // Looked at first, so that a pipe is not waited for and a file that grew is not held in memory.
  const isCandidate = info !== null && info.isFile && info.size === file.size;
  const bytes = isCandidate ? await unlessGone(Deno.readFile(path)) : null;
  if (bytes !== null && blobId(bytes) === file.id) return bytes;
  file.settled = false;
  return null;
}

/** What a read gives, or null where its subject is gone, may not be read, or has a name that is not UTF-8. */
export async function unlessGone<T>(read: Promise<T>): Promise<T | null> {
  try {
    return await read;
  } catch (error) {
    const { NotFound, PermissionDenied, NotCapable, NotADirectory, IsADirectory, InvalidData } =
      Deno.errors;
    const gone = [NotFound, PermissionDenied, NotCapable, NotADirectory, IsADirectory, InvalidData];
    if (gone.some((kind) => error instanceof kind)) return null;
    throw error;
  }
}

function stampOf(info: Deno.FileInfo): string {
  return [info.size, info.mtime?.getTime(), info.ctime?.getTime(), info.ino, info.mode].join();
}

async function hashLink(path: string): Promise<{ id: string; size: number }> {
  return { id: blobId(new TextEncoder().encode(await Deno.readLink(path))), size: 0 };
}

async function hashFile(path: string, size: number): Promise<{ id: string; size: number }> {
  if (size < STREAM_FROM_BYTES) {
    const bytes = await Deno.readFile(path);
    return { id: blobId(bytes), size: bytes.length };
  }
  // The hash begins with the size. What grows meanwhile is hashed as far as it went, what shrinks is hashed anew.
  using file = await Deno.open(path);
  const hash = blobHash(size);
  const buffer = new Uint8Array(CHUNK_BYTES);
  let left = size;
  while (left > 0) {
    const read = await file.read(buffer.subarray(0, left));
    if (read === null) return await hashFile(path, size - left);
    hash.update(buffer.subarray(0, read));
    left -= read;
  }
  return { id: hash.digest("hex"), size };
}
