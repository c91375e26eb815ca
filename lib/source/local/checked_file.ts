// Reads regular files in folders that their author may change at any moment.
// Deno opens files by path only. It follows a link if the author replaces a
// folder with one. So a file is opened first. Then its real path must be the
// expected one and name the file that is open. This is checked before and after
// the file is read. Opening never waits for a pipe.
//
// Other threads look files up, open them and read them. The serving thread
// makes the checks. What they need is in the system's memory by then, unless
// the file took long to read. An author has the least time to act between two
// calls on one thread. A call on another thread takes longer, so several files
// are read at once.

import type { Hash } from "node:crypto";
import { constants, fstatSync } from "node:fs";
import { open } from "node:fs/promises";
import { basename, dirname, join } from "@std/path";
import { blobHash } from "../git_object_id.ts";

/**
 * A file is read and hashed in blocks. Other tasks continue between two blocks.
 */
export const BLOCK_BYTES = 1 << 16;

/** Returns how many whole blocks a file of `size` bytes has. */
export const wholeBlocks = (size: number) => Math.floor(size / BLOCK_BYTES);

/**
 * How many files are read at once for one scan, and for all requests. Deno runs
 * calls that wait on at most 32 threads, those that look up hosts included.
 */
export const FILES_AT_ONCE = 8;

// Windows has no O_NONBLOCK and no pipes among its files.
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/**
 * The bytes of a file and the digest of them all. The length is the size that
 * `lstat` found.
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
export const checkedPath = async (path: string): Promise<CheckedPath> => ({
  path,
  realPath: join(await Deno.realPath(dirname(path)), basename(path)),
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
 * No link may lead to it. May wait for the disk unless the file was just looked
 * up.
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
 * names another file or a file that may not be read, or if the file shrinks
 * while it is read. `hash` gives the id, which is the blob id by default. If
 * `bytes` is shorter than the file, later blocks overwrite earlier ones.
 */
export async function readChecked(
  at: CheckedPath,
  found: Deno.FileInfo,
  {
    bytes = new Uint8Array(found.size),
    hash = blobHash(found.size),
  }: { bytes?: Uint8Array<ArrayBuffer>; hash?: Hash } = {},
): Promise<FileContent | null> {
  const file = await nullIfMissing(open(at.path, OPEN_FLAGS));
  if (file === null) return null;
  try {
    const opened = fstatSync(file.fd);
    const isFound = opened.isFile() && opened.size === found.size &&
      isSameFile(opened, found);
    if (!isFound || !isInPlace(at, found)) return null;
    for (let offset = 0; offset < found.size;) {
      const start = offset % bytes.length;
      const length = Math.min(
        BLOCK_BYTES,
        bytes.length - start,
        found.size - offset,
      );
      const { bytesRead } = await file.read(bytes, start, length, null);
      if (bytesRead === 0) return null;
      hash.update(bytes.subarray(start, start + bytesRead));
      offset += bytesRead;
    }
    return isInPlace(at, found) ? { bytes, id: hash.digest("hex") } : null;
  } finally {
    await file.close();
  }
}

/**
 * Calls `read` for each file, {@linkcode FILES_AT_ONCE} at once, and returns
 * the results in order. Throws the error of the first file that fails, after
 * the other calls beside it have ended.
 */
export async function readEach<File, Result>(
  files: readonly File[],
  read: (file: File) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let start = 0; start < files.length; start += FILES_AT_ONCE) {
    const some = files.slice(start, start + FILES_AT_ONCE);
    const outcomes = await Promise.allSettled(some.map(read));
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") throw outcome.reason;
      results.push(outcome.value);
    }
  }
  return results;
}

type Identity = Pick<Deno.FileInfo, "dev" | "ino" | "size" | "mtime">;

/**
 * Systems without inode numbers give 0 or null. Deno's asynchronous calls give
 * numbers over 2^53 as a `bigint`, others give them rounded.
 */
const isSameFile = (a: Identity, b: Identity) =>
  a.ino && b.ino
    ? Number(a.ino) === Number(b.ino) && a.dev === b.dev
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
