// One look at a local folder: which files there are, with Git's ids for them and for the folders that hold them. Only
// what may be served is seen, and a file is read again only when its size, times or inode say that it may have changed.

import { join } from "@std/path";
import type { TreeEntry } from "./repository.ts";
import { blobHash, blobId, type GitMode, inGitOrder, treeId } from "./git_object_id.ts";

/** Times of a file system can be this coarse, in ms: what changed this shortly before it was read may change unseen. */
const RACY_MS = 2000;
const STREAM_FROM_BYTES = 1 << 20;
const LISTED_AT_ONCE = 32;
const READ_AT_ONCE = 8;
const FOLDERS_PER_TURN = 500;

/** A file or a symbolic link; a link's id is that of its target's path, as in Git. */
export interface ScannedFile extends TreeEntry {
  readonly kind: "file" | "symbolic link";
  readonly mode: GitMode;
  /** Size, times, inode and mode when it was read: while they stand, so does its id. */
  readonly stamp: string;
  /** Whether the stamp can be relied on. Git calls the others racy (its racy-git document); they are read again. */
  settled: boolean;
}

/** A folder with something to serve in it, entries by name in Git's order. */
export interface ScannedFolder extends TreeEntry {
  readonly kind: "folder";
  readonly mode: "40000";
  readonly entries: ReadonlyMap<string, ScannedEntry>;
}

/** What a folder can hold: names that begin with a dot, `node_modules`, devices and the like are not seen. */
export type ScannedEntry = ScannedFile | ScannedFolder;

/** How a folder is looked at. */
export interface ScanOptions {
  /** What the last look gave, to take the ids of unchanged files from. */
  readonly previous: ScannedFolder | null;
  /** Milliseconds since the epoch, by the clock that file times are given in. */
  readonly now: () => number;
  /** How many files and folders there may be. */
  readonly maxEntries: number;
  /** How many folders may lie in each other. */
  readonly maxDepth: number;
}

/** A folder is past the bounds of {@linkcode ScanOptions}. */
export class FolderTooLargeError extends Error {
  override readonly name = "FolderTooLargeError";
}

interface FoundFolder {
  readonly name: string;
  readonly previous: ScannedFolder | null;
  readonly folders: FoundFolder[];
  readonly entries: Map<string, ScannedEntry>;
}

interface UnreadFile {
  readonly parent: FoundFolder;
  readonly name: string;
  readonly path: string;
}

/**
 * Looks at the folder at `path`, links not followed. What may not be read, or is gone before it is read, is left out,
 * and so is a name that is not UTF-8; any other failure fails the look, since a list that is short is a wrong one.
 * @throws {FolderTooLargeError} past the bounds, before any file is read.
 * @throws {Deno.errors.NotFound} where there is no such folder, and whatever else reading it gives.
 */
export async function scanFolder(path: string, options: ScanOptions): Promise<ScannedFolder> {
  const scan = new Scan(options);
  const found = await scan.find("", { path, depth: 0, previous: options.previous });
  await inParallel(READ_AT_ONCE, scan.unread, (file) => scan.read(file));
  return await scan.finish(found);
}

class Scan {
  readonly unread: UnreadFile[] = [];
  #entries = 0;
  #finished = 0;

  constructor(private readonly options: ScanOptions) {}

  /** Walks a folder; unchanged files are taken over at once, the others are noted in `unread`. */
  async find(
    name: string,
    at: { path: string; depth: number; previous: ScannedFolder | null },
  ): Promise<FoundFolder> {
    const found: FoundFolder = { name, previous: at.previous, folders: [], entries: new Map() };
    const files: string[] = [];
    const folders: string[] = [];
    for await (const entry of Deno.readDir(at.path)) {
      if (!isServedName(entry.name)) continue;
      if (entry.isDirectory) folders.push(entry.name);
      else if (entry.isFile || entry.isSymlink) files.push(entry.name);
      else continue;
      if (++this.#entries > this.options.maxEntries) {
        throw new FolderTooLargeError(
          `it has more than ${this.options.maxEntries} files and folders`,
        );
      }
    }
    await inParallel(LISTED_AT_ONCE, files, async (file) => {
      const path = join(at.path, file);
      const previous = at.previous?.entries.get(file);
      if (previous !== undefined && previous.kind !== "folder" && previous.settled) {
        const info = await unlessGone(Deno.lstat(path));
        if (info === null) return;
        if (stampOf(info) === previous.stamp) return void found.entries.set(file, previous);
      }
      this.unread.push({ parent: found, name: file, path });
    });
    for (const folder of folders) {
      if (at.depth >= this.options.maxDepth) {
        throw new FolderTooLargeError(
          `more than ${this.options.maxDepth} folders lie in each other`,
        );
      }
      const previous = at.previous?.entries.get(folder);
      const below = await unlessGone(this.find(folder, {
        path: join(at.path, folder),
        depth: at.depth + 1,
        previous: previous?.kind === "folder" ? previous : null,
      }));
      if (below !== null) found.folders.push(below);
    }
    return found;
  }

  /** Gives a file or link its id and puts it into its folder. */
  async read(file: UnreadFile): Promise<void> {
    const info = await unlessGone(Deno.lstat(file.path));
    const startedAtMs = this.options.now();
    if (info === null || !(info.isFile || info.isSymlink)) return;
    const content = await unlessGone(
      info.isSymlink ? hashLink(file.path) : hashFile(file.path, info.size),
    );
    if (content === null) return;
    const executable = info.mode !== null && (info.mode & 0o100) !== 0;
    // The change time cannot be set back, so it is what tells, where there is one.
    const changedAtMs = (info.ctime ?? info.mtime)?.getTime() ?? Infinity;
    file.parent.entries.set(file.name, {
      name: file.name,
      kind: info.isSymlink ? "symbolic link" : "file",
      mode: info.isSymlink ? "120000" : executable ? "100755" : "100644",
      ...content,
      stamp: stampOf(info),
      settled: changedAtMs + RACY_MS <= startedAtMs,
    });
  }

  /** Gives folders their ids, from the deepest up. One without a file in it does not exist, as in Git. */
  async finish(found: FoundFolder): Promise<ScannedFolder> {
    // Hashing waits for nothing, so the rest of the service gets its turn here.
    if (++this.#finished % FOLDERS_PER_TURN === 0) await new Promise((done) => setTimeout(done));
    for (const folder of found.folders) {
      const below = await this.finish(folder);
      if (below.entries.size > 0) found.entries.set(below.name, below);
    }
    if (found.previous !== null && holdsTheSame(found.previous, found.entries)) {
      return found.previous;
    }
    const entries = inGitOrder([...found.entries.values()]);
    return {
      name: found.name,
      kind: "folder",
      mode: "40000",
      id: treeId(entries),
      size: 0,
      entries: new Map(entries.map((entry) => [entry.name, entry])),
    };
  }
}

/** Whether a path segment is served: it does not begin with a dot and is not `node_modules`. */
export function isServedName(name: string): boolean {
  return !name.startsWith(".") && name !== "node_modules";
}

function stampOf(info: Deno.FileInfo): string {
  return [info.size, info.mtime?.getTime(), info.ctime?.getTime(), info.ino, info.mode].join();
}

function holdsTheSame(folder: ScannedFolder, entries: ReadonlyMap<string, ScannedEntry>): boolean {
  if (folder.entries.size !== entries.size) return false;
  for (const [name, entry] of entries) if (folder.entries.get(name) !== entry) return false;
  return true;
}

async function hashLink(path: string): Promise<{ id: string; size: number }> {
  return { id: blobId(new TextEncoder().encode(await Deno.readLink(path))), size: 0 };
}

async function hashFile(path: string, size: number): Promise<{ id: string; size: number }> {
  if (size < STREAM_FROM_BYTES) {
    const bytes = await Deno.readFile(path);
    return { id: blobId(bytes), size: bytes.length };
  }
  // Git's header says the size first. What grows meanwhile is hashed as far as it went, what shrinks anew.
  using file = await Deno.open(path);
  const hash = blobHash(size);
  const buffer = new Uint8Array(256 * 1024);
  let left = size;
  while (left > 0) {
    const read = await file.read(buffer.subarray(0, left));
    if (read === null) return await hashFile(path, size - left);
    hash.update(buffer.subarray(0, read));
    left -= read;
  }
  return { id: hash.digest("hex"), size };
}

/** What a read gives, or null where its subject is gone, may not be read, or has a name or target that is not UTF-8. */
async function unlessGone<T>(read: Promise<T>): Promise<T | null> {
  try {
    return await read;
  } catch (error) {
    if (
      error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied ||
      error instanceof Deno.errors.NotADirectory || error instanceof Deno.errors.IsADirectory ||
      error instanceof Deno.errors.InvalidData
    ) return null;
    throw error;
  }
}

/** Runs `work` for every item, at most `limit` at once; the first failure ends it. */
async function inParallel<T>(
  limit: number,
  items: Iterable<T>,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const shared = items[Symbol.iterator]();
  const workers = Array.from({ length: limit }, async () => {
    for (let next = shared.next(); !next.done; next = shared.next()) await work(next.value);
  });
  await Promise.all(workers);
}
