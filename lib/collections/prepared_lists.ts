// Lists that are not simply all files by path, prepared once per tree and question; pages are cut from them. Where
// front matter has to be read this may take long: a caller waits for a while, and the work goes on without him.

import { LRUCache } from "lru-cache";
import pLimit from "p-limit";
import { collectionNotReady, collectionTooLarge } from "../errors.ts";
import { Slices } from "../give_way.ts";
import type { FileList } from "../repository/file_list.ts";
import { type FileRef, repositoryKey } from "../repository/repository.ts";
import { needsFrontMatter } from "./filter_items.ts";
import type { Reading } from "./find_entry.ts";
import type { FrontMatterStore } from "./front_matter_store.ts";
import { LongWork } from "./long_work.ts";
import type { CollectionFolder } from "./resolve_collection.ts";
import { arrange, selectByPath, type Selection } from "./selection.ts";

/** What sorting and filtering by front matter may read at most. */
const FRONT_MATTER_LIMITS = { maxFiles: 20_000, maxBytes: 256 << 20 };

/** Where a list is asked for; `startedAtTick` is when, by `performance.now()`. */
export interface ListPlace {
  readonly folder: CollectionFolder;
  readonly reading: Reading;
  readonly startedAtTick: number;
}

const RETRY_AFTER_SECONDS = 5;
/** Of the time that a caller waits: what is left to him at least, however long the listing took. */
const LEAST_SHARE = 0.1;
/** Preparations at once, since each holds its files' front matter. */
const READING_AT_ONCE = 8;
const ARRANGING_AT_ONCE = 4;

/** See the head of this file. */
export class PreparedLists {
  private readonly lists: LRUCache<string, Uint32Array>;
  private readonly work = new LongWork<Uint32Array>();
  private readonly reading = pLimit(READING_AT_ONCE);
  private readonly arranging = pLimit(ARRANGING_AT_ONCE);

  constructor(
    private readonly options: {
      maxBytes: number;
      /** How long a caller waits at most. */
      waitMs: number;
      frontMatters: FrontMatterStore;
    },
  ) {
    this.lists = new LRUCache({
      maxSize: Math.max(1, Math.floor(options.maxBytes)),
      sizeCalculation: (value, key) => value.byteLength + 2 * key.length + 100,
    });
  }

  /** Bytes that are held. */
  get bytes(): number {
    return this.lists.calculatedSize;
  }

  /**
   * The indices of the selected files in their order, or null for all of them by path.
   * @throws {CollectionsError} collection-not-ready, collection-too-large, or a source failure.
   */
  async select(
    files: FileList,
    selection: Selection,
    place: ListPlace,
  ): Promise<Uint32Array | null> {
    const { sort, filters } = selection;
    const { folder, reading } = place;
    if (
      sort.by === "path" && !sort.descending && filters.length === 0 && folder.declared === null
    ) return null;
    const key = JSON.stringify([
      repositoryKey(reading.snapshot.name),
      folder.treeId,
      folder.declared?.key,
      selection.key,
    ]);
    const kept = this.lists.get(key);
    if (kept !== undefined) return kept;
    const { waitMs } = this.options;
    const leftMs = waitMs - (performance.now() - place.startedAtTick);
    const list = await this.work.run(key, async (signal) => {
      const limit = needsFrontMatter(sort, filters) ? this.reading : this.arranging;
      const list = await limit(() => this.prepare(files, selection, { place, signal }));
      this.lists.set(key, list);
      return list;
    }, { signal: reading.caller.signal, waitMs: Math.max(leftMs, waitMs * LEAST_SHARE) });
    if (list === null) throw collectionNotReady(nameOf(folder), RETRY_AFTER_SECONDS);
    return list;
  }

  /** Ends what goes on in the background. */
  close(): void {
    this.work.close();
  }

  private async prepare(
    files: FileList,
    selection: Selection,
    { place: { folder, reading }, signal }: { place: ListPlace; signal: AbortSignal },
  ): Promise<Uint32Array> {
    signal.throwIfAborted();
    const { frontMatters } = this.options;
    const chosen = await selectByPath(files, selection, folder.declared?.accepts ?? (() => true));
    if (!needsFrontMatter(selection.sort, selection.filters)) {
      return await arrange({ files, chosen }, selection, () => null);
    }
    const readable = await this.readableFiles({ files, chosen }, folder);
    const caller = { signal, miss: reading.caller.miss.bind(reading.caller) };
    const found = await frontMatters.read([...readable.values()], { ...reading, caller }, {
      folder: folder.path,
    });
    for (const value of found.values()) if (value instanceof Error) throw value;
    return await arrange({ files, chosen }, selection, (index) => {
      const value = readable.has(index) ? found.get(files.idAt(index)) : undefined;
      return value === undefined || value instanceof Error ? null : value.frontMatter ?? null;
    });
  }

  /**
   * The chosen files whose front matter has to be read, by index.
   * @throws {CollectionsError} collection-too-large for more than {@linkcode FRONT_MATTER_LIMITS}.
   */
  private async readableFiles(
    { files, chosen }: { files: FileList; chosen: Uint32Array },
    folder: CollectionFolder,
  ): Promise<Map<number, FileRef>> {
    const { maxFiles, maxBytes } = FRONT_MATTER_LIMITS;
    const readable = new Map<number, FileRef>();
    const slices = new Slices();
    let bytes = 0;
    for (const index of chosen) {
      if (slices.isOver()) await slices.giveWay();
      const { path, id, size } = files.at(index);
      const file = { path: folder.path === "" ? path : `${folder.path}/${path}`, id, size };
      if (!this.options.frontMatters.mayHold(file)) continue;
      bytes += size;
      readable.set(index, file);
      const bound = readable.size > maxFiles
        ? `${maxFiles} files`
        : bytes > maxBytes
        ? `${maxBytes} bytes`
        : null;
      if (bound !== null) {
        const why = `sorting or filtering by front matter reads at most ${bound}`;
        throw collectionTooLarge(nameOf(folder), why);
      }
    }
    return readable;
  }
}

function nameOf(folder: CollectionFolder): string {
  return folder.path === "" ? "/" : folder.path;
}
