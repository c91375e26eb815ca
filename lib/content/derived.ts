// What the content thread keeps of files: their front matter, as JSON text, by repository and blob id. Its size is that
// of the text, so it is known and not estimated.

import { LRUCache } from "lru-cache";

/** In characters of JSON. */
const MAX_CHARS = 48 << 20;
const ENTRY_CHARS = 200;
/** A busy machine may be the cause of a failure, so it is remembered for a short time only. */
export const FAILURE_TTL_MS = 5 * 60_000;

/** What a task gives that needs front matter which its thread does not have: the indices of those files. */
export interface Missing {
  readonly missing: readonly number[];
}

// One for each thread, which is what the tasks of a thread share.
const texts = new LRUCache<string, string>({
  maxSize: MAX_CHARS,
  sizeCalculation: (text, key) => text.length + key.length + ENTRY_CHARS,
});

/** A `FrontMatter` as JSON; undefined where it has to be derived. */
export function derivedText(repository: string, id: string): string | undefined {
  return texts.get(`${repository}\n${id}`);
}

/** Keeps a `FrontMatter` as JSON; `ttl` in ms, 0 for as long as there is room. */
export function keepDerived(repository: string, id: string, text: string, ttl = 0): void {
  texts.set(`${repository}\n${id}`, text, { ttl });
}
