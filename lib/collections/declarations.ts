// Collections that a repository declares for its content management system.
// Each configuration file is parsed once per blob id.

import type { ObjectKind } from "../cache/object_cache.ts";
import {
  CONFIG_PATHS,
  type Declarations,
  unreadable,
} from "../content/declared.ts";
import { declarationsTask } from "../content/tasks.ts";
import { TimeLimitError } from "../thread/compute.ts";
import {
  findEntry,
  readBlob,
  type ReadContext,
  repositoryOf,
  runTask,
} from "./read_context.ts";

/** Configuration files are written by hand. A larger file is something else. */
const MAX_BYTES = 1 << 20;

/** Keyed by path and blob id, which alone determine the result. */
const declarationsKind: ObjectKind<Declarations> = {
  name: "declarations",
  sizeOf: ({ collections }) =>
    collections.reduce(
      (sum, { fields = "", ...others }) =>
        sum + 2 * (fields.length + JSON.stringify(others).length),
      200,
    ),
};

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
  const key = `${path} ${id}`;
  const cached = read.objects.peek(declarationsKind, repositoryOf(read), key);
  if (cached !== undefined) return cached;
  const bytes = await readBlob({ path, id, size }, read);
  const declarations = await runTask(read, declarationsTask, { path, bytes })
    .catch((error) => {
      if (!(error instanceof TimeLimitError)) throw error;
      return unreadable(path, "it takes too long to parse");
    });
  read.objects.set(declarationsKind, repositoryOf(read), key, declarations);
  return declarations;
}
