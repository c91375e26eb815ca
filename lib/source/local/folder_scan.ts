// One scan of a local folder: which files there are, with Git's ids for them and for their folders. Only what may be
// served is listed: no name that begins with a dot, no `node_modules`, no device. Links are never followed, even if the
// author puts one in the place of a folder during the scan. A file that an earlier scan listed, and that has the same name,
// times and inode, is listed again. Any other file is listed only after its folder's path was checked (folder_trail.ts).

import { basename, dirname } from "@std/path";
import type { Clock } from "../../clock.ts";
import { CollectionsError } from "../../errors.ts";
import { blobId } from "../git_object_id.ts";
import { BLOCK_BYTES, hashChecked, nullIfMissing } from "./checked_file.ts";
import {
  findFile,
  findFolder,
  folderOf,
  type FolderState,
  type ScannedEntry,
  type ScannedFile,
  type ScannedFolder,
} from "./folder_state.ts";
import { CHANGE_TIME_RESOLUTION_MS, FolderTrail } from "./folder_trail.ts";

const READ_AT_ONCE = 16;
/** How often a file or folder is read if it changes meanwhile. */
const MAX_TRIES = 3;
/** How often a scan waits until a change of a folder is old enough to tell it from the next one. */
const MAX_WAITS = 2;
/** A file may change again within the resolution of its times, which is two seconds where it is coarsest. */
const SETTLED_AFTER_MS = 2_000;

/** What a scan has done, whether it succeeds or fails. */
export interface ScanWork {
  /** How many names were listed. */
  names: number;
  /** How many files were read, and how many whole blocks they had. */
  reads: number;
  blocks: number;
  waitedMs: number;
}

interface ScanOptions {
  /**
   * How many files and folders there may be. A folder counts once for each level that it is below the root, and a large
   * file once for each block, so that this bounds the whole work.
   */
  readonly maxEntries: number;
  readonly clock: Pick<Clock, "now" | "sleep">;
  /** The scan adds to these numbers. */
  readonly work: ScanWork;
}

/** Whether a path segment is served at all. */
export const isServedName = (name: string) => !name.startsWith(".") && name !== "node_modules";

/**
 * Scans the folder at `path`. `previous` is the result of the last scan, which is returned again if nothing changed. A
 * file or folder that may not be read, or that changes again and again, is left out. Any other failure fails the scan,
 * since a short list would be a wrong answer.
 * @throws {CollectionsError} collection-too-large past `maxEntries`.
 * @throws {Deno.errors.NotFound} where there is no such folder or it is a link, and whatever else reading it gives.
 */
export async function scanFolder(
  path: string,
  previous: FolderState | null,
  options: ScanOptions,
): Promise<FolderState> {
  const above = new FolderTrail(dirname(path), null, options.clock);
  await above.record();
  const scan = new FolderScan(basename(path), options);
  const trail = new FolderTrail(path, above, options.clock);
  const root = await scan.scan("", trail, 0, previous?.root).catch((error) => {
    // A file or link took its place.
    if (!(error instanceof Deno.errors.NotADirectory)) throw error;
    throw new Deno.errors.NotFound(error.message);
  });
  return root === previous?.root ? previous : { root, folders: scan.folders };
}

/** One folder: the names of its sub-folders, the files that an earlier scan listed, and the others. */
interface Listing {
  readonly folderNames: string[];
  readonly known: ScannedFile[];
  readonly found: ScannedFile[];
  omitted: number;
}

class FolderScan {
  /** By tree id. */
  readonly folders = new Map<string, ScannedFolder>();
  private readonly startedAtMs: number;
  private entries = 0;
  private waits = 0;

  constructor(private readonly rootName: string, private readonly options: ScanOptions) {
    this.startedAtMs = options.clock.now();
  }

  /** Scans a folder and those below it. Throws the error of reading the folder itself. */
  async scan(
    name: string,
    trail: FolderTrail,
    level: number,
    previous: ScannedFolder | undefined,
  ): Promise<ScannedFolder> {
    // A check of the trail looks at each level. The folder above has counted the name.
    this.count(Math.max(0, level - 1));
    await trail.record();
    const { folderNames, known, found, omitted } = await this.list(trail, previous);
    const entries: ScannedEntry[] = [...known, ...found];
    let omittedBelow = 0;
    let isSame = found.length === 0;
    for (const name of folderNames) {
      const path = `${trail.path}/${name}`;
      const before = findFolder(previous, name);
      const below = await nullIfMissing(
        this.scan(name, new FolderTrail(path, trail, this.options.clock), level + 1, before),
      );
      if (below !== null && below.entries.length > 0) {
        entries.push(below);
        isSame &&= below === before;
      } else omittedBelow += below?.omitted ?? 0;
    }
    const all = { name, entries, omitted: omitted + omittedBelow };
    isSame &&= all.entries.length === previous?.entries.length && all.omitted === previous.omitted;
    const folder = isSame && previous ? previous : await folderOf(all);
    this.folders.set(folder.id, folder);
    return folder;
  }

  /** Lists a folder. Files that no earlier scan listed are left out if the path may have named another folder. */
  private async list(trail: FolderTrail, previous: ScannedFolder | undefined): Promise<Listing> {
    for (let tries = 1;; tries++) {
      const { entries } = this;
      const listing = await this.read(trail, previous);
      if (listing.found.length === 0 || await trail.held()) return listing;
      if (tries === MAX_TRIES) return { ...listing, found: [] };
      this.entries = entries;
      await trail.renew();
      if (trail.isSettled() || this.waits === MAX_WAITS) continue;
      this.waits++;
      this.options.work.waitedMs += CHANGE_TIME_RESOLUTION_MS;
      await this.options.clock.sleep(CHANGE_TIME_RESOLUTION_MS);
      await trail.renew();
    }
  }

  private async read(trail: FolderTrail, previous: ScannedFolder | undefined): Promise<Listing> {
    const fileNames: string[] = [];
    const listing: Listing = { folderNames: [], known: [], found: [], omitted: 0 };
    for await (const entry of Deno.readDir(trail.path)) {
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
      const file = await this.scanFile(`${trail.path}/${name}`, name, before);
      if (file !== null) (file === before ? listing.known : listing.found).push(file);
    });
    return listing;
  }

  /** Returns the previous entry of a file or link if it still fits, or a new one. Null: it is deleted or unreadable. */
  private async scanFile(
    path: string,
    name: string,
    previous: ScannedFile | undefined,
  ): Promise<ScannedFile | null> {
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const info = await nullIfMissing(Deno.lstat(path));
      if (info === null || !(info.isFile || info.isSymlink)) return null;
      this.count(Math.floor(info.size / BLOCK_BYTES));
      const stamp = this.stampOf(info);
      if (previous !== undefined && stamp !== "" && previous.stamp === stamp) return previous;
      const file = await this.readFile(path, name, info);
      if (file === null) continue;
      const isSame = file.id === previous?.id && file.mode === previous.mode;
      return Object.assign(isSame ? previous : file, { stamp });
    }
    return null;
  }

  /** Reads what `lstat` described. Null: something else is there by now. */
  private async readFile(path: string, name: string, info: Deno.FileInfo) {
    if (info.isSymlink) {
      const target = await nullIfMissing(Deno.readLink(path));
      if (target === null) return null;
      const id = blobId(new TextEncoder().encode(target));
      return { name, kind: "symbolic link", mode: "120000", id, size: 0 } as const;
    }
    const { size } = info;
    this.options.work.reads++;
    this.options.work.blocks += Math.floor(size / BLOCK_BYTES);
    // If the file changes meanwhile, the id fits nothing, and the next scan reads the file again.
    const id = await hashChecked(path, info);
    if (id === null) return null;
    const mode = (info.mode ?? 0) & 0o100 ? "100755" : "100644";
    return { name, kind: "file", mode, id, size } as const;
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
