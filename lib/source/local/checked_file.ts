// Reads regular files in folders that their author may change at any moment.
// Deno opens files by path only. It follows a link if the author replaces a
// folder with one. So a file is opened first. Then its real path must be the
// expected one and name the file that is open. This is checked before and after
// the file is read. Opening never waits for a pipe.
//
// Other threads look files up, open them and read them, so the serving thread
// does not wait for the disk. It makes the checks itself: what they need is in
// memory by then, and an author has the least time to act between two of them.
// Handing a call to another thread takes longer than the call, so several files
// are read at once.

import { constants, fstatSync } from "node:fs";
import { open } from "node:fs/promises";
import { basename, dirname, join } from "@std/path";
import pLimit from "p-limit";
import { blobHash } from "../git_object_id.ts";

/**
 * A file is read and hashed in blocks. Other tasks continue between two blocks.
 */
export const BLOCK_BYTES = 1 << 16;

const FILES_AT_ONCE = 8;
/** Deno has 32 threads that wait. Hosts are looked up in them as well. */
const reads = pLimit(16);

// Windows has no O_NONBLOCK and no pipes among its files.
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/**
 * The bytes of a file and their blob id. The length is the size that `lstat`
 * found.
 */
interface FileContent {
  bytes: Uint8Array<ArrayBuffer>;
  id: string;
}

/**
 * A path and its expected real path. They stop matching if a link replaces a
 * file or folder.
 */
export interface CheckedPath {
  readonly path: string;
  readonly realPath: string;
}

/**
 * Returns the path of a file or folder that must not be a link. The folders
 * above it may be links.
 */
export const checkedPath = (path: string): CheckedPath => ({
  path,
  realPath: join(Deno.realPathSync(dirname(path)), basename(path)),
});

/**
 * Returns the path of a file or folder in `folder`. No part of it below
 * `folder` may be a link.
 */
export const pathIn = (folder: CheckedPath, path: string): CheckedPath => ({
  path: join(folder.path, path),
  realPath: join(folder.realPath, path),
});

/**
 * Returns whether the path still names the file or link that `lstat` described.
 * No link may lead to it. Only a file that was just looked up is checked
 * without waiting for the disk.
 */
export function isInPlace(at: CheckedPath, found: Deno.FileInfo): boolean {
  const { path, realPath } = at;
  // The real path of a link is the path of its target.
  const unlinked = found.isSymlink
    ? { path: dirname(path), realPath: dirname(realPath) }
    : at;
  try {
    // `lstat` gets the given path: Deno may not be allowed to read the other.
    return Deno.realPathSync(unlinked.path) === unlinked.realPath &&
      isSameFile(Deno.lstatSync(path), found);
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/**
 * Reads the regular file that `lstat` described. Returns null if the path now
 * names another file or a file that may not be read. If the file shrinks while
 * it is read, the id matches nothing. If `bytes` is shorter than the file,
 * later blocks overwrite earlier ones.
 */
export async function readChecked(
  at: CheckedPath,
  found: Deno.FileInfo,
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(found.size),
): Promise<FileContent | null> {
  const file = await nullIfMissing(open(at.path, OPEN_FLAGS));
  if (file === null) return null;
  try {
    const opened = fstatSync(file.fd);
    const isFound = opened.isFile() && opened.size === found.size &&
      isSameFile(opened, found);
    if (!isFound || !isInPlace(at, found)) return null;
    const hash = blobHash(found.size);
    for (let offset = 0; offset < found.size;) {
      const start = offset % bytes.length;
      const length = Math.min(
        BLOCK_BYTES,
        bytes.length - start,
        found.size - offset,
      );
      const { bytesRead } = await file.read(bytes, start, length, null);
      if (bytesRead === 0) break;
      hash.update(bytes.subarray(start, start + bytesRead));
      offset += bytesRead;
    }
    return isInPlace(at, found) ? { bytes, id: hash.digest("hex") } : null;
  } finally {
    await file.close();
  }
}

/**
 * Calls `read` for each file, {@linkcode FILES_AT_ONCE} at a time, and returns
 * the results in order. Throws the error of the first file that fails, but not
 * before the calls at that time have ended.
 */
export async function readEach<File, Result>(
  files: readonly File[],
  read: (file: File) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let start = 0; start < files.length; start += FILES_AT_ONCE) {
    const some = files.slice(start, start + FILES_AT_ONCE);
    const outcomes = await Promise.allSettled(
      some.map((file) => reads(() => read(file))),
    );
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") throw outcome.reason;
      results.push(outcome.value);
    }
  }
  return results;
}

type Identity = Pick<Deno.FileInfo, "dev" | "ino" | "size" | "mtime">;

/** Systems without inode numbers give 0 or null. */
const isSameFile = (a: Identity, b: Identity) =>
  a.ino && b.ino
    ? a.ino === b.ino && a.dev === b.dev
    : a.size === b.size && a.mtime?.getTime() === b.mtime?.getTime();

/**
 * Errors for a file that is absent, has another type or may not be read.
 * `readLink` gives EINVAL for another type.
 */
const MISSING_CODE =
  /^E(ACCES|INVAL|ISDIR|LOOP|NAMETOOLONG|NOENT|NOTDIR|NXIO|PERM)$/;
const MISSING_NAME = /^(InvalidData|NotCapable|NotFound)$/;

/** Returns whether an error says that there is nothing that may be read. */
export function isMissing(error: unknown): boolean {
  // Deno's errors may have no code. InvalidData is a link whose target is not
  // UTF-8.
  const { code = "", name } = error as Error & { code?: string };
  return MISSING_CODE.test(code) || MISSING_NAME.test(name);
}

/**
 * Returns the result of `read`, or null if there is nothing that may be read.
 * @throws any other failure.
 */
export const nullIfMissing = <T>(read: Promise<T>): Promise<T | null> =>
  read.catch((error) => {
    if (isMissing(error)) return null;
    throw error;
  });
