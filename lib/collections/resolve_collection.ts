// From a collection's name to its folder: a path, then what the repository declares for its CMS, then the folders where
// site generators keep collections. The first folder wins; a file of that name falls through and is mentioned when
// nothing matches.

import { collectionProblem } from "../api/names.ts";
import { collectionNotFound } from "../errors.ts";
import { findEntry, folderNames, type Reading } from "./find_entry.ts";
import { type Declared, readDeclarations } from "./read_declarations.ts";
import { suggest } from "./suggest.ts";

/** The folder that a collection is. `path` is "" for the repository's root. */
export interface CollectionFolder {
  readonly path: string;
  readonly treeId: string;
  /** The declaration by which it was found, whose rule for entries applies; null where it was found by itself. */
  readonly declared: Declared | null;
  /** Sentences on configuration files that were looked for and could not be read. */
  readonly warnings: readonly string[];
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
  let file: string | null = null;
  const folderAt = async (path: string) => {
    const entry = await findEntry(path, reading);
    if (entry?.kind === "file") file ??= path;
    return entry?.kind === "folder" ? { path, treeId: entry.id } : null;
  };
  const asked = await folderAt(name);
  if (asked !== null) return { ...asked, declared: null, warnings: [] };

  const { declared, warnings } = await readDeclarations(reading);
  for (const declaration of declared.filter((one) => one.name === name)) {
    const folder = await folderAt(declaration.folder);
    if (folder !== null) return { ...folder, declared: declaration, warnings };
  }
  for (const place of PLACES) {
    const folder = await folderAt(place + name);
    if (folder !== null) return { ...folder, declared: null, warnings };
  }
  throw collectionNotFound(name, {
    file,
    suggestions: await suggestions(name, { reading, declared }),
    warnings,
  });
}

/** Names that would have worked, from folders that were read on the way: siblings of a path, else known places. */
async function suggestions(
  name: string,
  { reading, declared }: { reading: Reading; declared: readonly Declared[] },
): Promise<string[]> {
  const candidates = new Set<string>();
  // A configuration may name very many folders, and each may cost a question.
  const nearest = suggest(name, declared.map((declaration) => declaration.name));
  for (const declaration of declared.filter((one) => nearest.includes(one.name))) {
    const entry = await findEntry(declaration.folder, reading);
    if (entry?.kind === "folder") candidates.add(declaration.name);
  }
  const parent = name.includes("/") ? name.slice(0, name.lastIndexOf("/")) : "";
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
  // A folder may have a name that no parameter takes.
  return suggest(name, [...candidates].filter((one) => collectionProblem(one) === null));
}
