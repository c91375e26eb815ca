// One page of the rows of a data file.

import { DEFAULTS, type ListParameters } from "../api/parameters.ts";
import { isDataFile } from "../content/file_names.ts";
import type { RowsPage } from "../content/rows.ts";
import { indexTableTask, rowsTask, tableTask } from "../content/tasks.ts";
import { collectionTooLarge, invalidParameters } from "../errors.ts";
import type { FileRef } from "../source/source.ts";
import { joinBytes } from "../work/bytes.ts";
import { reserveFiles } from "./derive.ts";
import {
  findEntry,
  type ReadContext,
  repositoryOf,
  runJob,
  runSupplied,
  runTask,
} from "./read_context.ts";
import { readContent } from "./read_contents.ts";

const MAX_FILE_BYTES = 10 << 20;
/** Larger files take longer to parse than the first try of a task may. */
const LONG_TABLE_BYTES = 1 << 20;

/** Returns the data file at a path, or null for anything else. */
export async function findDataFile(
  path: string,
  read: ReadContext,
): Promise<FileRef | null> {
  const entry = isDataFile(path) ? await findEntry(path, read) : null;
  return entry?.kind === "file"
    ? { path, id: entry.id, size: entry.size }
    : null;
}

/**
 * Returns a page of the rows of a file.
 * @throws {CollectionsError} invalid-parameters for parameters of folders,
 * collection-not-found, collection-too-large, collection-not-ready,
 * query-too-expensive or a source failure.
 */
export async function listRows(
  file: FileRef,
  parameters: ListParameters,
  maxBytes: number,
  read: ReadContext,
): Promise<RowsPage> {
  const { page, limit = DEFAULTS.limit } = parameters;
  const { sort, filter = [], facets = [], search, fields } = parameters;
  requireRowParameters(parameters);
  const { path, id } = file;
  const repository = repositoryOf(read);
  const name = { repository, path, id, infers: parameters.types === "infer" };
  const start = (page - 1) * limit;
  const query = { sort, filter, facets, search, fields, maxBytes };
  const input = { ...name, ...query, start, end: start + limit };
  const about = { subject: path };
  await read.reserveBytes(maxBytes);
  read.context.recordMiss();
  return await runSupplied(read, rowsTask, input, about, (missing) => {
    const work = async (read: ReadContext) => {
      if (missing === "rows") {
        using memory = new DisposableStack();
        const admit = async ({ size }: FileRef) => {
          const maxBytes = Math.min(MAX_FILE_BYTES, read.limits.maxItemBytes);
          if (size > maxBytes) {
            throw collectionTooLarge(
              path,
              `it has more than ${maxBytes} bytes`,
            );
          }
          memory.use(await reserveFiles(size, read));
        };
        // Copied in pieces, since a message is copied at once.
        const bytes = await joinBytes([
          await readContent({ ...file }, admit, read),
        ]);
        const isLong = bytes.length > LONG_TABLE_BYTES;
        await runTask(read, tableTask, { ...name, bytes }, {
          ...about,
          isLong,
        });
        return;
      }
      while (!await runTask(read, indexTableTask, name, about)) {
        read.context.signal?.throwIfAborted();
      }
    };
    const key = `${missing} ${id} ${name.infers} ${path}`;
    return runJob(read, { key, collection: path, work });
  });
}

/** Rows have no name, path or size. */
function requireRowParameters({ sort = "", filter = [] }: ListParameters) {
  const bad = filter.map(([name]) => name)
    .filter((name) => /^filter\[(name|path)\]/.test(name));
  if (/^-?(name|size|lastChanged)/.test(sort)) bad.push("sort");
  if (bad.length === 0) return;
  const message = "must be by data.<key> because the collection is a data file";
  throw invalidParameters(bad.map((parameter) => ({ parameter, message })));
}
