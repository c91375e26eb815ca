// The collections that a repository declares, read from the configuration files that it has. Only files that stand in
// folders already known are asked for, and each is parsed once per blob id.

import { LRUCache } from "lru-cache";
import type { FileRef } from "../repository/repository.ts";
import type { DeclaredCollection } from "./declared_collection.ts";
import { CONFIG_FILES, type Declarations, declaredCollections } from "./declared_collections.ts";
import { findEntry, type Reading } from "./find_entry.ts";
import { textOf } from "./item_content.ts";
import { readBlob } from "./read_blob.ts";

/** A declared collection; `key` tells its rule for entries from that of any other declaration. */
export interface Declared extends DeclaredCollection {
  readonly key: string;
}

/** A configuration is written by hand; a larger file is something else. */
const MAX_CONFIG_BYTES = 1 << 20;
/** Parsed configurations by path and blob id: what they say depends on nothing else. */
const parsed = new LRUCache<string, Declarations>({ max: 32 });

/** All declared collections, in the order of the files, and why a file was skipped or cut. @throws {CollectionsError} a source failure. */
export async function readDeclarations(
  reading: Reading,
): Promise<{ declared: readonly Declared[]; warnings: readonly string[] }> {
  const declared: Declared[] = [];
  const warnings: string[] = [];
  for (const path of CONFIG_FILES) {
    const entry = await findEntry(path, reading);
    if (entry?.kind !== "file") continue;
    if (entry.size > MAX_CONFIG_BYTES) {
      warnings.push(`Cannot read "${path}": it has more than ${MAX_CONFIG_BYTES} bytes`);
      continue;
    }
    const key = `${path} ${entry.id}`;
    let declarations = parsed.get(key);
    if (declarations === undefined) {
      declarations = await read({ path, id: entry.id, size: entry.size }, reading);
      parsed.set(key, declarations);
    }
    if (declarations.warning !== null) warnings.push(declarations.warning);
    for (const collection of declarations.collections) {
      declared.push({ ...collection, key: `${key} ${collection.name}` });
    }
  }
  return { declared, warnings };
}

async function read(file: FileRef, reading: Reading): Promise<Declarations> {
  const text = textOf(await readBlob(file, reading));
  if (text === null) {
    return { collections: [], warning: `Cannot read "${file.path}": it is not UTF-8 text` };
  }
  return await declaredCollections(file.path, text);
}
