// One scan of a local folder: which files there are, with Git's ids for them and for their folders. Only what may be
// served is listed: no name that begins with a dot, no `node_modules`, no device. Links are never followed, even if the
// author puts one in the place of a folder during the scan: see checked_file.ts. A file that the scan before has read, and
// that has the same times, size and inode, is not read again.

import { basename } from "@std/path";
import type { Clock } from "../../work/clock.ts";
import { CollectionsError } from "../../errors.ts";
import { blobId } from "../git_object_id.ts";
import {
  BLOCK_BYTES,
  type CheckedPath,
  checkedPath,
  isInPlace,
  isReal,
  nullIfMissing,
  pathIn,
  readChecked,
} from "./checked_file.ts";
import {
  folderOf,
  type FolderState,
  type ScannedEntry,
  type ScannedFolder,
} from "./folder_state.ts";

const READ_AT_ONCE = 4;
/** How often a file is read if it changes meanwhile. */
const MAX_TRIES = 3;
/** A file may change again within the resolution of its times, which is two seconds where it is coarsest. */
const SETTLED_AFTER_MS = 2_000;

/** What a scan has done, whether it succeeds or fails. */
export interface ScanWork {
  /** How many names were listed. */
  names: number;
  /** How many files were read, and how many whole blocks they had. */
  reads: number;
  blocks: number;
}

/** Whether a path segment is served at all. */
export const isServedName = (name: string) => !name.startsWith(".") && name !== "node_modules";

/**
 * Scans the folder at `path`. `previous` is the result of the last scan, whose unchanged folders are taken over. A file
 * or folder that may not be read, a file that is replaced again and again, and a folder that is replaced meanwhile
 * are left out. The next scan lists every folder again. Any other failure fails the scan, since a short list would be a
 * wrong answer.
 *
 * `maxEntries` is how many files and folders there may be. A folder counts once for each level that it is below the root,
 * and a large file once for each block, so that this bounds the whole work. The scan adds what it does to `work`.
 * @throws {CollectionsError} collection-too-large past `maxEntries`.
 * @throws {Deno.errors.NotFound} where there is no such folder or it is a link, and whatever else reading it gives.
 */
export async function scanFolder(
  path: string,
  previous: FolderState | null,
  { maxEntries, clock, work }: {
    readonly maxEntries: number;
    readonly clock: Pick<Clock, "now">;
    readonly work: ScanWork;
  },
): Promise<FolderState> {
  const folders = new Map<string, ScannedFolder>();
  const blobIds = new Map<string, string>();
  const startedAtMs = clock.now();
  let counted = 0;
  const count = (entries: number) => {
    counted += entries;
    if (counted <= maxEntries) return;
    const what = `The folder "${basename(path)}" cannot be served`;
    const why = `it holds more than ${maxEntries} files and folders`;
    const how = "where each level of a deep folder and each 64 KiB of a large file count";
    throw new CollectionsError("collection-too-large", `${what}: ${why}, ${how}.`);
  };

  /** Scans a folder and those below it. Throws the error of reading the folder itself. */
  const scan = async (at: CheckedPath, level: number): Promise<FoundFolder> => {
    // A path takes as long to check as it has levels. The folder above has counted the name.
    count(Math.max(0, level - 1));
    const fileNames: string[] = [];
    const folderNames: string[] = [];
    let omitted = 0;
    await checkFolder(at);
    for await (const entry of Deno.readDir(at.path)) {
      count(1);
      work.names++;
      if (!isServedName(entry.name)) continue;
      // Deno shows a name that is not UTF-8 with this character, and opens no file by it.
      if (entry.name.includes("\ufffd")) omitted++;
      else if (entry.isDirectory) folderNames.push(entry.name);
      else if (entry.isFile || entry.isSymlink) fileNames.push(entry.name);
    }
    const entries: ScannedEntry[] = [];
    const scanFiles = async () => {
      for (let name = fileNames.pop(); name !== undefined; name = fileNames.pop()) {
        const file = await scanFile(pathIn(at, name), name);
        if (file !== null) entries.push(file);
      }
    };
    await Promise.all(Array.from({ length: READ_AT_ONCE }, scanFiles)).catch((error) => {
      // The others end.
      fileNames.length = 0;
      throw error;
    });
    await checkFolder(at);
    for (const name of folderNames) {
      const below = await nullIfMissing(scan(pathIn(at, name), level + 1));
      if (below === null) continue;
      const { id, folder: { tree } } = below;
      if (tree.length === 0) omitted += tree.list.omitted;
      else entries.push({ name, kind: "folder", mode: "40000", id, size: 0 });
    }
    const found = await folderOf(entries, omitted, previous);
    folders.set(found.id, found.folder);
    return found;
  };

  /** The entry of a file or link. Null: it is deleted or unreadable. */
  const scanFile = async (at: CheckedPath, name: string): Promise<ScannedEntry | null> => {
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const info = await nullIfMissing(Deno.lstat(at.path));
      if (info === null || !(info.isFile || info.isSymlink)) return null;
      count(Math.floor(info.size / BLOCK_BYTES));
      const stamp = stampOf(at, info, startedAtMs);
      const id = previous?.blobIds.get(stamp) ?? await readId(at, info, work);
      if (id === null) continue;
      if (stamp !== "") blobIds.set(stamp, id);
      if (info.isSymlink) return { name, kind: "symbolic link", mode: "120000", id, size: 0 };
      const mode = (info.mode ?? 0) & 0o100 ? "100755" : "100644";
      return { name, kind: "file", mode, id, size: info.size };
    }
    return null;
  };

  const { id } = await scan(await checkedPath(path), 0).catch((error) => {
    // A file took its place.
    if (!(error instanceof Deno.errors.NotADirectory)) throw error;
    throw new Deno.errors.NotFound(error.message);
  });
  return { id, folders, blobIds };
}

type FoundFolder = Awaited<ReturnType<typeof folderOf>>;

async function checkFolder(at: CheckedPath): Promise<void> {
  if (await isReal(at)) return;
  throw new Deno.errors.NotFound(`Cannot scan "${at.path}": a link took its place`);
}

/** What does not change while a file does not; "" for a file that may change without it. */
function stampOf(at: CheckedPath, info: Deno.FileInfo, nowMs: number): string {
  const { size, mtime, ctime, dev, ino, mode } = info;
  // The change time cannot be set back, as the modification time can; not every file system has it.
  const changedAtMs = (ctime ?? mtime)?.getTime() ?? Infinity;
  if (changedAtMs + SETTLED_AFTER_MS > nowMs) return "";
  // Systems without inode numbers give 0 or null.
  return [size, mtime?.getTime(), ctime?.getTime(), dev, ino || at.path, mode].join();
}

/** The blob id of the file or link that `lstat` described. Null: something else is there by now. */
async function readId(at: CheckedPath, info: Deno.FileInfo, work: ScanWork) {
  if (info.isSymlink) {
    const target = await nullIfMissing(Deno.readLink(at.path));
    if (target === null || !await isInPlace(at, info)) return null;
    return blobId(new TextEncoder().encode(target));
  }
  work.reads++;
  work.blocks += Math.floor(info.size / BLOCK_BYTES);
  // If the file changes meanwhile, the id fits nothing, and the next scan reads the file again.
  const block = new Uint8Array(Math.min(info.size, BLOCK_BYTES));
  return (await readChecked(at, info, block))?.id ?? null;
}
