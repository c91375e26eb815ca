// Keeps the front matter of files on the content thread. It is stored as JSON
// text by repository and blob id. The size of text is known and not estimated.

import { RecentMap } from "../work/recent_map.ts";
import { Kept } from "./kept.ts";

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
const MAX_FAILURES = 20_000;

/**
 * The result of a task whose thread lacks front matter. `missing` has the
 * indices of those files.
 */
export interface Missing {
  readonly missing: readonly number[];
}

const texts = new Kept<string>({
  maxBytes: MAX_BYTES,
  sizeOf: (text, key) => 2 * text.length + key.length + ENTRY_BYTES,
});
const failures = new RecentMap<string>(MAX_FAILURES, {
  ttl: FAILURE_TTL_MS,
});

/** Returns a `FrontMatter` as JSON, or undefined if it has to be derived. */
export function derivedText(
  repository: string,
  id: string,
): string | undefined {
  const key = `${repository}\n${id}`;
  return texts.get(key) ?? failures.get(key);
}

/** Keeps a `FrontMatter` as JSON. */
export function keepDerived(
  repository: string,
  id: string,
  text: string,
): void {
  texts.set(`${repository}\n${id}`, text);
}

/** Keeps why a file has no `FrontMatter`, as JSON, for five minutes. */
export function keepFailure(
  repository: string,
  id: string,
  text: string,
): void {
  failures.set(`${repository}\n${id}`, text);
}
