// The JSON of a file in both operations, so that a list and a file's own response agree. Decoding `content` gives the
// file's exact bytes.

import type { ItemBody } from "../api/contract.ts";
import { itemPathProblem } from "../api/names.ts";
import { itemUrl } from "../api/urls.ts";
import type { FileRef } from "../source/source.ts";
import { contentTypeOf } from "./content_type.ts";
import type { ReadContext } from "./read_context.ts";

/** The fields of a file that need none of its bytes. */
export type FileBody = Pick<
  ItemBody,
  "name" | "path" | "sha" | "size" | "contentType" | "contentUrl" | "htmlUrl"
>;

/**
 * Memory that a response takes for each byte of a file's path: 7 for the texts of its item, two of them percent-encoded,
 * and 8 for its JSON, whose buffer is copied as it grows and at its end.
 */
export const BYTES_PER_PATH_BYTE = 28;
/**
 * Memory that a response takes for each byte of a file: its bytes, its text, and its JSON, which has it twice with `body`.
 * JSON of very many control characters takes more, and is reserved when it is made.
 */
export const BYTES_PER_CONTENT_BYTE = { content: 8, frontMatter: 8, html: 16 };

/** The part of a path after its last slash. */
export function fileName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** The path inside a collection without its extension; a name that is all extension stays whole. */
export function slugOf(pathInside: string): string {
  const dot = pathInside.lastIndexOf(".");
  const nameStart = pathInside.lastIndexOf("/") + 1;
  return dot <= nameStart ? pathInside : pathInside.slice(0, dot);
}

/** A file as JSON; its addresses begin with `baseUrl`. */
export function fileBody(
  { path, id, size }: FileRef,
  read: ReadContext,
  baseUrl: string,
): FileBody {
  const { source, snapshot } = read;
  const { owner, repo } = snapshot.name;
  const name = fileName(path);
  const htmlUrl = source.webUrl(snapshot, path);
  return {
    name,
    path,
    sha: id,
    size,
    contentType: contentTypeOf(name),
    ...(itemPathProblem(path) === null
      ? { contentUrl: itemUrl(baseUrl, { owner, repo, branch: snapshot.branch, path }) }
      : {}),
    ...(htmlUrl === null ? {} : { htmlUrl }),
  };
}

/** The bytes of one file. @throws {CollectionsError} a source failure. */
export async function readBlob(
  file: FileRef,
  { source, snapshot, context }: ReadContext,
): Promise<Uint8Array<ArrayBuffer>> {
  const result = (await source.blobs(snapshot, [file], context)).get(file.id)!;
  if (result instanceof Error) throw result;
  return result;
}

// With ignoreBOM the mark stays in the text, so that encoding it again gives the same bytes.
const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text of bytes that are UTF-8 without a NUL, else null. */
export function textOf(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return strictUtf8.decode(bytes);
  } catch {
    return null;
  }
}
