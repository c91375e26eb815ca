// The front matter of many files, each file read and parsed once per blob id. What was parsed stays in memory while
// there is room, and a folder's whole is kept beside its objects, so that after a commit only what changed is read.

import { LRUCache } from "lru-cache";
import type { FileRef } from "../repository/repository.ts";
import { contentTypeOf } from "./content_type.ts";
import type { Reading } from "./find_entry.ts";
import { type FrontMatterError, readFrontMatter } from "./front_matter.ts";
import { textOf } from "./item_content.ts";
import type { PlainObject } from "./plain_data.ts";

/** What a file's front matter is; empty for a file that has none. */
export interface FileFrontMatter {
  readonly frontMatter?: PlainObject;
  readonly frontMatterError?: FrontMatterError;
}

/** What is known of files, by blob id; an Error where a file could not be read. */
export type FrontMatters = ReadonlyMap<string, FileFrontMatter | Error>;

/** Options of {@linkcode FrontMatterStore.read}. */
export interface ReadOptions {
  /** The folder whose files these are all of, so that they are kept together; null for a few of them. */
  readonly folder: string | null;
}

/** Read at once: small enough to bound memory, large enough to fill several batches. */
const CHUNK = { maxFiles: 400, maxBytes: 8 << 20 };
const NONE: FileFrontMatter = {};
/** Files of these types are not text, whatever they begin with. */
const BINARY = /^(image\/(?!svg)|audio\/|video\/|font\/|application\/(pdf|zip|gzip|wasm))/;

/** See the head of this file. */
export class FrontMatterStore {
  private readonly parsed: LRUCache<string, FileFrontMatter>;

  constructor(private readonly options: { maxBytes: number; maxItemBytes: number }) {
    this.parsed = new LRUCache({
      maxSize: Math.max(1, Math.floor(options.maxBytes)),
      sizeCalculation: sizeOf,
    });
  }

  /** Bytes that are held, by estimate. */
  get bytes(): number {
    return this.parsed.calculatedSize;
  }

  /** The front matter of files. A file over the size cap, and one that is no text, has none. */
  async read(
    files: readonly FileRef[],
    reading: Reading,
    { folder }: ReadOptions,
  ): Promise<FrontMatters> {
    const { owner, repo } = reading.snapshot.name;
    const repository = `${owner}/${repo}`.toLowerCase();
    const found = new Map<string, FileFrontMatter | Error>();
    let missing = this.lookUp(files, { repository, found });
    if (missing.length > 0 && folder !== null) {
      await this.load(folder, { reading, repository });
      missing = this.lookUp(missing, { repository, found });
    }
    for (const chunk of chunksOf(missing)) {
      reading.caller.signal?.throwIfAborted();
      const blobs = await reading.repository.readBlobs(reading.snapshot, chunk, reading.caller);
      for (const [id, result] of blobs) {
        const parsed = result instanceof Error ? result : await parse(result);
        found.set(id, parsed);
        if (!(parsed instanceof Error)) this.parsed.set(`${repository}\n${id}`, parsed);
      }
    }
    if (missing.length > 0 && folder !== null) await this.keep(folder, { reading, found });
    return found;
  }

  /** Fills `found` with what needs no reading, and gives the rest. */
  private lookUp(
    files: readonly FileRef[],
    { repository, found }: { repository: string; found: Map<string, FileFrontMatter | Error> },
  ): FileRef[] {
    return files.filter((file) => {
      const known = file.size > this.options.maxItemBytes || BINARY.test(contentTypeOf(file.path))
        ? NONE
        : this.parsed.get(`${repository}\n${file.id}`);
      if (known !== undefined) found.set(file.id, known);
      return known === undefined;
    });
  }

  private async load(
    folder: string,
    { reading, repository }: { reading: Reading; repository: string },
  ): Promise<void> {
    const bytes = await reading.repository.keptDerived(reading.snapshot, keyOf(folder));
    if (bytes === null) return;
    try {
      const entries = JSON.parse(new TextDecoder().decode(bytes)) as [string, FileFrontMatter][];
      for (const [id, value] of entries) this.parsed.set(`${repository}\n${id}`, value);
    } catch {
      // What cannot be read is read anew from the files.
    }
  }

  private async keep(
    folder: string,
    { reading, found }: { reading: Reading; found: ReadonlyMap<string, FileFrontMatter | Error> },
  ): Promise<void> {
    const entries = [...found].filter(([, value]) => !(value instanceof Error));
    const bytes = new TextEncoder().encode(JSON.stringify(entries));
    await reading.repository.keepDerived(reading.snapshot, keyOf(folder), bytes);
  }
}

function keyOf(folder: string): string {
  return `front-matter ${folder}`;
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

function sizeOf(value: FileFrontMatter, key: string): number {
  return 2 * (key.length + JSON.stringify(value).length) + 200;
}
