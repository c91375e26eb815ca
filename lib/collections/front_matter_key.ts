// How a request names a value in front matter: `frontMatter.` and a key, where a dot goes one mapping deeper. Sorting
// and filtering both read values this way.

import { getOwn, isPlainObject, type PlainObject, type PlainValue } from "./plain_data.ts";

const PREFIX = "frontMatter.";
const MAX_CHARS = 256;

/** The keys from the outermost mapping inwards; at least one. */
export type FrontMatterKey = readonly string[];

/** Reads `frontMatter.author.name`; null where the text is not of that form or over 256 characters long. */
export function parseFrontMatterKey(text: string): FrontMatterKey | null {
  if (!text.startsWith(PREFIX) || text.length > MAX_CHARS) return null;
  const keys = text.slice(PREFIX.length).split(".");
  return keys.includes("") ? null : keys;
}

/** The value that a file's front matter has under a key; undefined where it has none. */
export function readFrontMatterKey(
  frontMatter: PlainObject | null,
  key: FrontMatterKey,
): PlainValue | undefined {
  let value: PlainValue | undefined = frontMatter ?? undefined;
  for (const name of key) {
    if (!isPlainObject(value)) return undefined;
    value = getOwn(value, name);
  }
  return value;
}
