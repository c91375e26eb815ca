// Keeps the front matter of files on the content thread. It is stored as JSON
// text by repository and blob id. The size of text is known and not estimated.

import { LRUCache } from "lru-cache";

/**
 * A list has up to 16 Mi characters of front matter in 20,000 entries. V8 may
 * keep a character in two bytes, and a key has up to 210.
 */
const MAX_BYTES = 42 << 20;
const ENTRY_BYTES = 200;
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
  maxSize: MAX_BYTES,
  sizeCalculation: (text, key) => 2 * text.length + key.length + ENTRY_BYTES,
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
