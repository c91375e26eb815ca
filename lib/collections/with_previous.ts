// When a ref has moved and the new state cannot be read since the source fails, the state before stands in.

import { isSourceFailure } from "../errors.ts";
import type { Snapshot } from "../repository/repository.ts";

/** Runs `work` on a snapshot, and on the one before it where the source fails; the first failure is thrown if both do. */
export async function withPrevious<T>(
  snapshot: Snapshot,
  work: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  try {
    return await work(snapshot);
  } catch (error) {
    if (!isSourceFailure(error) || snapshot.previous === undefined) throw error;
    try {
      return await work(snapshot.previous);
    } catch {
      throw error;
    }
  }
}
