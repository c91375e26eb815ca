// From a collection's name to its folder: a path, then the folders where site generators keep collections. The first
// folder wins; a file of that name falls through and is mentioned when nothing matches.

import { collectionNotFound } from "../errors.ts";
import { findEntry, folderNames, type Reading } from "./find_entry.ts";
import { suggest } from "./suggest.ts";

/** The folder that a collection is. `path` is "" for the repository's root. */
export interface CollectionFolder {
  readonly path: string;
  readonly treeId: string;
}

/** Where a collection `c` may be below; `_` in front of the name where the folder ends so. */
const PLACES: readonly string[] = [
  "content/",
  "src/content/",
  "_",
  "collections/",
  "collections/_",
  "data/",
  "_data/",
  "docs/",
  "src/",
];

/**
 * Finds a collection; `name` has no outer slashes and is "" for the root.
 * @throws {CollectionsError} collection-not-found with suggestions, or a source failure.
 */
export async function resolveCollection(name: string, reading: Reading): Promise<CollectionFolder> {
  let isFile = false;
  for (const path of [name, ...name === "" ? [] : PLACES.map((place) => place + name)]) {
    const entry = await findEntry(path, reading);
    if (entry?.kind === "folder") return { path, treeId: entry.id };
    if (path === name && entry?.kind === "file") isFile = true;
  }
  throw collectionNotFound(name, { isFile, suggestions: await suggestions(name, reading) });
}

/** Names that would have worked, from folders that were read on the way: siblings of a path, else known places. */
async function suggestions(name: string, reading: Reading): Promise<string[]> {
  const parent = name.includes("/") ? name.slice(0, name.lastIndexOf("/")) : "";
  const candidates = new Set<string>();
  if (parent !== "") {
    for (const sibling of await folderNames(parent, reading)) {
      candidates.add(`${parent}/${sibling}`);
    }
  }
  for (const folder of await folderNames("", reading)) {
    candidates.add(folder.startsWith("_") && folder.length > 1 ? folder.slice(1) : folder);
  }
  for (const place of PLACES.filter((place) => place.endsWith("/"))) {
    for (const folder of await folderNames(place.slice(0, -1), reading)) candidates.add(folder);
  }
  return suggest(name, [...candidates]);
}
