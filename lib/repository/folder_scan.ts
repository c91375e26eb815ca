// One look at a local folder: which files there are, with Git's ids for them and for the folders that hold them. Only
// what may be served is seen: no name that begins with a dot, no `node_modules`, no device; links are never followed.

import { join } from "@std/path";
import type { TreeEntry } from "./repository.ts";
import { inGitOrder, treeId } from "./git_object_id.ts";
import { inParallel } from "./in_parallel.ts";
import { scanFile, type ScannedFile, unlessGone } from "./scanned_file.ts";

const READ_AT_ONCE = 16;
const FOLDERS_PER_TURN = 500;

/** A folder with something to serve in it, entries by name in Git's order. */
export interface ScannedFolder extends TreeEntry {
  readonly kind: "folder";
  readonly mode: "40000";
  readonly entries: ReadonlyMap<string, ScannedFile | ScannedFolder>;
}

/** How a folder is looked at. */
export interface ScanOptions {
  /** What the last look gave; the same object is given again where nothing changed. */
  readonly previous: ScannedFolder | null;
  /** Milliseconds since the epoch, by the clock of the file system. */
  readonly now: () => number;
  /** How many files and folders there may be. */
  readonly maxEntries: number;
  /** How many folders may lie in each other. */
  readonly maxDepth: number;
}

/** A folder is past the bounds of {@linkcode ScanOptions}; the message says how. */
export class FolderTooLargeError extends Error {
  override readonly name = "FolderTooLargeError";
}

/** A folder whose names are known; its files are put into `entries` as they are read. */
interface FoundFolder {
  readonly name: string;
  readonly path: string;
  readonly previous: ScannedFolder | null;
  readonly files: string[];
  readonly folders: FoundFolder[];
  readonly entries: Map<string, ScannedFile | ScannedFolder>;
}

/**
 * Looks at the folder at `path`. What may not be read, or is gone before it is read, is left out, and so is a name that
 * is not UTF-8; any other failure fails the look, since a short list would be a wrong answer.
 * @throws {FolderTooLargeError} past the bounds, before any file is read.
 * @throws {Deno.errors.NotFound} where there is no such folder or it is a link, and whatever else reading it gives.
 */
export async function scanFolder(path: string, options: ScanOptions): Promise<ScannedFolder> {
  if (!(await Deno.lstat(path)).isDirectory) {
    throw new Deno.errors.NotFound(`Cannot scan "${path}": it is not a folder`);
  }
  const scan = new Scan(options);
  const root = await scan.find(path, { name: "", previous: options.previous, depth: 0 });
  await inParallel(filesOf(root), (file) => scan.read(file), { limit: READ_AT_ONCE });
  return await scan.finish(root);
}

/** Whether a path segment is served at all. */
export function isServedName(name: string): boolean {
  return !name.startsWith(".") && name !== "node_modules";
}

class Scan {
  #entries = 0;
  #finished = 0;

  constructor(private readonly options: ScanOptions) {}

  async find(
    path: string,
    at: { name: string; previous: ScannedFolder | null; depth: number },
  ): Promise<FoundFolder> {
    const { maxEntries, maxDepth } = this.options;
    const { name, previous } = at;
    const found: FoundFolder = {
      name,
      path,
      previous,
      files: [],
      folders: [],
      entries: new Map(),
    };
    const folders: string[] = [];
    for await (const entry of Deno.readDir(path)) {
      if (!isServedName(entry.name)) continue;
      if (entry.isDirectory) folders.push(entry.name);
      else if (entry.isFile || entry.isSymlink) found.files.push(entry.name);
      else continue;
      if (++this.#entries > maxEntries) {
        throw new FolderTooLargeError(`it holds more than ${maxEntries} files and folders`);
      }
    }
    if (folders.length > 0 && at.depth >= maxDepth) {
      throw new FolderTooLargeError(`more than ${maxDepth} folders lie in each other`);
    }
    for (const folder of folders) {
      const before = previous?.entries.get(folder);
      const below = await unlessGone(this.find(join(path, folder), {
        name: folder,
        previous: before?.kind === "folder" ? before : null,
        depth: at.depth + 1,
      }));
      if (below !== null) found.folders.push(below);
    }
    return found;
  }

  async read({ parent, name }: { parent: FoundFolder; name: string }): Promise<void> {
    const previous = parent.previous?.entries.get(name);
    const file = await scanFile(join(parent.path, name), {
      name,
      previous: previous === undefined || previous.kind === "folder" ? null : previous,
      now: this.options.now,
    });
    if (file !== null) parent.entries.set(name, file);
  }

  /** Gives folders their ids, from the deepest up. One without a file in it does not exist, as in Git. */
  async finish(found: FoundFolder): Promise<ScannedFolder> {
    // This waits for no disk, so the rest of the service would not get its turn by itself.
    if (++this.#finished % FOLDERS_PER_TURN === 0) await new Promise((done) => setTimeout(done));
    for (const folder of found.folders) {
      const below = await this.finish(folder);
      if (below.entries.size > 0) found.entries.set(below.name, below);
    }
    if (found.previous !== null && isUnchanged(found.previous, found.entries)) {
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

function* filesOf(parent: FoundFolder): Generator<{ parent: FoundFolder; name: string }> {
  for (const name of parent.files) yield { parent, name };
  for (const folder of parent.folders) yield* filesOf(folder);
}

function isUnchanged(folder: ScannedFolder, entries: FoundFolder["entries"]): boolean {
  if (folder.entries.size !== entries.size) return false;
  for (const [name, entry] of entries) if (folder.entries.get(name) !== entry) return false;
  return true;
}
