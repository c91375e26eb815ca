// One file with its content, as the wire contract has it.

import type { ContentBody } from "../api/contract.ts";
import type { ItemParameters } from "../api/parameters.ts";
import { itemNotFound, itemTooLarge } from "../errors.ts";
import { contentTypeOf } from "./content_type.ts";
import { findEntry } from "./find_entry.ts";
import { BYTES_PER_CONTENT_BYTE, fileBody, fileName, readBlob } from "./item_body.ts";
import { contentFields } from "./item_contents.ts";
import { type ReadContext, reserve } from "./read_context.ts";

/** A file's bytes and what is said of them. */
export interface ItemFile {
  readonly name: string;
  readonly path: string;
  readonly id: string;
  readonly contentType: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Reads one file.
 * @throws {CollectionsError} item-not-found (saying what stands there instead), item-too-large, collection-too-large for
 * a path with too many folders, service-busy, or a source failure.
 */
export async function readItem(
  { path, format }: ItemParameters,
  read: ReadContext,
): Promise<ItemFile> {
  const entry = await findEntry(path, read);
  if (entry === null) throw itemNotFound(path);
  if (entry.kind !== "file") throw itemNotFound(path, entry.kind);
  const { id, size } = entry;
  const { maxItemBytes } = read.limits;
  if (size > maxItemBytes) {
    const htmlUrl = read.source.webUrl(read.snapshot, path);
    const facts = { size, maxBytes: maxItemBytes };
    throw itemTooLarge(path, htmlUrl === null ? facts : { ...facts, htmlUrl });
  }
  await reserve(read, format === "raw" ? size : size * BYTES_PER_CONTENT_BYTE.alone);
  const bytes = await readBlob({ path, id, size }, read);
  const name = fileName(path);
  return { name, path, id, contentType: contentTypeOf(name), bytes };
}

/** The JSON body for a file; addresses in it begin with `baseUrl`. */
export async function itemBody(
  { path, id, bytes, contentType }: ItemFile,
  read: ReadContext,
  { baseUrl }: { baseUrl: string },
): Promise<ContentBody> {
  const { snapshot } = read;
  return {
    repository: { ...snapshot.name, branch: snapshot.branch, commit: snapshot.commit },
    ...fileBody({ path, id, size: bytes.length }, read, baseUrl),
    ...await contentFields(bytes, contentType),
  };
}
