// Reads regular files in folders that their author may change at any moment. A file is opened only after `lstat` found a
// regular file, and read only if it is that file: a link that took its place is not followed. Opening never waits for a
// pipe. The folders on the way are not checked here: see folder_trail.ts.

import { constants, promises } from "node:fs";
import { blobHash } from "../git_object_id.ts";

/** A file is read and hashed in blocks. Other tasks continue between two of them. */
export const BLOCK_BYTES = 1 << 16;

// Windows has no O_NONBLOCK, and no pipes among its files.
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** The bytes of a file, as many as `lstat` found, and their blob id. */
interface FileContent {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly id: string;
}

/**
 * Reads the file that `lstat` described. Returns null if the path names another file by now, or none that may be read.
 * If the file shrinks while it is read, the id fits nothing.
 */
export function readChecked(path: string, found: Deno.FileInfo): Promise<FileContent | null> {
  return read(path, found, new Uint8Array(found.size));
}

/** Returns the blob id of the file that `lstat` described, or null as {@linkcode readChecked} does. */
export async function hashChecked(path: string, found: Deno.FileInfo): Promise<string | null> {
  const block = new Uint8Array(Math.min(found.size, BLOCK_BYTES));
  return (await read(path, found, block))?.id ?? null;
}

/** Reads into `bytes`. If the file has more of them, later blocks overwrite earlier ones. */
async function read(
  path: string,
  found: Deno.FileInfo,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<FileContent | null> {
  const handle = await nullIfMissing(promises.open(path, OPEN_FLAGS));
  if (handle === null) return null;
  try {
    const opened = await handle.stat();
    const isFound = opened.isFile() && opened.size === found.size &&
      isSameNumber(opened.mtimeMs, found.mtime?.getTime()) &&
      isSameNumber(opened.ino, found.ino) && isSameNumber(opened.dev, found.dev);
    if (!isFound) return null;
    const hash = blobHash(found.size);
    for (let at = 0; at < found.size;) {
      const start = at % bytes.length;
      const length = Math.min(BLOCK_BYTES, bytes.length - start, found.size - at);
      const { bytesRead } = await handle.read(bytes, start, length, null);
      if (bytesRead === 0) break;
      hash.update(bytes.subarray(start, start + bytesRead));
      at += bytesRead;
    }
    return { bytes, id: hash.digest("hex") };
  } finally {
    await handle.close();
  }
}

/** Systems without such a number give 0 or null. */
const isSameNumber = (a: number | null, b: number | null | undefined) => !a || !b || a === b;

/** Errors for a file that is absent, has another type, or may not be read. EINVAL: `readLink` of another type. */
const MISSING_CODES = /^(EACCES|EINVAL|EISDIR|ELOOP|ENAMETOOLONG|ENOENT|ENOTDIR|ENXIO|EPERM)$/;
/** Deno's errors without a code. InvalidData: a link whose target is not UTF-8. */
const MISSING_NAMES = /^(InvalidData|NotCapable|NotFound)$/;

/** Returns the result of a read, or null if there is nothing that may be read. @throws any other failure. */
export async function nullIfMissing<T>(read: Promise<T>): Promise<T | null> {
  try {
    return await read;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const code = "code" in error ? String(error.code) : "";
    if (MISSING_CODES.test(code) || MISSING_NAMES.test(error.name)) return null;
    throw error;
  }
}
