// Finds a collection's folder by its name. The name is tried as a path and then
// as a collection declared for the repository's CMS. Last are the folders that
// site generators use. The first folder wins. A file of that name is skipped.
// The error mentions it if nothing matches. The commit determines the result.
// Both outcomes are therefore cached by commit and name.

import { jsonCodec, type ObjectKind } from "../cache/object_cache.ts";
import { collectionNotFound } from "../errors.ts";
import type { Declared } from "../content/declared.ts";
import type { NamedFolder } from "../content/suggest.ts";
import { suggestTask } from "../content/tasks.ts";
import { readDeclarations } from "./declarations.ts";
import {
  countTreeRead,
  findEntry,
  type ReadContext,
  readTree,
  repositoryOf,
  runTask,
} from "./read_context.ts";

/** The folder of a collection. `path` is empty for the repository's root. */
export interface CollectionFolder {
  readonly path: string;
  readonly treeId: string;
  /**
   * The declaration by which it was found. Its rule for entries applies. Null
   * if the folder was found without one.
   */
  readonly declared: Pick<Declared, "source" | "rule"> | null;
  /** Sentences about configuration files that exist but could not be read. */
  readonly warnings: readonly string[];
}

/** What a collection-not-found error says. */
type MissingCollection = Parameters<typeof collectionNotFound>[1];

/** Candidate prefixes of the name. `_` is an underscore before the name. */
const PREFIXES =
  "content/ src/content/ _ collections/ collections/_ data/ _data/ docs/ src/"
    .split(" ");

const sizeOf = (value: CollectionFolder | MissingCollection) =>
  300 + 2 * JSON.stringify(value).length;
const folderKind: ObjectKind<CollectionFolder> = {
  name: "collection",
  sizeOf,
  codec: jsonCodec,
};
const missingKind: ObjectKind<MissingCollection> = {
  name: "missing-collection",
  sizeOf,
};

/** Returns the path from the repository's root of a path inside a folder. */
export const pathIn = (folder: string, inside: string) =>
  folder === "" ? inside : `${folder}/${inside}`;

/**
 * Finds a collection. The empty name is the root.
 * @throws {CollectionsError} collection-not-found with suggestions.
 */
export async function resolveCollection(name: string, read: ReadContext) {
  const repository = repositoryOf(read);
  const id = `${read.snapshot.commit} ${name}`;
  const cached = read.objects.peek(missingKind, repository, id) ??
    await read.objects.get(folderKind, repository, id);
  const found = cached ?? await search(name, read);
  if ("treeId" in found) {
    if (cached === undefined) {
      read.objects.set(folderKind, repository, id, found);
    }
    return found;
  }
  read.objects.set(missingKind, repository, id, found);
  throw collectionNotFound(name, found);
}

async function search(name: string, read: ReadContext) {
  let file: string | null = null;
  let warnings: readonly string[] = [];
  const folderAt = async (
    path: string,
    declared: CollectionFolder["declared"] = null,
  ) => {
    const entry = await findEntry(path, read);
    if (entry?.kind === "file") file ??= path;
    return entry?.kind === "folder"
      ? { path, treeId: entry.id, declared, warnings }
      : null;
  };
  if (name.includes("/")) {
    countTreeRead(read, name);
    const folder = await read.source.filesAt(read.snapshot, name, read.context);
    if (folder !== null) {
      return { path: name, treeId: folder.treeId, declared: null, warnings };
    }
  }
  const asPath = await folderAt(name);
  if (asPath !== null) return asPath;
  const declarations = await readDeclarations(read);
  warnings = declarations.warnings;
  const { collections } = declarations;
  for (
    const { folder: path, source, rule } of collections.filter((one) =>
      one.name === name
    )
  ) {
    const folder = await folderAt(path, { source, rule });
    if (folder !== null) return folder;
  }
  for (const prefix of PREFIXES) {
    const folder = await folderAt(prefix + name);
    if (folder !== null) return folder;
  }
  // Comparing names is uncached work.
  read.context.recordMiss();
  return {
    file,
    suggestions: await suggestions(name, collections, read),
    warnings,
  };
}

/**
 * Returns names that would have worked. They come from the siblings of the path
 * and from the candidate folders. These folders were already read.
 */
async function suggestions(
  name: string,
  declared: readonly Declared[],
  read: ReadContext,
) {
  const suggest = (names: readonly string[], folders: NamedFolder[] = []) =>
    runTask(read, suggestTask, { name, names, folders });
  // A configuration may name very many folders. Each may cost a request.
  const nearest = await suggest(declared.map((one) => one.name));
  let names: string[] = [];
  for (
    const declaration of declared.filter((one) => nearest.includes(one.name))
  ) {
    const folder = await findEntry(declaration.folder, read);
    if (folder?.kind === "folder") names.push(declaration.name);
  }
  const parent = name.slice(0, Math.max(0, name.lastIndexOf("/")));
  const parents = PREFIXES.filter((prefix) => prefix.endsWith("/")).map((
    prefix,
  ) => prefix.slice(0, -1));
  for (const path of [...parent === "" ? [] : [parent], "", ...parents]) {
    const entry = await findEntry(path, read);
    if (entry?.kind !== "folder") continue;
    const { list } = await readTree(read, entry.id, path);
    const prefix = path === parent && path !== "" ? `${path}/` : "";
    const folder = { entries: list.bytes, prefix, isRoot: path === "" };
    // One after the other, since each list may be large.
    names = await suggest(names, [folder]);
  }
  return names;
}
