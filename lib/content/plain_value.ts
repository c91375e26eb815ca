// Plain JSON data of files, and the keys that requests name in it. A key of a file is always an own property, `__proto__`
// too, so that no file reaches a prototype.

/** A value that JSON can carry whole. */
export type PlainValue = null | boolean | number | string | PlainValue[] | PlainObject;
/** A mapping of a file; look keys up with {@linkcode getOwn}. */
export type PlainObject = { [key: string]: PlainValue };

/** Whether a value is a mapping. */
export function isPlainObject(value: PlainValue | undefined): value is PlainObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The own property of a mapping under a key, or undefined; inherited properties are ignored. */
export function getOwn(object: PlainObject, key: string): PlainValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

const KEY_PREFIX = "frontMatter.";
const MAX_KEY_CHARS = 256;

/**
 * Reads `frontMatter.author.name` as the keys from the outermost mapping inwards, at least one; null where the text is not
 * of that form or over 256 characters long.
 */
export function parseFrontMatterKey(text: string): readonly string[] | null {
  if (!text.startsWith(KEY_PREFIX) || text.length > MAX_KEY_CHARS) return null;
  const keys = text.slice(KEY_PREFIX.length).split(".");
  return keys.includes("") ? null : keys;
}

/** The value that a file's front matter has under a key; undefined where it has none. */
export function readFrontMatterKey(
  frontMatter: PlainObject | null,
  key: readonly string[],
): PlainValue | undefined {
  return key.reduce<PlainValue | undefined>(
    (value, name) => isPlainObject(value) ? getOwn(value, name) : undefined,
    frontMatter ?? undefined,
  );
}
