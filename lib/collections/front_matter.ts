// The front matter of text files: of one text, and of many files, each read and parsed once per blob id. `---` opens YAML,
// `+++` TOML, and front matter needs its closing line. The files are hostile.

import type { ObjectKind } from "../cache/object_cache.ts";
import { collectionTooLarge } from "../errors.ts";
import type { FileRef } from "../source/source.ts";
import { yieldToEventLoop } from "../clock.ts";
import { contentTypeOf, mayHaveFrontMatter } from "./content_type.ts";
import { textOf } from "./item_body.ts";
import { parseData } from "./parse_data.ts";
import { DataError, isPlainObject, type PlainObject, type PlainValue } from "./plain_data.ts";
import { type ReadContext, repositoryOf } from "./read_context.ts";

/** Why front matter does not parse, in one short line; `line` counts from 1 in the file. */
export interface FrontMatterError {
  readonly message: string;
  readonly line: number;
}

/** A file's front matter, or why it cannot be read, and the text after its closing line. */
export type FrontMatter =
  & { readonly body: string }
  & ({ readonly frontMatter: PlainObject } | { readonly frontMatterError: FrontMatterError });

/** The same without the text; empty for a file that has no front matter. */
export interface FileFrontMatter {
  readonly frontMatter?: PlainObject;
  readonly frontMatterError?: FrontMatterError;
}

/** The most that one file's front matter may cost. Real front matter has few aliases, and a page has up to 1,000 files. */
const LIMITS = { maxChars: 256 * 1024, maxTokens: 12_000, maxRepeatedChars: 16 * 1024 };

/**
 * Reads the front matter at the start of a text, or after its byte order mark. Null when there is none: no opening
 * line, no closing one, or YAML that is not a mapping. Spaces and tabs after a fence do not count, as in Jekyll.
 */
export async function readFrontMatter(text: string): Promise<FrontMatter | null> {
  const parts = split(text);
  if (parts === null) return null;
  try {
    const format = parts.fence === "---" ? "yaml" : "toml";
    const frontMatter = await parseData(parts.block, { format, ...LIMITS });
    return isPlainObject(frontMatter) ? { frontMatter, body: parts.body } : null;
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    // The opening line is the file's first.
    const { message, line } = error;
    return { frontMatterError: { message, line: line + 1 }, body: parts.body };
  }
}

interface Parts {
  readonly fence: string;
  readonly block: string;
  readonly body: string;
}

function split(text: string): Parts | null {
  const start = text.startsWith("\ufeff") ? 1 : 0;
  const fence = text.slice(start, start + 3);
  if (fence !== "---" && fence !== "+++") return null;
  const blockStart = endOfLine(text, start + 3);
  if (blockStart === null) return null;
  let line = blockStart;
  while (line < text.length) {
    if (text.startsWith(fence, line)) {
      const bodyStart = endOfLine(text, line + 3);
      if (bodyStart !== null) {
        return { fence, block: text.slice(blockStart, line), body: text.slice(bodyStart) };
      }
    }
    const newline = text.indexOf("\n", line);
    if (newline === -1) return null;
    line = newline + 1;
  }
  return null;
}

/** Where the next line begins if nothing but blanks is left of this one, else null. */
function endOfLine(text: string, from: number): number | null {
  let at = from;
  while (text[at] === " " || text[at] === "\t") at++;
  if (text[at] === "\r" && text[at + 1] === "\n") at++;
  return at === text.length ? at : text[at] === "\n" ? at + 1 : null;
}

/** Files read together: few enough to bound memory, enough to fill several batches. */
const CHUNK = { maxFiles: 400, maxBytes: 8 << 20 };
/** What the front matter of one folder may take in memory, by estimate. */
const MAX_FOLDER_BYTES = 32 << 20;

const frontMatterKind: ObjectKind<FileFrontMatter> = { name: "front-matter", sizeOf };

/** Whether a file has to be read to know its front matter: one over the size cap, or that is no text, has none. */
export function needsReading(
  file: { readonly path: string; readonly size: number },
  { limits }: ReadContext,
): boolean {
  return file.size <= limits.maxItemBytes && mayHaveFrontMatter(contentTypeOf(file.path));
}

/**
 * The front matter of files by blob id; an Error where one could not be read. With `folder`, the path of the folder
 * whose files these are, the first such error is thrown instead.
 * @throws {CollectionsError} collection-too-large where a folder's does not fit into memory.
 */
export async function readFrontMatters(
  files: readonly FileRef[],
  read: ReadContext,
  { folder }: { folder?: string } = {},
): Promise<ReadonlyMap<string, FileFrontMatter | Error>> {
  const repository = repositoryOf(read);
  const { objects, source, snapshot, context } = read;
  const found = new Map<string, FileFrontMatter | Error>();
  const missing = new Map<string, FileRef>();
  let bytes = 0;
  const take = (id: string, value: FileFrontMatter) => {
    found.set(id, value);
    bytes += sizeOf(value);
    if (folder !== undefined && bytes > MAX_FOLDER_BYTES) {
      throw collectionTooLarge(folder, "its front matter does not fit into memory");
    }
  };
  for (const file of files) {
    if (found.has(file.id)) continue;
    const cached = objects.peek(frontMatterKind, repository, file.id);
    if (cached === undefined) missing.set(file.id, file);
    else take(file.id, cached);
  }
  for (const chunk of chunksOf(missing.values())) {
    context.signal?.throwIfAborted();
    for (const [id, result] of await source.blobs(snapshot, chunk, context)) {
      await yieldToEventLoop();
      if (result instanceof Error) {
        if (folder !== undefined) throw result;
        found.set(id, result);
        continue;
      }
      const value = await parseFile(result);
      objects.set(frontMatterKind, repository, id, value);
      take(id, value);
    }
  }
  return found;
}

async function parseFile(bytes: Uint8Array): Promise<FileFrontMatter> {
  const text = textOf(bytes);
  const parsed = text === null ? null : await readFrontMatter(text);
  if (parsed === null) return {};
  const { body: _, ...value } = parsed;
  return value;
}

function* chunksOf(files: Iterable<FileRef>): Generator<FileRef[]> {
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
