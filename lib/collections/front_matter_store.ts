// The front matter of many files, each file read and parsed once per blob id. What was parsed stays in memory while
// there is room, and that of a folder is kept beside its objects, so that after a commit only what changed is read.

import { LRUCache } from "lru-cache";
import { collectionTooLarge } from "../errors.ts";
import { Slices } from "../give_way.ts";
import { type FileRef, repositoryKey } from "../repository/repository.ts";
import { contentTypeOf, mayHaveFrontMatter } from "./content_type.ts";
import type { Reading } from "./find_entry.ts";
import { type FileFrontMatter, readFrontMatter } from "./front_matter.ts";
import { textOf } from "./item_content.ts";
import { keepFrontMatter, keptFrontMatter } from "./kept_front_matter.ts";
import { isPlainObject, type PlainValue } from "./plain_data.ts";

/** What is known of files, by blob id; an Error where a file could not be read. */
export type FrontMatters = ReadonlyMap<string, FileFrontMatter | Error>;

/** Options of {@linkcode FrontMatterStore.read}. */
export interface ReadOptions {
  /** The folder that the files are of, beside which their front matter is kept; null for a page of them. */
  readonly folder: string | null;
}

/** Read at once: small enough to bound memory, large enough to fill several batches. */
const CHUNK = { maxFiles: 400, maxBytes: 8 << 20 };
/** What the front matter of one folder may take in memory, by estimate. */
const MAX_FOLDER_BYTES = 32 << 20;
const NONE: FileFrontMatter = {};

/** See the head of this file. */
export class FrontMatterStore {
  private readonly parsed: LRUCache<string, FileFrontMatter>;

  constructor(private readonly options: { maxBytes: number; maxItemBytes: number }) {
    this.parsed = new LRUCache({ maxSize: Math.max(1, Math.floor(options.maxBytes)) });
  }

  /** Bytes that are held, by estimate. */
  get bytes(): number {
    return this.parsed.calculatedSize;
  }

  /** Whether a file has to be read to know its front matter: one over the size cap, or that is no text, has none. */
  mayHold(file: { readonly path: string; readonly size: number }): boolean {
    return file.size <= this.options.maxItemBytes && mayHaveFrontMatter(contentTypeOf(file.path));
  }

  /**
   * The front matter of files that may have some. Of a folder nothing more is read once a file could not be.
   * @throws {CollectionsError} collection-too-large where a folder's does not fit into memory.
   */
  async read(
    files: readonly FileRef[],
    reading: Reading,
    { folder }: ReadOptions,
  ): Promise<FrontMatters> {
    const repository = repositoryKey(reading.snapshot.name);
    const keyOf = (id: string) => `${repository}\n${id}`;
    const found = new Map<string, FileFrontMatter | Error>();
    let foundBytes = 0;
    const take = (id: string, value: FileFrontMatter) => {
      const size = sizeOf(value);
      if (!this.parsed.has(keyOf(id))) this.parsed.set(keyOf(id), value, { size });
      found.set(id, value);
      foundBytes += size;
      if (folder !== null && foundBytes > MAX_FOLDER_BYTES) {
        throw collectionTooLarge(folder, "its front matter does not fit into memory");
      }
    };
    /** Takes the files of which something is known, and gives the others. */
    const takeKnown = (
      files: readonly FileRef[],
      of: (id: string) => FileFrontMatter | undefined,
    ) =>
      files.filter(({ id }) => {
        if (found.has(id)) return false;
        const value = of(id);
        if (value !== undefined) take(id, value);
        return value === undefined;
      });

    const unknown = takeKnown(files, (id) => this.parsed.get(keyOf(id)));
    if (unknown.length === 0) return found;
    const kept = folder === null ? new Map() : await keptFrontMatter(folder, reading);
    const missing = takeKnown(unknown, (id) => kept.get(id));
    const slices = new Slices();
    for (const chunk of chunksOf(missing)) {
      reading.caller.signal?.throwIfAborted();
      const blobs = await reading.repository.readBlobs(reading.snapshot, chunk, reading.caller);
      for (const [id, result] of blobs) {
        if (slices.isOver({ costly: true })) await slices.giveWay();
        if (result instanceof Error) found.set(id, result);
        else take(id, await parse(result));
      }
      if (folder !== null && [...blobs.values()].some((result) => result instanceof Error)) break;
    }
    if (folder !== null && missing.length > 0) {
      await keepFrontMatter(folder, reading, new Map([...found, ...kept]));
    }
    return found;
  }
}

async function parse(bytes: Uint8Array): Promise<FileFrontMatter> {
  const text = textOf(bytes);
  const read = text === null ? null : await readFrontMatter(text);
  if (read === null) return NONE;
  return "frontMatter" in read ? { frontMatter: read.frontMatter } : read;
}

function* chunksOf(files: readonly FileRef[]): Generator<FileRef[]> {
  let chunk: FileRef[] = [];
  let bytes = 0;
  for (const file of files) {
    if (
      chunk.length > 0 && (chunk.length === CHUNK.maxFiles || bytes + file.size > CHUNK.maxBytes)
    ) {
      yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(file);
    bytes += file.size;
  }
  if (chunk.length > 0) yield chunk;
}

/** Bytes that a value takes in memory with its keys, by estimate: lists of empty lists are large for their text. */
function sizeOf({ frontMatter, frontMatterError }: FileFrontMatter): number {
  return 300 + sizeOfValue(frontMatter ?? null) + 2 * (frontMatterError?.message.length ?? 0);
}

function sizeOfValue(value: PlainValue): number {
  if (typeof value === "string") return 32 + 2 * value.length;
  if (Array.isArray(value)) {
    return value.reduce<number>((sum, item) => sum + 8 + sizeOfValue(item), 40);
  }
  if (!isPlainObject(value)) return 8;
  return Object.entries(value).reduce(
    (sum, [key, item]) => sum + 40 + 2 * key.length + sizeOfValue(item),
    64,
  );
}
