// Finds a collection's folder by its name: as a path, then as declared for the repository's CMS, then in the folders
// where site generators put collections. The first folder wins; a file of that name is skipped, and the error mentions
// it when nothing matches. The root tree determines the result, so both outcomes are cached by tree id and name.

import { collectionProblem } from "../api/names.ts";
import type { ObjectKind } from "../cache/object_cache.ts";
import { collectionNotFound } from "../errors.ts";
import { type Declared, readDeclarations } from "./cms/declarations.ts";
import { findEntry } from "./find_entry.ts";
import { countTreeRead, type ReadContext, readTree, repositoryOf } from "./read_context.ts";
import { MAX_CANDIDATES, suggest } from "./suggest.ts";

/** The folder of a collection. `path` is "" for the repository's root. */
export interface CollectionFolder {
  readonly path: string;
  readonly treeId: string;
  /** The declaration by which it was found, whose rule for entries applies; null where it was found without one. */
  readonly declared: Pick<Declared, "id" | "source" | "rule"> | null;
  /** Sentences on configuration files that exist and could not be read. */
  readonly warnings: readonly string[];
}

/** What a collection-not-found error says. */
interface MissingCollection {
  readonly file: string | null;
  readonly suggestions: readonly string[];
  readonly warnings: readonly string[];
}

/** Where a collection may be; `_` in front of its name where the folder ends so. */
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

const folderKind: ObjectKind<CollectionFolder> = {
  name: "collection",
  sizeOf: (folder) => 300 + 2 * JSON.stringify(folder).length,
  codec: {
    encode: (folder) => new TextEncoder().encode(JSON.stringify(folder)),
    decode(bytes) {
      try {
        return JSON.parse(new TextDecoder().decode(bytes));
      } catch {
        return null;
      }
    },
    maxBytes: 16_384,
  },
};

const missingKind: ObjectKind<MissingCollection> = {
  name: "missing-collection",
  sizeOf: (missing) => 300 + 2 * JSON.stringify(missing).length,
};

/** How errors name a folder. */
export function displayPath(path: string): string {
  return path === "" ? "/" : path;
}

/** The path from the repository's root of a path inside a folder. */
export function pathIn(folder: string, pathInside: string): string {
  return folder === "" ? pathInside : `${folder}/${pathInside}`;
}

/**
 * Finds a collection; `name` has no outer slashes and is "" for the root.
 * @throws {CollectionsError} collection-not-found with suggestions, too-many-requests, or a source failure.
 */
export async function resolveCollection(
  name: string,
  read: ReadContext,
): Promise<CollectionFolder> {
  const repository = repositoryOf(read);
  const id = `${read.snapshot.commit} ${name}`;
  const missing = read.objects.peek(missingKind, repository, id);
  if (missing !== undefined) throw collectionNotFound(name, missing);
  const cached = await read.objects.get(folderKind, repository, id);
  if (cached !== undefined) return cached;
  const found = await search(name, read);
  if ("treeId" in found) {
    read.objects.set(folderKind, repository, id, found);
    return found;
  }
  read.objects.set(missingKind, repository, id, found);
  throw collectionNotFound(name, found);
}

async function search(
  name: string,
  read: ReadContext,
): Promise<CollectionFolder | MissingCollection> {
  let file: string | null = null;
  const folderAt = async (path: string) => {
    const entry = await findEntry(path, read);
    if (entry?.kind === "file") file ??= path;
    return entry?.kind === "folder" ? { path, treeId: entry.id } : null;
  };
  if (name.includes("/") && read.snapshot.freshness === "miss") {
    // No folder of a repository that was not known is cached: a path is read in one round trip instead of one a folder.
    countTreeRead(read, name);
    const folder = await read.source.filesAt(read.snapshot, name, read.context);
    if (folder !== null) {
      return { path: name, treeId: folder.treeId, declared: null, warnings: [] };
    }
  }
  const asPath = await folderAt(name);
  if (asPath !== null) return { ...asPath, declared: null, warnings: [] };

  const { collections, warnings } = await readDeclarations(read);
  for (const { folder: path, id, source, rule } of collections.filter((one) => one.name === name)) {
    const folder = await folderAt(path);
    if (folder !== null) return { ...folder, declared: { id, source, rule }, warnings };
  }
  for (const place of PLACES) {
    const folder = await folderAt(place + name);
    if (folder !== null) return { ...folder, declared: null, warnings };
  }
  // Comparing names is work that no cache had.
  read.context.recordMiss();
  return { file, suggestions: await suggestions(name, { read, declared: collections }), warnings };
}

/** Names that would have worked, from folders that were read already: siblings of a path, else known places. */
async function suggestions(
  name: string,
  { read, declared }: { read: ReadContext; declared: readonly Declared[] },
): Promise<string[]> {
  const isUsable = (candidate: string) => collectionProblem(candidate) === null;
  const candidates = new Set<string>();
  const addFoldersIn = async (path: string, nameOf: (folder: string) => string) => {
    const folder = await findEntry(path, read);
    if (folder?.kind !== "folder") return;
    for (const entry of await readTree(read, folder.id, path)) {
      if (candidates.size >= MAX_CANDIDATES) return;
      if (entry.kind === "folder" && !entry.name.startsWith(".")) {
        candidates.add(nameOf(entry.name));
      }
    }
  };
  // A configuration may name very many folders, and each may cost a request.
  const nearest = suggest(name, declared.map((declaration) => declaration.name), isUsable);
  for (const declaration of declared.filter((one) => nearest.includes(one.name))) {
    const entry = await findEntry(declaration.folder, read);
    if (entry?.kind === "folder") candidates.add(declaration.name);
  }
  const parent = name.slice(0, Math.max(0, name.lastIndexOf("/")));
  if (parent !== "") await addFoldersIn(parent, (folder) => `${parent}/${folder}`);
  await addFoldersIn(
    "",
    (folder) => folder.startsWith("_") && folder.length > 1 ? folder.slice(1) : folder,
  );
  for (const place of PLACES.filter((place) => place.endsWith("/"))) {
    await addFoldersIn(place.slice(0, -1), (folder) => folder);
  }
  return suggest(name, [...candidates], isUsable);
}
