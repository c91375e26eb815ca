// The histories of the files of one response.

import { FAILURE_TTL_MS } from "../content/derived.ts";
import { CollectionsError, isSourceFailure, problem } from "../errors.ts";
import type { FileHistory, FileRef } from "../source/source.ts";
import type { ReadContext } from "./read_context.ts";

/** GitHub gives the history of 50 files for one point of its quota. */
export const MAX_DATED = 2_000;

/**
 * Returns histories by path, and how long they may be cached, in ms. Files
 * whose history is unknown or cannot be read have none.
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
  if (!source.history) throw problem("history-unavailable", {});
  const query = { files, withCreated };
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
  const none = (error: unknown) => {
    const histories = new Map<string, FileHistory>();
    if (isSourceFailure(error)) {
      return { histories, cacheForMs: FAILURE_TTL_MS };
    }
    const isUnavailable = error instanceof CollectionsError &&
      error.code === "history-unavailable";
    if (!isUnavailable) throw error;
    return { histories, cacheForMs: Infinity };
  };
  const { histories, cacheForMs } = await readHistories(files, read)
    .catch(none);
  const dates = new Map(
    [...histories].map(([path, { lastChanged: { date } }]) => [path, date]),
  );
  return { dates, cacheForMs };
}
