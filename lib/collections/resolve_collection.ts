// Finds a collection's folder by its name: as a path, then as declared for the repository's CMS, then in the folders
// where site generators put collections. The first folder wins; a file of that name is skipped, and the error mentions
// it when nothing matches. The root tree determines the result, so both outcomes are cached by tree id and name.

import { distance as countEdits } from "fastest-levenshtein";
import { collectionProblem } from "../api/names.ts";
import { jsonCodec, type ObjectKind } from "../cache/object_cache.ts";
import { collectionNotFound } from "../errors.ts";
import type { Declared } from "../content/declared.ts";
import { readDeclarations } from "./declarations.ts";
import {
  countTreeRead,
  findEntry,
  type ReadContext,
  readTree,
  repositoryOf,
} from "./read_context.ts";

/** The folder of a collection. `path` is "" for the repository's root. */
export interface CollectionFolder {
  readonly path: string;
  readonly treeId: string;
  /** The declaration by which it was found, whose rule for entries applies; null where it was found without one. */
  readonly declared: Pick<Declared, "source" | "rule"> | null;
  /** Sentences on configuration files that exist and could not be read. */
  readonly warnings: readonly string[];
}

/** What a collection-not-found error says. */
type MissingCollection = Parameters<typeof collectionNotFound>[1];

/** Where a collection may be; `_` in front of its name where the folder ends so. */
const PLACES = "content/ src/content/ _ collections/ collections/_ data/ _data/ docs/ src/"
  .split(" ");

/** At most so many candidates are compared: a folder may have any number of entries. */
const MAX_CANDIDATES = 2_000;
const MAX_SUGGESTIONS = 5;
/** Longer names are compared by their ends, which takes less time: beginnings are often one parent's path. */
const MAX_COMPARED_CHARS = 32;

const sizeOf = (value: CollectionFolder | MissingCollection) =>
  300 + 2 * JSON.stringify(value).length;
const folderKind: ObjectKind<CollectionFolder> = {
  name: "collection",
  sizeOf,
  codec: jsonCodec,
};
const missingKind: ObjectKind<MissingCollection> = { name: "missing-collection", sizeOf };

/** The path from the repository's root of a path inside a folder. */
export const pathIn = (folder: string, inside: string) =>
  folder === "" ? inside : `${folder}/${inside}`;

/** Finds a collection; `name` is "" for the root. @throws {CollectionsError} collection-not-found with suggestions. */
export async function resolveCollection(name: string, read: ReadContext) {
  const repository = repositoryOf(read);
  const id = `${read.snapshot.commit} ${name}`;
  const cached = read.objects.peek(missingKind, repository, id) ??
    await read.objects.get(folderKind, repository, id);
  const found = cached ?? await search(name, read);
  if ("treeId" in found) {
    if (cached === undefined) read.objects.set(folderKind, repository, id, found);
    return found;
  }
  read.objects.set(missingKind, repository, id, found);
  throw collectionNotFound(name, found);
}

/** Tries every place where the collection may be. */
async function search(name: string, read: ReadContext) {
  let file: string | null = null;
  let warnings: readonly string[] = [];
  const folderAt = async (path: string, declared: CollectionFolder["declared"] = null) => {
    const entry = await findEntry(path, read);
    if (entry?.kind === "file") file ??= path;
    return entry?.kind === "folder" ? { path, treeId: entry.id, declared, warnings } : null;
  };
  if (name.includes("/")) {
    countTreeRead(read, name);
    const folder = await read.source.filesAt(read.snapshot, name, read.context);
    if (folder !== null) return { path: name, treeId: folder.treeId, declared: null, warnings };
  }
  const asPath = await folderAt(name);
  if (asPath !== null) return asPath;
  const declarations = await readDeclarations(read);
  warnings = declarations.warnings;
  const { collections } = declarations;
  for (const { folder: path, source, rule } of collections.filter((one) => one.name === name)) {
    const folder = await folderAt(path, { source, rule });
    if (folder !== null) return folder;
  }
  for (const place of PLACES) {
    const folder = await folderAt(place + name);
    if (folder !== null) return folder;
  }
  // Comparing names is work that no cache had.
  read.context.recordMiss();
  return { file, suggestions: await suggestions(name, collections, read), warnings };
}

/** Names that would have worked, from folders that were read already: siblings of a path, else known places. */
async function suggestions(name: string, declared: readonly Declared[], read: ReadContext) {
  const candidates: string[] = [];
  // A configuration may name very many folders, and each may cost a request.
  const nearest = suggest(name, declared.map((one) => one.name));
  for (const declaration of declared.filter((one) => nearest.includes(one.name))) {
    const folder = await findEntry(declaration.folder, read);
    if (folder?.kind === "folder") candidates.push(declaration.name);
  }
  const parent = name.slice(0, Math.max(0, name.lastIndexOf("/")));
  const places = PLACES.filter((place) => place.endsWith("/")).map((place) => place.slice(0, -1));
  if (parent !== "") candidates.push(...await foldersIn(parent, read, `${parent}/`));
  for (const place of ["", ...places]) candidates.push(...await foldersIn(place, read));
  return suggest(name, candidates);
}

/** The folders in a folder with `prefix` in front; those of the root without their `_`. */
async function foldersIn(path: string, read: ReadContext, prefix = ""): Promise<string[]> {
  const folder = await findEntry(path, read);
  if (folder?.kind !== "folder") return [];
  return (await readTree(read, folder.id, path)).ofKind("folder")
    .filter(({ name }) => !name.startsWith("."))
    .take(MAX_CANDIDATES)
    .map(({ name }) => prefix + (path === "" ? name.replace(/^_(?=.)/s, "") : name)).toArray();
}

/**
 * At most five of the candidates (of the first 2,000) that can be requested, the likeliest first; ties by name.
 * The distance is 0 for the same name in another case, 1 where one contains the other, else 1 and the edits as a share of
 * the longer name's length.
 */
export function suggest(name: string, candidates: readonly string[]): string[] {
  const wanted = name.toLowerCase();
  const wantedEnd = wanted.slice(-MAX_COMPARED_CHARS);
  const distanceOf = (lower: string): number => {
    if (lower === wanted) return 0;
    if (lower.includes(wanted) || wanted.includes(lower)) return 1;
    const end = lower.slice(-MAX_COMPARED_CHARS);
    return 1 + countEdits(wantedEnd, end) / Math.max(end.length, wantedEnd.length);
  };
  const compared = new Set(candidates.slice(0, MAX_CANDIDATES)).values()
    .map((name) => ({ name, distance: distanceOf(name.toLowerCase()) })).toArray()
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1));
  return compared.values().map(({ name }) => name)
    .filter((name) => collectionProblem(name) === null).take(MAX_SUGGESTIONS).toArray();
}
