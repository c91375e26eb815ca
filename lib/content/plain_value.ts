// Plain JSON data of files and the keys that requests name in it. A key of a
// file is always an own property. This includes `__proto__`, so no file reaches
// a prototype.

/** A value that JSON can carry without loss. */
export type PlainValue =
  | null
  | boolean
  | number
  | string
  | PlainValue[]
  | PlainObject;
/** A mapping in a file. Use {@linkcode getOwn} to get its values. */
export type PlainObject = { [key: string]: PlainValue };

/** Returns whether a value is a mapping. */
export function isPlainObject(
  value: PlainValue | undefined,
): value is PlainObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Returns the own property of a mapping, or undefined. Inherited properties are
 * ignored.
 */
export function getOwn(
  object: PlainObject,
  key: string,
): PlainValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

const KEY_PREFIX = "frontMatter.";
const MAX_KEY_CHARS = 256;

/**
 * Returns the keys of `frontMatter.author.name` from the outermost mapping
 * inwards. There is at least one key. Returns null if the text has another
 * syntax or is over 256 characters long.
 */
export function parseFrontMatterKey(text: string): readonly string[] | null {
  if (!text.startsWith(KEY_PREFIX) || text.length > MAX_KEY_CHARS) return null;
  const keys = text.slice(KEY_PREFIX.length).split(".");
  return keys.includes("") ? null : keys;
}

/**
 * Returns the value under a key of a file's front matter, or undefined if there
 * is no such value.
 */
export function readFrontMatterKey(
  frontMatter: PlainObject | null,
  key: readonly string[],
): PlainValue | undefined {
  return key.reduce<PlainValue | undefined>(
    (value, name) => isPlainObject(value) ? getOwn(value, name) : undefined,
    frontMatter ?? undefined,
  );
}
