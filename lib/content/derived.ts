// Keeps the front matter of files on the content thread. It is stored as JSON
// text by repository and blob id. The size of text is known and not estimated.

import { LRUCache } from "lru-cache";

/** Counts characters of JSON. */
const MAX_CHARS = 32 << 20;
const ENTRY_CHARS = 200;
/**
 * A busy machine may cause a failure, so failures are kept for a short time.
 */
export const FAILURE_TTL_MS = 5 * 60_000;

/**
 * The result of a task whose thread lacks front matter. `missing` has the
 * indices of those files.
 */
export interface Missing {
  readonly missing: readonly number[];
}

// Each thread has its own cache. All tasks of the thread share it.
const texts = new LRUCache<string, string>({
  maxSize: MAX_CHARS,
  sizeCalculation: (text, key) => text.length + key.length + ENTRY_CHARS,
});

/** Returns a `FrontMatter` as JSON, or undefined if it has to be derived. */
export function derivedText(
  repository: string,
  id: string,
): string | undefined {
  return texts.get(`${repository}\n${id}`);
}

/**
 * Keeps a `FrontMatter` as JSON. `ttl` is in ms. 0 keeps it while there is
 * room.
 */
export function keepDerived(
  repository: string,
  id: string,
  text: string,
  ttl = 0,
): void {
  texts.set(`${repository}\n${id}`, text, { ttl });
}
