// Finds the folder of a repository directly below a root. Names come from the root's listing alone, never from joining
// what was asked for to a path, so nothing outside can be named; links are no repositories.

import { join } from "@std/path";
import { sourceFailed } from "../errors.ts";
import { describeError } from "../log.ts";
import { isServedName, type ScanOptions } from "./folder_scan.ts";
import { WatchedFolder } from "./watched_folder.ts";

/** The folders below one root that were asked for so far. */
export class LocalFolders {
  readonly #folders = new Map<string, WatchedFolder>();

  constructor(
    private readonly root: string,
    private readonly options: Omit<ScanOptions, "previous">,
  ) {}

  /**
   * The folder with this name, else the first whose name differs in case only, else null.
   * @throws {CollectionsError} source-failed where the root cannot be listed.
   */
  async find(name: string): Promise<WatchedFolder | null> {
    const known = this.#folders.get(name);
    if (known !== undefined) return known;
    const found = matchName(await this.#list(), name);
    if (found === null) return null;
    const folder = this.#folders.get(found) ??
      new WatchedFolder(join(this.root, found), this.options);
    this.#folders.set(found, folder);
    return folder;
  }

  /** What `find` gave for this name, if it is not forgotten. */
  known(name: string): WatchedFolder | null {
    const found = matchName([...this.#folders.keys()], name);
    return found === null ? null : this.#folders.get(found) ?? null;
  }

  /** Forgets a folder that is gone. */
  forget(folder: WatchedFolder): void {
    for (const [name, known] of this.#folders) if (known === folder) this.#folders.delete(name);
  }

  async #list(): Promise<string[]> {
    try {
      const entries = await Array.fromAsync(Deno.readDir(this.root));
      return entries.filter((entry) => entry.isDirectory && isServedName(entry.name))
        .map((entry) => entry.name);
    } catch (cause) {
      // The log must not tell where on this machine the folders are.
      const { error } = describeError(cause);
      throw sourceFailed(`Cannot list "the local folders": ${error}`, { cause });
    }
  }
}

function matchName(names: readonly string[], asked: string): string | null {
  if (names.includes(asked)) return asked;
  const lowerCase = asked.toLowerCase();
  return names.filter((name) => name.toLowerCase() === lowerCase).sort()[0] ?? null;
}
