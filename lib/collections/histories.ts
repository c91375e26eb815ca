// The histories of the files of one response.

import { FAILURE_TTL_MS } from "../content/derived.ts";
import { codeOf, isSourceFailure } from "../errors.ts";
import type { FileHistory, FileRef } from "../source/source.ts";
import type { ReadContext } from "./read_context.ts";

/** GitHub gives the history of 50 files for one point of its quota. */
export const MAX_DATED = 2_000;
/** Longer paths cannot be checked out on Linux (`PATH_MAX`). */
const MAX_PATH_CHARS = 4_096;

/**
 * Returns histories by path, and how long they may be cached, in ms. Files
 * whose history is unknown or cannot be read have none, nor have files with
 * longer paths than {@linkcode MAX_PATH_CHARS}.
 * @throws {CollectionsError} history-unavailable. A source failure if no
 * history can be read.
 */
export async function readHistories(
  files: readonly FileRef[],
  { source, snapshot, context }: ReadContext,
  withCreated = false,
): Promise<{
  readonly histories: ReadonlyMap<string, FileHistory>;
  readonly cacheForMs: number;
}> {
  const query = {
    files: files.filter(({ path }) => path.length <= MAX_PATH_CHARS),
    withCreated,
  };
  const { changes, cacheForMs = Infinity } = await source.history(
    snapshot,
    query,
    context,
  );
  const histories = new Map<string, FileHistory>();
  for (const [path, history] of changes) {
    if (!(history instanceof Error)) histories.set(path, history);
  }
  const isWhole = histories.size === changes.size;
  return {
    histories,
    cacheForMs: Math.min(cacheForMs, isWhole ? Infinity : FAILURE_TTL_MS),
  };
}

/** Returns dates of last changes by path. They are not essential. */
export async function readDates(files: readonly FileRef[], read: ReadContext) {
  let histories: ReadonlyMap<string, FileHistory> = new Map();
  let cacheForMs = Infinity;
  try {
    ({ histories, cacheForMs } = await readHistories(files, read));
  } catch (error) {
    if (isSourceFailure(error)) cacheForMs = FAILURE_TTL_MS;
    else if (codeOf(error) !== "history-unavailable") throw error;
  }
  const dates = new Map(
    [...histories].map(([path, { lastChanged: { date } }]) => [path, date]),
  );
  return { dates, cacheForMs };
}
