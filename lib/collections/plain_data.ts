// What is left of YAML and TOML once read: plain JSON data, whose JSON text holds all of it. A key of the file is
// always an own property, `__proto__` too, so that no file reaches a prototype.

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

/** The value that the file itself gave a key, or undefined; what every object inherits is not seen. */
export function getOwn(object: PlainObject, key: string): PlainValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets a key as an own property, whatever its name. */
export function setOwn(object: PlainObject, key: string, value: PlainValue): void {
  if (key !== "__proto__") object[key] = value;
  else {
    // An assignment would set the prototype instead.
    Object.defineProperty(object, key, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }
}
