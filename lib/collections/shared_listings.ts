// Listings of large folders are heavy: each is made once for all who ask for it, few at the same time, and a folder
// that was found too large is not gone through again, since a tree id never changes what it stands for.

import { LRUCache } from "lru-cache";
import pLimit from "p-limit";
import { SingleFlight } from "../single_flight.ts";
import { CollectionsError } from "../errors.ts";
import type { FileList } from "../repository/file_list.ts";
import { type Caller, repositoryKey } from "../repository/repository.ts";
import type { Reading } from "./find_entry.ts";
import { listFiles } from "./list_files.ts";
import type { CollectionFolder } from "./resolve_collection.ts";

/** Walks through folders that their source cannot list in one answer; each may hold a million paths. */
const WALKS_AT_ONCE = 2;
const MAX_TOO_LARGE = 1_000;

/** See the head of this file. */
export class SharedListings {
  private readonly flights = new SingleFlight<{ files: FileList; asked: boolean }>();
  private readonly walks = pLimit(WALKS_AT_ONCE);
  private readonly tooLarge = new LRUCache<string, CollectionsError>({ max: MAX_TOO_LARGE });

  /** The files below a folder. @throws {CollectionsError} as {@linkcode listFiles}. */
  async list(folder: CollectionFolder, reading: Reading): Promise<FileList> {
    const { snapshot: { name }, caller } = reading;
    const key = `${repositoryKey(name)}\n${folder.treeId}\n${folder.path}`;
    const tooLarge = this.tooLarge.get(key);
    if (tooLarge !== undefined) throw tooLarge;
    while (true) {
      const joined = this.flights.has(key);
      try {
        const { files, asked } = await this.flights.run(key, async (signal) => {
          let asked = false;
          const miss: Caller["miss"] = (options) => {
            asked = true;
            caller.miss(options);
          };
          const shared = { ...reading, caller: { signal, miss } };
          return { files: await listFiles(folder, shared, this.walks), asked };
        }, caller);
        if (joined && asked) caller.miss({ joined });
        return files;
      } catch (error) {
        if (!(error instanceof CollectionsError)) throw error;
        if (error.code === "collection-too-large") this.tooLarge.set(key, error);
        // That the one who began may cause no more is no reason to refuse those who joined.
        if (!joined || error.code !== "too-many-requests") throw error;
      }
    }
  }
}
