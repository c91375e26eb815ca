// What is remembered of one answer about a ref for the next question: where the repository is, and the validators.

import { z } from "zod";
import type { Snapshot } from "./repository.ts";

const memoSchema = z.object({
  base: z.string(),
  /** When the asked name itself was last asked for, in ms; a moved repository's name may be given to another. */
  namedAtMs: z.number(),
  form: z.string(),
  commit: z.object({ etag: z.string(), fingerprint: z.string() }).nullable(),
  visibility: z.object({ etag: z.string(), fingerprint: z.string() }).nullable(),
});

/** See {@linkcode memoSchema}. */
export type GitHubMemo = z.infer<typeof memoSchema>;

/** The memo of an earlier answer, or null where it cannot be read. */
export function parseMemo(text: string | undefined): GitHubMemo | null {
  if (text === undefined) return null;
  try {
    return memoSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** The path below the API's address under which a snapshot's repository is to be asked. */
export function baseOf(snapshot: Snapshot): string {
  return parseMemo(snapshot.memo)?.base ?? `repos/${snapshot.name.owner}/${snapshot.name.repo}`;
}
