// The front matter of text files: of one text, and of many files, each read and parsed once per blob id. `---` opens YAML,
// `+++` TOML, and front matter needs its closing line. The files are hostile.

import type { ObjectKind } from "../cache/object_cache.ts";
import { collectionTooLarge } from "../errors.ts";
import type { FileRef } from "../source/source.ts";
import { yieldToEventLoop } from "../clock.ts";
import { contentTypeOf, mayHaveFrontMatter, textOf } from "./item_body.ts";
import { DataError, isPlainObject, parseData, type PlainObject } from "./plain_data.ts";
import { type ReadContext, repositoryOf } from "./read_context.ts";

/** A file's front matter, or why it does not parse, in one short line of the file; empty for a file that has none. */
export interface FrontMatter {
  readonly frontMatter?: PlainObject;
  readonly frontMatterError?: { readonly message: string; readonly line: number };
}

/** The most that one file's front matter may cost. Real front matter has few aliases, and a page has up to 1,000 files. */
const LIMITS = { maxChars: 256 * 1024, maxTokens: 12_000, maxRepeatedChars: 16 * 1024 };
/** Files read together: few enough to bound memory, enough to fill several batches. */
const CHUNK = { maxFiles: 400, maxBytes: 8 << 20 };
/** What the front matter of one folder may take in memory, by estimate. */
const MAX_FOLDER_BYTES = 32 << 20;

const frontMatterKind: ObjectKind<FrontMatter> = {
  name: "front-matter",
  sizeOf: (value) => 200 + sizeOf(value),
};

/** An opening line, the block, and its closing line; blanks after a fence do not count, as in Jekyll. */
const FENCED = /^\ufeff?(---|\+\+\+)[ \t]*\r?\n((?:[^]*?\n)??)\1[ \t]*(?:\r?\n|$)/;

/**
 * Reads the front matter at the start of a text, or after its byte order mark, and the text after it as `body`. Null when
 * there is none: no opening line, no closing one, or YAML that is not a mapping.
 */
export async function readFrontMatter(
  text: string,
): Promise<FrontMatter & { readonly body: string } | null> {
  const [whole, fence, block] = FENCED.exec(text) ?? [];
  if (whole === undefined || block === undefined) return null;
  const body = text.slice(whole.length);
  try {
    const format = fence === "---" ? "yaml" : "toml";
    const frontMatter = await parseData(block, { format, ...LIMITS });
    return isPlainObject(frontMatter) ? { frontMatter, body } : null;
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    // The opening line is the file's first.
    return { frontMatterError: { message: error.message, line: error.line + 1 }, body };
  }
}

/** Whether a file has to be read to know its front matter: one over the size cap, or that is no text, has none. */
export function needsReading(
  { path, size }: { readonly path: string; readonly size: number },
  { limits }: ReadContext,
): boolean {
  return size <= limits.maxItemBytes && mayHaveFrontMatter(contentTypeOf(path));
}

/**
 * The front matter of files by blob id; an Error where one could not be read. With `folder`, the path of the folder
 * whose files these are, the first such error is thrown, and collection-too-large where it does not fit into memory.
 */
export async function readFrontMatters(
  files: readonly FileRef[],
  read: ReadContext,
  { folder }: { folder?: string } = {},
): Promise<ReadonlyMap<string, FrontMatter | Error>> {
  const repository = repositoryOf(read);
  const { objects, source, snapshot, context } = read;
  const found = new Map<string, FrontMatter | Error>();
  const missing = new Map<string, FileRef>();
  let bytes = 0;
  const add = (id: string, value: FrontMatter | Error) => {
    found.set(id, value);
    if (folder === undefined) return;
    if (value instanceof Error) throw value;
    bytes += frontMatterKind.sizeOf(value);
    if (bytes > MAX_FOLDER_BYTES) {
      throw collectionTooLarge(folder, "its front matter does not fit into memory");
    }
  };
  for (const file of files) {
    if (found.has(file.id)) continue;
    const cached = objects.peek(frontMatterKind, repository, file.id);
    if (cached === undefined) missing.set(file.id, file);
    else add(file.id, cached);
  }
  for (const chunk of chunksOf(missing.values())) {
    context.signal?.throwIfAborted();
    for (const [id, result] of await source.blobs(snapshot, chunk, context)) {
      await yieldToEventLoop();
      const value = result instanceof Error ? result : await parseFile(result);
      if (!(value instanceof Error)) objects.set(frontMatterKind, repository, id, value);
      add(id, value);
    }
  }
  return found;
}

async function parseFile(bytes: Uint8Array): Promise<FrontMatter> {
  const text = textOf(bytes);
  const { body: _, ...frontMatter } = text === null ? {} : await readFrontMatter(text) ?? {};
  return frontMatter;
}

function* chunksOf(files: Iterable<FileRef>): Generator<FileRef[]> {
  let chunk: FileRef[] = [];
  let bytes = 0;
  for (const file of files) {
    bytes += file.size;
    if (chunk.length === CHUNK.maxFiles || (chunk.length > 0 && bytes > CHUNK.maxBytes)) {
      yield chunk;
      chunk = [];
      bytes = file.size;
    }
    chunk.push(file);
  }
  if (chunk.length > 0) yield chunk;
}

/** Bytes that a value takes in memory with its keys, by estimate: lists of empty lists are large for their text. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return 32 + 2 * value.length;
  if (typeof value !== "object" || value === null) return 8;
  if (Array.isArray(value)) return value.reduce((sum, item) => sum + 8 + sizeOf(item), 40);
  const entries = Object.entries(value);
  return entries.reduce((sum, [key, item]) => sum + 40 + 2 * key.length + sizeOf(item), 64);
}
