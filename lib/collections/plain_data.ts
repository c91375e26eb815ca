// Parsed YAML and TOML as plain JSON data. A key of a file is always an own property, `__proto__` too, so that no file
// reaches a prototype.

/** A value that JSON can carry whole. */
export type PlainValue = null | boolean | number | string | PlainValue[] | PlainObject;

/** A mapping of a file; look keys up with {@linkcode getOwn}. */
export interface PlainObject {
  [key: string]: PlainValue;
}

/** Whether a value is a mapping. */
export function isPlainObject(value: PlainValue | undefined): value is PlainObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The own property of a mapping under a key, or undefined; inherited properties are ignored. */
export function getOwn(object: PlainObject, key: string): PlainValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets a key as an own property, whatever its name. */
export function setOwn(object: PlainObject, key: string, value: PlainValue): void {
  // An assignment would set the prototype.
  if (key === "__proto__") {
    const attributes = { writable: true, enumerable: true, configurable: true };
    Object.defineProperty(object, key, { value, ...attributes });
  } else object[key] = value;
}

const KEY_PREFIX = "frontMatter.";
const MAX_KEY_CHARS = 256;

/** How a request names a value in front matter: the keys from the outermost mapping inwards, at least one. */
export type FrontMatterKey = readonly string[];

/** Reads `frontMatter.author.name`; null where the text is not of that form or over 256 characters long. */
export function parseFrontMatterKey(text: string): FrontMatterKey | null {
  if (!text.startsWith(KEY_PREFIX) || text.length > MAX_KEY_CHARS) return null;
  const keys = text.slice(KEY_PREFIX.length).split(".");
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
