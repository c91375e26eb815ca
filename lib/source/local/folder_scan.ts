// Scans a local folder once. A scan lists the files with Git's ids for them and
// for their folders. Only what may be served is listed. Names that begin with a
// dot, `node_modules` and devices are skipped. Links are never followed even if
// the author replaces a folder with one during the scan (see checked_file.ts).
// A file is not read again if the last scan read it and its times, size and
// inode are the same.

import { basename } from "@std/path";
import type { Clock } from "../../work/clock.ts";
import { CollectionsError } from "../../errors.ts";
import { blobId } from "../git_object_id.ts";
import type { TreeEntries } from "../tree_entries.ts";
import {
  BLOCK_BYTES,
  type CheckedPath,
  checkedPath,
  isInPlace,
  isMissing,
  nullIfMissing,
  pathIn,
  readChecked,
  readEach,
  wholeBlocks,
} from "./checked_file.ts";
import {
  folderOf,
  type FolderState,
  type Order,
  type ScannedEntry,
  type ScanWork,
} from "./folder_state.ts";

/**
 * The time to find a real path grows with the square of its levels: 0.2 ms for
 * 64, 100 ms for 2,000 (Deno 2.9.6).
 */
const MAX_LEVELS = 64;
/** How often a file is read if it changes while it is read. */
const MAX_TRIES = 3;
/**
 * A file may change again within the resolution of its times. The coarsest
 * resolution is two seconds.
 */
const SETTLED_AFTER_MS = 2_000;

/** Returns whether a path segment may be served. */
export const isServedName = (name: string) =>
  !name.startsWith(".") && name !== "node_modules";

/**
 * Scans the folder at `path`. `previous` is the result of the last scan. Its
 * unchanged folders are reused. The result omits files and folders that may not
 * be read, files that are replaced again and again, and folders that are
 * replaced during the scan. The next scan lists every folder again. Any other
 * failure fails the scan because an incomplete list would be a wrong response.
 *
 * `maxEntries` limits the number of files and folders. A folder counts once for
 * each level below the root. A large file counts once for each block. So this
 * limits the whole work. The scan adds what it does to `work`.
 * @throws {CollectionsError} collection-too-large past `maxEntries` or
 * {@linkcode MAX_LEVELS}.
 * @throws {Deno.errors.NotFound} if there is no such folder or it is a link.
 * @throws any other error of reading the folder or of `order`.
 */
export async function scanFolder(
  path: string,
  previous: FolderState | null,
  { maxEntries, clock, work, order }: {
    maxEntries: number;
    clock: Pick<Clock, "now">;
    work: ScanWork;
    order: Order;
  },
): Promise<FolderState> {
  const folders = new Map<string, TreeEntries>();
  const blobIds = new Map<string, string>();
  const startedAtMs = clock.now();
  let counted = 0;
  const tooLarge = (why: string) =>
    new CollectionsError(
      "collection-too-large",
      `The folder "${basename(path)}" cannot be served: ${why}.`,
    );
  const count = (entries: number) => {
    counted += entries;
    if (counted <= maxEntries) return;
    const why = `it holds more than ${maxEntries} files and folders`;
    const how =
      "where each level of a deep folder and each 64 KiB of a large file count";
    throw tooLarge(`${why}, ${how}`);
  };

  /**
   * Scans a folder and its sub-folders. Throws if the folder itself cannot be
   * read.
   */
  const scan = async (at: CheckedPath, level: number): Promise<FoundFolder> => {
    if (level > MAX_LEVELS) {
      throw tooLarge(`it has folders more than ${MAX_LEVELS} levels below it`);
    }
    // The time to check a path grows with its levels. The folder above has
    // counted the name.
    count(Math.max(0, level - 1));
    const fileNames: string[] = [];
    const folderNames: string[] = [];
    let omitted = 0;
    await checkFolder(at);
    for await (const entry of Deno.readDir(at.path)) {
      count(1);
      work.names++;
      if (!isServedName(entry.name)) continue;
      // Deno shows a name that is not UTF-8 with this character. It cannot open
      // a file by that name.
      if (entry.name.includes("\ufffd")) omitted++;
      else if (entry.isDirectory) folderNames.push(entry.name);
      else if (entry.isFile || entry.isSymlink) fileNames.push(entry.name);
    }
    const files = await readEach(
      fileNames,
      (name) => scanFile(pathIn(at, name), name),
    );
    const entries = files.filter((file) => file !== null);
    await checkFolder(at);
    for (const name of folderNames) {
      const below = await scan(pathIn(at, name), level + 1).catch((error) => {
        if (!isMissing(error)) throw error;
      });
      if (below === undefined) continue;
      const { id, tree } = below;
      if (tree.length === 0) omitted += tree.list.omitted;
      else entries.push({ name, kind: "folder", mode: "40000", id, size: 0 });
    }
    const found = await folderOf(entries, omitted, previous, order);
    folders.set(found.id, found.tree);
    return found;
  };

  /**
   * Returns the entry of a file or link. Returns null if it is deleted or
   * unreadable.
   */
  const scanFile = async (
    at: CheckedPath,
    name: string,
  ): Promise<ScannedEntry | null> => {
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const info = await nullIfMissing(Deno.lstat(at.path));
      if (info === null || !(info.isFile || info.isSymlink)) return null;
      count(wholeBlocks(info.size));
      const stamp = stampOf(at, info, startedAtMs);
      const id = previous?.blobIds.get(stamp) ?? await readId(at, info, work);
      if (id === null) continue;
      if (stamp !== "") blobIds.set(stamp, id);
      if (info.isSymlink) {
        return { name, kind: "symbolic link", mode: "120000", id, size: 0 };
      }
      const mode = (info.mode ?? 0) & 0o100 ? "100755" : "100644";
      return { name, kind: "file", mode, id, size: info.size };
    }
    return null;
  };

  const { id } = await scan(await checkedPath(path), 0).catch((error) => {
    // A file has replaced the folder.
    if (!(error instanceof Deno.errors.NotADirectory)) throw error;
    throw new Deno.errors.NotFound(error.message);
  });
  return { id, folders, blobIds };
}

type FoundFolder = Awaited<ReturnType<typeof folderOf>>;

async function checkFolder({ path, realPath }: CheckedPath) {
  if (await nullIfMissing(Deno.realPath(path)) === realPath) return;
  throw new Deno.errors.NotFound(
    `Cannot scan "${path}": a link took its place`,
  );
}

/**
 * Returns a text that changes when the file changes, or "" if the file could
 * change without it.
 */
function stampOf(at: CheckedPath, info: Deno.FileInfo, nowMs: number): string {
  const { size, mtime, ctime, dev, ino, mode } = info;
  // The modification time can be set back but the change time cannot. Not every
  // file system has a change time.
  const changedAtMs = (ctime ?? mtime)?.getTime() ?? Infinity;
  if (changedAtMs + SETTLED_AFTER_MS > nowMs) return "";
  // Systems without inode numbers give 0 or null.
  return [size, mtime?.getTime(), ctime?.getTime(), dev, ino || at.path, mode]
    .join();
}

/**
 * Returns the blob id of the file or link that `lstat` described. Returns null
 * if something else is there now.
 */
async function readId(at: CheckedPath, info: Deno.FileInfo, work: ScanWork) {
  if (info.isSymlink) {
    const target = await nullIfMissing(Deno.readLink(at.path));
    if (target === null || !isInPlace(at, info)) return null;
    return blobId(new TextEncoder().encode(target));
  }
  work.reads++;
  work.blocks += wholeBlocks(info.size);
  // If the file changes meanwhile, the id matches nothing and the next scan
  // reads the file again.
  const bytes = new Uint8Array(Math.min(info.size, BLOCK_BYTES));
  return (await readChecked(at, info, { bytes }))?.id ?? null;
}
