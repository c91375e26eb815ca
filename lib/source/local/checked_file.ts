// Regular files in folders that their author may change at any moment. `lstat` has to find a regular file before one is
// opened, and only that very file is read: a link that took its place is not followed. Opening never waits for a pipe.

import { constants, promises } from "node:fs";
import { blobHash } from "../git_object_id.ts";

/** A file is read and hashed in blocks. Other tasks continue between two of them. */
export const BLOCK_BYTES = 1 << 16;

// Windows has no O_NONBLOCK, and no pipes among its files.
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** As many bytes of a file as `lstat` found, and the blob id that they have. */
interface FileContent {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly id: string;
}

/**
 * Reads the file that `lstat` described. The id is no content's where the file shrinks meanwhile. Null where another
 * file is at the path by now, or none that may be read.
 */
export function readChecked(path: string, found: Deno.FileInfo): Promise<FileContent | null> {
  return read(path, found, new Uint8Array(found.size));
}

/** The blob id of the file that `lstat` described; null as in {@linkcode readChecked}. */
export async function hashChecked(path: string, found: Deno.FileInfo): Promise<string | null> {
  const block = new Uint8Array(Math.min(found.size, BLOCK_BYTES));
  return (await read(path, found, block))?.id ?? null;
}

/** Reads into `bytes`, from its start again where the file has more. */
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
      opened.mtimeMs === found.mtime?.getTime() &&
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

/** Systems without inode numbers give 0 or null. */
const isSameNumber = (a: number | null, b: number | null) => !a || !b || a === b;

/** How a file fails that is absent, has another type by now, or may not be read. EINVAL: `readLink` of no link. */
const MISSING_CODES = /^(EACCES|EINVAL|EISDIR|ELOOP|ENAMETOOLONG|ENOENT|ENOTDIR|ENXIO|EPERM)$/;
/** The same by name. InvalidData: a link whose target is not UTF-8. */
const MISSING_NAMES = /^(InvalidData|NotCapable|NotFound)$/;

/** The result of a read; null where there is nothing that may be read. @throws any other failure. */
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
