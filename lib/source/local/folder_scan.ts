// One scan of a local folder: which files there are, with Git's ids for them and for their folders. Only what may be
// served is listed: no name that begins with a dot, no `node_modules`, no device. Links are never followed, even if the
// author puts one in the place of a folder during the scan: see checked_file.ts. A file that an earlier scan listed, and
// that has the same name, times and inode, is listed again without reading it.

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
  findFile,
  findFolder,
  folderOf,
  type FolderState,
  type ScannedEntry,
  type ScannedFile,
  type ScannedFolder,
} from "./folder_state.ts";

const READ_AT_ONCE = 16;
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

interface ScanOptions {
  /**
   * How many files and folders there may be. A folder counts once for each level that it is below the root, and a large
   * file once for each block, so that this bounds the whole work.
   */
  readonly maxEntries: number;
  readonly clock: Pick<Clock, "now">;
  /** The scan adds to these numbers. */
  readonly work: ScanWork;
}

/** Whether a path segment is served at all. */
export const isServedName = (name: string) => !name.startsWith(".") && name !== "node_modules";

/**
 * Scans the folder at `path`. `previous` is the result of the last scan, which is returned again if nothing changed. A
 * file or folder that may not be read, a file that is replaced again and again, and a folder that is replaced meanwhile
 * are left out. The next scan lists every folder again. Any other failure fails the scan, since a short list would be a
 * wrong answer.
 * @throws {CollectionsError} collection-too-large past `maxEntries`.
 * @throws {Deno.errors.NotFound} where there is no such folder or it is a link, and whatever else reading it gives.
 */
export async function scanFolder(
  path: string,
  previous: FolderState | null,
  options: ScanOptions,
): Promise<FolderState> {
  const scan = new FolderScan(basename(path), options);
  const root = await scan.scan("", await checkedPath(path), 0, previous?.root).catch((error) => {
    // A file took its place.
    if (!(error instanceof Deno.errors.NotADirectory)) throw error;
    throw new Deno.errors.NotFound(error.message);
  });
  return root === previous?.root ? previous : { root, folders: scan.folders };
}

/** One folder: its files and links, and the names of its sub-folders. */
interface Listing {
  readonly files: ScannedFile[];
  readonly folderNames: string[];
  omitted: number;
  /** Whether an earlier scan listed each file. */
  isSame: boolean;
}

class FolderScan {
  /** By tree id. */
  readonly folders = new Map<string, ScannedFolder>();
  private readonly startedAtMs: number;
  private entries = 0;

  constructor(private readonly rootName: string, private readonly options: ScanOptions) {
    this.startedAtMs = options.clock.now();
  }

  /** Scans a folder and those below it. Throws the error of reading the folder itself. */
  async scan(
    name: string,
    at: CheckedPath,
    level: number,
    previous: ScannedFolder | undefined,
  ): Promise<ScannedFolder> {
    // A path takes as long to check as it has levels. The folder above has counted the name.
    this.count(Math.max(0, level - 1));
    const listing = await this.list(at, previous);
    let { omitted, isSame } = listing;
    const entries: ScannedEntry[] = listing.files;
    for (const name of listing.folderNames) {
      const before = findFolder(previous, name);
      const below = await nullIfMissing(this.scan(name, pathIn(at, name), level + 1, before));
      if (below !== null && below.entries.length > 0) {
        entries.push(below);
        isSame &&= below === before;
      } else omitted += below?.omitted ?? 0;
    }
    const all = { name, entries, omitted };
    isSame &&= all.entries.length === previous?.entries.length && all.omitted === previous.omitted;
    const folder = isSame && previous ? previous : await folderOf(all);
    this.folders.set(folder.id, folder);
    return folder;
  }

  /** Lists a folder. @throws {Deno.errors.NotFound} if a link takes its place meanwhile. */
  private async list(at: CheckedPath, previous: ScannedFolder | undefined): Promise<Listing> {
    const fileNames: string[] = [];
    const listing: Listing = { files: [], folderNames: [], omitted: 0, isSame: true };
    await checkFolder(at);
    for await (const entry of Deno.readDir(at.path)) {
      this.count(1);
      this.options.work.names++;
      if (!isServedName(entry.name)) continue;
      // Deno shows a name that is not UTF-8 with this character, and opens no file by it.
      if (entry.name.includes("\ufffd")) listing.omitted++;
      else if (entry.isDirectory) listing.folderNames.push(entry.name);
      else if (entry.isFile || entry.isSymlink) fileNames.push(entry.name);
    }
    await forEach(fileNames, async (name) => {
      const before = findFile(previous, name);
      const file = await this.scanFile(pathIn(at, name), name, before);
      if (file === null) return;
      listing.files.push(file);
      listing.isSame &&= file === before;
    });
    await checkFolder(at);
    return listing;
  }

  /** Returns the previous entry of a file or link if it still fits, or a new one. Null: it is deleted or unreadable. */
  private async scanFile(
    at: CheckedPath,
    name: string,
    previous: ScannedFile | undefined,
  ): Promise<ScannedFile | null> {
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const info = await nullIfMissing(Deno.lstat(at.path));
      if (info === null || !(info.isFile || info.isSymlink)) return null;
      this.count(Math.floor(info.size / BLOCK_BYTES));
      const stamp = this.stampOf(info);
      if (previous !== undefined && stamp !== "" && previous.stamp === stamp) return previous;
      const file = await this.readFile(at, name, info);
      if (file === null) continue;
      const isSame = file.id === previous?.id && file.mode === previous.mode;
      return Object.assign(isSame ? previous : file, { stamp });
    }
    return null;
  }

  /** Reads what `lstat` described. Null: something else is there by now. */
  private async readFile(at: CheckedPath, name: string, info: Deno.FileInfo) {
    if (info.isSymlink) {
      const target = await nullIfMissing(Deno.readLink(at.path));
      if (target === null || !await isInPlace(at, info)) return null;
      const id = blobId(new TextEncoder().encode(target));
      return { name, kind: "symbolic link", mode: "120000", id, size: 0 } as const;
    }
    const { size } = info;
    this.options.work.reads++;
    this.options.work.blocks += Math.floor(size / BLOCK_BYTES);
    // If the file changes meanwhile, the id fits nothing, and the next scan reads the file again.
    const content = await readChecked(at, info, new Uint8Array(Math.min(size, BLOCK_BYTES)));
    if (content === null) return null;
    const mode = (info.mode ?? 0) & 0o100 ? "100755" : "100644";
    return { name, kind: "file", mode, id: content.id, size } as const;
  }

  private stampOf({ size, mtime, ctime, dev, ino, mode }: Deno.FileInfo): string {
    // The change time cannot be set back, as the modification time can; not every file system has it.
    const changedAtMs = (ctime ?? mtime)?.getTime() ?? Infinity;
    if (changedAtMs + SETTLED_AFTER_MS > this.startedAtMs) return "";
    return [size, mtime?.getTime(), ctime?.getTime(), dev, ino, mode].join();
  }

  private count(entries: number): void {
    this.entries += entries;
    const { maxEntries } = this.options;
    if (this.entries <= maxEntries) return;
    const what = `The folder "${this.rootName}" cannot be served`;
    const why = `it holds more than ${maxEntries} files and folders`;
    const how = "where each level of a deep folder and each 64 KiB of a large file count";
    throw new CollectionsError("collection-too-large", `${what}: ${why}, ${how}.`);
  }
}

async function checkFolder(at: CheckedPath): Promise<void> {
  if (await isReal(at)) return;
  throw new Deno.errors.NotFound(`Cannot scan "${at.path}": a link took its place`);
}

/** Calls `work` for each item, a few at once. Starts no more after a failure. */
async function forEach<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      await work(items[next++]!).catch((error) => {
        next = items.length;
        throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: Math.min(READ_AT_ONCE, items.length) }, worker));
}
