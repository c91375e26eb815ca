// What one answer about a ref leaves for the next request: where the repository was, and the validators. It travels
// through caches as the text `Snapshot.validators`.

import { z } from "zod";

const validator = z.object({ etag: z.string(), fingerprint: z.string() }).nullable();

const schema = z.object({
  /** Where the repository was found; trees and blobs are requested there, a ref always under its own name. */
  base: z.string(),
  /** `heads/…`, `tags/…`, a commit id or `HEAD`. */
  form: z.string(),
  commit: validator,
  visibility: validator,
});

/** See the head of this file. */
export type RefValidators = z.infer<typeof schema>;

/** The validators of an earlier answer, or null where the text is none. */
export function parseValidators(text: string | undefined): RefValidators | null {
  if (text === undefined) return null;
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
