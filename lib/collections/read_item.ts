// One file with its content, as the wire contract has it.

import type { ContentBody } from "../api/contract.ts";
import type { ItemParameters } from "../api/parameters.ts";
import { itemNotFound, itemTooLarge } from "../errors.ts";
import { contentTypeOf } from "./content_type.ts";
import { fileBody } from "./file_body.ts";
import { fileName } from "./file_name.ts";
import { findEntry, type Reading } from "./find_entry.ts";
import { GROWTH, itemContent } from "./item_content.ts";
import { readBlob } from "./read_blob.ts";

/** What is asked, and where the answer's addresses begin. */
export interface ItemRequest {
  readonly parameters: ItemParameters;
  readonly baseUrl: string;
  /** Size cap of one file. */
  readonly maxItemBytes: number;
}

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
 * @throws {CollectionsError} item-not-found (saying what stands there instead), item-too-large, or a source failure.
 */
export async function readItem(request: ItemRequest, reading: Reading): Promise<ItemFile> {
  const { parameters: { path, format }, maxItemBytes } = request;
  const { repository, snapshot, caller } = reading;
  const entry = await findEntry(path, reading);
  if (entry === null) throw itemNotFound(path);
  if (entry.kind !== "file") throw itemNotFound(path, entry.kind);
  if (entry.size > maxItemBytes) {
    const htmlUrl = repository.htmlUrl(snapshot, path);
    throw itemTooLarge(path, {
      size: entry.size,
      maxBytes: maxItemBytes,
      ...(htmlUrl === null ? {} : { htmlUrl }),
    });
  }
  const { id, size } = entry;
  await caller.makeRoom?.(format === "raw" ? size : size * GROWTH.alone);
  const bytes = await readBlob({ path, id, size }, reading);
  const name = fileName(path);
  return { name, path, id, contentType: contentTypeOf(name), bytes };
}

/** The JSON body for a file. */
export async function itemBodyOf(
  file: ItemFile,
  { request, reading }: { request: ItemRequest; reading: Reading },
): Promise<ContentBody> {
  const { snapshot } = reading;
  const { path, id, bytes, contentType } = file;
  return {
    repository: { ...snapshot.name, branch: snapshot.branch, commit: snapshot.commit },
    ...fileBody({ path, id, size: bytes.length }, { baseUrl: request.baseUrl, reading }),
    ...await itemContent(bytes, contentType),
  };
}
