// Which items of a folder a list has and in what order, prepared once per tree and question; pages are cut from it.
// What needs every file's front matter may take long: a caller waits for a while, the work goes on without him.

import { LRUCache } from "lru-cache";
import { SingleFlight } from "../cache/single_flight.ts";
import { collectionNotReady, collectionTooLarge } from "../errors.ts";
import type { FileList } from "../repository/file_list.ts";
import type { FileRef } from "../repository/repository.ts";
import { type Filter, matchesFilters, needsFrontMatter } from "./filter_items.ts";
import type { Reading } from "./find_entry.ts";
import type { FrontMatters, FrontMatterStore } from "./front_matter_store.ts";
import type { PlainObject } from "./plain_data.ts";
import type { CollectionFolder } from "./resolve_collection.ts";
import { type Sort, SORT_BY_PATH, sortIndices } from "./sort_items.ts";

/** Which items are asked for. `key` tells this selection from others of the same tree. */
export interface Selection {
  readonly key: string;
  readonly sort: Sort;
  readonly filters: readonly Filter[];
}

/** What sorting and filtering by front matter may read at most. */
export const FRONT_MATTER_LIMITS = { maxFiles: 20_000, maxBytes: 256 << 20 };

const RETRY_AFTER_SECONDS = 5;

/** See the head of this file. */
export class PreparedLists {
  private readonly indices: LRUCache<string, Uint32Array>;
  private readonly flights = new SingleFlight<Uint32Array>();

  constructor(
    private readonly options: {
      maxBytes: number;
      /** How long a caller waits for front matter to be read. */
      waitMs: number;
      frontMatters: FrontMatterStore;
    },
  ) {
    this.indices = new LRUCache({
      maxSize: Math.max(1, Math.floor(options.maxBytes)),
      sizeCalculation: (value, key) => value.byteLength + 2 * key.length + 100,
    });
  }

  /** Bytes that are held. */
  get bytes(): number {
    return this.indices.calculatedSize;
  }

  /**
   * The indices of the selected files in their order, or null for all of them by path.
   * @throws {CollectionsError} collection-not-ready, collection-too-large, or a source failure.
   */
  async select(
    files: FileList,
    selection: Selection,
    { folder, reading }: { folder: CollectionFolder; reading: Reading },
  ): Promise<Uint32Array | null> {
    const { sort, filters } = selection;
    if (
      sort.by === "path" && !sort.descending && filters.length === 0 && folder.declared === null
    ) return null;
    const { owner, repo } = reading.snapshot.name;
    const key = JSON.stringify([
      `${owner}/${repo}`.toLowerCase(),
      folder.treeId,
      folder.declared?.key,
      selection.key,
    ]);
    const kept = this.indices.get(key);
    if (kept !== undefined) return kept;
    if (!needsFrontMatter(sort, filters)) {
      const indices = arrange(files, selection, { folder, frontMatters: new Map() });
      this.indices.set(key, indices);
      return indices;
    }
    requireReadable(files, folder);
    return await this.wait(key, folder, reading, async (signal) => {
      const refs = Array.from({ length: files.length }, (_, index): FileRef => {
        const { path, id, size } = files.at(index);
        return { path: folder.path === "" ? path : `${folder.path}/${path}`, id, size };
      });
      const caller = { signal, miss: reading.caller.miss.bind(reading.caller) };
      const frontMatters = await this.options.frontMatters.read(refs, { ...reading, caller }, {
        folder: folder.path,
      });
      for (const value of frontMatters.values()) if (value instanceof Error) throw value;
      const indices = arrange(files, selection, { folder, frontMatters });
      this.indices.set(key, indices);
      return indices;
    });
  }

  private async wait(
    key: string,
    folder: CollectionFolder,
    { caller }: Reading,
    work: (signal: AbortSignal) => Promise<Uint32Array>,
  ): Promise<Uint32Array> {
    const late = Promise.withResolvers<null>();
    const timer = setTimeout(() => late.resolve(null), this.options.waitMs);
    try {
      const ready = await Promise.race([this.flights.run(key, work, caller), late.promise]);
      if (ready !== null) return ready;
    } finally {
      clearTimeout(timer);
    }
    // One more who waits for the flight and never leaves, so that it ends well when this caller has gone.
    this.flights.run(key, work).catch(() => {});
    throw collectionNotReady(folder.path, RETRY_AFTER_SECONDS);
  }
}

function requireReadable(files: FileList, folder: CollectionFolder): void {
  const { maxFiles, maxBytes } = FRONT_MATTER_LIMITS;
  if (files.length > maxFiles) {
    throw collectionTooLarge(
      folder.path,
      `sorting or filtering by front matter reads at most ${maxFiles} files`,
    );
  }
  let bytes = 0;
  for (let index = 0; index < files.length; index++) bytes += files.sizeAt(index);
  if (bytes > maxBytes) {
    throw collectionTooLarge(
      folder.path,
      `sorting or filtering by front matter reads at most ${maxBytes} bytes`,
    );
  }
}

/** Filters, then sorts; the files are in byte order of path. */
function arrange(
  files: FileList,
  { sort, filters }: Selection,
  { folder, frontMatters }: { folder: CollectionFolder; frontMatters: FrontMatters },
): Uint32Array {
  const frontMatterAt = (index: number): PlainObject | null => {
    const value = frontMatters.get(files.idAt(index));
    return value === undefined || value instanceof Error ? null : value.frontMatter ?? null;
  };
  const nameAt = (index: number) => {
    const path = files.pathAt(index);
    return path.slice(path.lastIndexOf("/") + 1);
  };
  const chosen: number[] = [];
  for (let index = 0; index < files.length; index++) {
    if (filters.length > 0 || folder.declared !== null) {
      const path = files.pathAt(index);
      if (folder.declared !== null && !folder.declared.accepts(path)) continue;
      const item = {
        path,
        name: path.slice(path.lastIndexOf("/") + 1),
        frontMatter: frontMatterAt(index),
      };
      if (!matchesFilters(filters, item)) continue;
    }
    chosen.push(index);
  }
  if (sort === SORT_BY_PATH) return Uint32Array.from(chosen);
  const order = sortIndices(chosen.length, sort, {
    name: (place) => nameAt(chosen[place]!),
    size: (place) => files.sizeAt(chosen[place]!),
    frontMatter: (place) => frontMatterAt(chosen[place]!),
  });
  return order.map((place) => chosen[place]!);
}
