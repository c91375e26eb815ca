// Collections that a repository declares for its content management system.
// What a name leads to is cached, so a configuration is parsed at most once for
// each commit and name.

import {
  CONFIG_PATHS,
  type Declarations,
  unreadable,
} from "../content/declared.ts";
import { declarationsTask } from "../content/tasks.ts";
import { TimeLimitError } from "../thread/compute.ts";
import { findEntry, type ReadContext, runTask } from "./read_context.ts";

/** Configuration files are written by hand. A larger file is something else. */
const MAX_BYTES = 1 << 20;

/**
 * Returns all declared collections in the order of the files. Also returns
 * warnings about files that could not be parsed.
 * @throws {CollectionsError} if the source fails.
 */
export async function readDeclarations(read: ReadContext) {
  const found = await Promise.all(
    CONFIG_PATHS.map((path) => readConfigFile(path, read)),
  );
  return {
    collections: found.flatMap(({ collections }) => collections),
    warnings: found.flatMap(({ warning }) => warning ?? []),
  };
}

async function readConfigFile(
  path: string,
  read: ReadContext,
): Promise<Declarations> {
  const entry = await findEntry(path, read);
  if (entry?.kind !== "file") return { collections: [], warning: null };
  const { id, size } = entry;
  if (size > MAX_BYTES) {
    return unreadable(path, `it has more than ${MAX_BYTES} bytes`);
  }
  const { source, snapshot, context } = read;
  const file = { path, id, size };
  const bytes = (await source.blobs(snapshot, [file], context)).get(id)!;
  if (bytes instanceof Error) throw bytes;
  return await runTask(read, declarationsTask, { path, bytes })
    .catch((error) => {
      if (!(error instanceof TimeLimitError)) throw error;
      return unreadable(path, "it takes too long to parse");
    });
}
