// Reads regular files in folders that their author may change at any moment.
// Deno opens files by path only. It follows a link if the author replaces a
// folder with one. So a file is opened first. Then its real path must be the
// expected one and name the file that is open. This is checked before and after
// the file is read. Opening never waits for a pipe.
//
// All this is done on the serving thread in its time slices. To hand each step
// to another thread takes several times as long as the step, and the serving
// thread then waits for the other threads.

import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { basename, dirname, join } from "@std/path";
import { yieldToEventLoop } from "../../work/clock.ts";
import { blobHash } from "../git_object_id.ts";

/**
 * A file is read and hashed in blocks. Other tasks continue between two blocks.
 */
export const BLOCK_BYTES = 1 << 16;

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

/** Returns whether the real path is the expected one. */
export const isReal = ({ path, realPath }: CheckedPath): boolean =>
  nullIfMissing(() => Deno.realPathSync(path)) === realPath;

/**
 * Returns whether the path still names the file or link that `lstat` described.
 * No link may lead to it.
 */
export function isInPlace(at: CheckedPath, found: Deno.FileInfo): boolean {
  const { path, realPath } = at;
  // The real path of a link is the path of its target.
  const unlinked = found.isSymlink
    ? { path: dirname(path), realPath: dirname(realPath) }
    : at;
  if (!isReal(unlinked)) return false;
  // The real path is not used. Deno may have no permission to read it.
  const info = nullIfMissing(() => Deno.lstatSync(path));
  return info !== null && isSameFile(info, found);
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
  const file = nullIfMissing(() => openSync(at.path, OPEN_FLAGS));
  if (file === null) return null;
  try {
    const opened = fstatSync(file);
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
      const count = readSync(file, bytes, start, length, null);
      if (count === 0) break;
      hash.update(bytes.subarray(start, start + count));
      offset += count;
      await yieldToEventLoop();
    }
    return isInPlace(at, found) ? { bytes, id: hash.digest("hex") } : null;
  } finally {
    closeSync(file);
  }
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
export function nullIfMissing<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}
