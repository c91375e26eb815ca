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

const KEY_PREFIX = /^(?:frontMatter|data)\./;
const MAX_KEY_CHARS = 256;

/**
 * Returns the keys of `frontMatter.author.name` or `data.name` from the item
 * inwards. There are at least two keys. Returns null if the text has another
 * syntax or is over 256 characters long.
 */
export function parseItemKey(text: string): readonly string[] | null {
  if (!KEY_PREFIX.test(text) || text.length > MAX_KEY_CHARS) return null;
  const keys = text.split(".");
  return keys.includes("") ? null : keys;
}

/**
 * Returns the value under a key of an item that has `frontMatter` or `data`, or
 * undefined if there is no such value.
 */
export function readItemKey(
  item: PlainObject | null,
  key: readonly string[],
): PlainValue | undefined {
  return key.reduce<PlainValue | undefined>(
    (value, name) => isPlainObject(value) ? getOwn(value, name) : undefined,
    item ?? undefined,
  );
}
