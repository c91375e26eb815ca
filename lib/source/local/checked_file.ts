// Reads regular files in folders that their author may change at any moment.
// Deno opens files by path only. It follows a link if the author replaces a
// folder with one. So a file is opened first. Then its real path must be the
// expected one and name the file that is open. This is checked before and after
// the file is read. Opening never waits for a pipe.

import { constants, promises } from "node:fs";
import { basename, dirname, join } from "@std/path";
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
export async function checkedPath(path: string): Promise<CheckedPath> {
  return {
    path,
    realPath: join(await Deno.realPath(dirname(path)), basename(path)),
  };
}

/**
 * Returns the path of a file or folder in `folder`. No part of it below
 * `folder` may be a link.
 */
export const pathIn = (folder: CheckedPath, path: string): CheckedPath => ({
  path: join(folder.path, path),
  realPath: join(folder.realPath, path),
});

/** Returns whether the real path is the expected one. */
export async function isReal(
  { path, realPath }: CheckedPath,
): Promise<boolean> {
  return await nullIfMissing(Deno.realPath(path)) === realPath;
}

/**
 * Returns whether the path still names the file or link that `lstat` described.
 * No link may lead to it.
 */
export async function isInPlace(
  at: CheckedPath,
  found: Deno.FileInfo,
): Promise<boolean> {
  const { path, realPath } = at;
  // The real path of a link is the path of its target.
  const unlinked = found.isSymlink
    ? { path: dirname(path), realPath: dirname(realPath) }
    : at;
  if (!await isReal(unlinked)) return false;
  // The real path is not used. Deno may have no permission to read it.
  const info = await nullIfMissing(Deno.lstat(path));
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
  const handle = await nullIfMissing(promises.open(at.path, OPEN_FLAGS));
  if (handle === null) return null;
  try {
    const opened = await handle.stat();
    const isFound = opened.isFile() && opened.size === found.size &&
      isSameFile(opened, found);
    if (!isFound || !await isInPlace(at, found)) return null;
    const hash = blobHash(found.size);
    for (let offset = 0; offset < found.size;) {
      const start = offset % bytes.length;
      const length = Math.min(
        BLOCK_BYTES,
        bytes.length - start,
        found.size - offset,
      );
      const { bytesRead } = await handle.read(bytes, start, length, null);
      if (bytesRead === 0) break;
      hash.update(bytes.subarray(start, start + bytesRead));
      offset += bytesRead;
    }
    return await isInPlace(at, found)
      ? { bytes, id: hash.digest("hex") }
      : null;
  } finally {
    await handle.close();
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

/**
 * Returns the result of `read`, or null if there is nothing that may be read.
 * @throws any other failure.
 */
export async function nullIfMissing<T>(read: Promise<T>): Promise<T | null> {
  try {
    return await read;
  } catch (error) {
    // Deno's errors may have no code. InvalidData is a link whose target is not
    // UTF-8.
    const { code = "", name } = error as Error & { code?: string };
    if (MISSING_CODE.test(code) || MISSING_NAME.test(name)) return null;
    throw error;
  }
}
