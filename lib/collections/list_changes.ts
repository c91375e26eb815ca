// What changed in a collection between two commits. Both are listed. No file is
// read. A data file is a collection of one file: its rows are not compared.

import { type ChangesParameters, warningsOf } from "../api/parameters.ts";
import { MAX_CHANGES } from "../content/changes.ts";
import { compareListsTask } from "../content/tasks.ts";
import { codeOf, collectionTooLarge, problem } from "../errors.ts";
import { FileListBuilder } from "../source/file_list.ts";
import type { FileRef } from "../source/source.ts";
import { listFiles } from "./list_files.ts";
import { findDataFile } from "./list_rows.ts";
import {
  type Answer,
  bodyOf,
  type ReadContext,
  runTask,
} from "./read_context.ts";
import {
  type CollectionFolder,
  resolveCollection,
} from "./resolve_collection.ts";

/**
 * Returns what changed. The collection may exist at one of the commits only.
 * @throws {CollectionsError} since-unknown, collection-too-large, or what
 * finding and listing the collection throw.
 */
export async function listChanges(
  parameters: ChangesParameters,
  read: ReadContext,
): Promise<Answer> {
  const { collection, since } = parameters;
  const unknown = problem("since-unknown", { since });
  const earlier = await read.source.at(read.snapshot, since, read.context);
  if (earlier === null) throw unknown;
  const earlierRead = { ...read, snapshot: earlier };
  // The source may drop a commit that it had. The repository is still there.
  const orUnknown = (error: unknown) => {
    throw codeOf(error) === "repository-not-found" ? unknown : error;
  };
  const after = await findOrNull(collection, read);
  const before = since === read.snapshot.commit
    ? after
    : await findOrNull(collection, earlierRead).catch(orUnknown);
  // If both are null, this throws the error.
  const about = after ?? before ?? await resolveCollection(collection, read);

  const isSame = before?.treeId === after?.treeId &&
    before?.path === after?.path &&
    JSON.stringify(before?.declared) === JSON.stringify(after?.declared);
  const old = isSame
    ? null
    : await sideOf(before, earlierRead).catch(orUnknown);
  const now = isSame ? null : await sideOf(after, read);
  await read.reserveBytes(MAX_CHANGES.bytes);
  const changes = await runTask(
    read,
    compareListsTask,
    { before: old, after: now },
    {
      subject: about.path,
      linearIn: (old?.files.length ?? 0) + (now?.files.length ?? 0),
    },
  );
  if (changes === null) {
    const why =
      `more than ${MAX_CHANGES.files} files or ${MAX_CHANGES.bytes} ` +
      "bytes of paths changed";
    throw collectionTooLarge(about.path, why);
  }
  const fields = { since, warnings: warningsOf(parameters) };
  return { bytes: await bodyOf(read, fields, changes.subarray(1)) };
}

/** Returns null if the collection does not exist at this commit. */
async function findOrNull(
  collection: string,
  read: ReadContext,
): Promise<Found | null> {
  const file = await findDataFile(collection, read);
  if (file !== null) return { ...file, treeId: file.id };
  return await resolveCollection(collection, read).catch((error) => {
    if (codeOf(error) === "collection-not-found") return null;
    throw error;
  });
}

type Found =
  | CollectionFolder
  | FileRef & {
    readonly treeId: string;
    readonly declared?: undefined;
  };

async function sideOf(found: Found | null, read: ReadContext) {
  if (found === null) return null;
  if ("id" in found) {
    const list = new FileListBuilder();
    list.add(found);
    return { folder: "", files: list.build().bytes, rule: undefined };
  }
  const list = await listFiles(found, read);
  return {
    folder: found.path,
    files: list.bytes,
    rule: found.declared?.rule,
  };
}
