// Deep equality as @std/assert has it: node:assert's, but 0 equals -0, an object without a prototype
// equals a plain one, and an error is compared by its own enumerable properties alone.

type Keyed = Map<unknown, unknown> | Set<unknown>;

/** Whether two values are deeply equal. */
export function equal(a: unknown, b: unknown): boolean {
  return compare(a, b, new Map());
}

function compare(a: unknown, b: unknown, seen: Map<unknown, unknown>): boolean {
  if (a === b || Object.is(a, b)) return true;
  if (!isObject(a) || !isObject(b) || kindOf(a) !== kindOf(b)) return false;
  if (a instanceof Date && b instanceof Date) return Object.is(a.getTime(), b.getTime());
  if (a instanceof Uint8Array && b instanceof Uint8Array) {
    return a.length === b.length && a.every((byte, index) => byte === b[index]);
  }
  if (a instanceof RegExp || a instanceof URL) return String(a) === String(b);
  if (seen.get(a) === b) return true;
  seen.set(a, b);
  if (isKeyed(a) && isKeyed(b)) return compareKeyed(a, b, seen);
  return compareProperties(a, b, seen);
}

/** An object's constructor; one without a prototype counts as a plain object. */
function kindOf(value: object): unknown {
  return value.constructor ?? Object;
}

function compareProperties(
  a: Record<PropertyKey, unknown>,
  b: Record<PropertyKey, unknown>,
  seen: Map<unknown, unknown>,
): boolean {
  const keys = propertiesOf(a);
  return keys.length === propertiesOf(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && compare(a[key], b[key], seen));
}

function propertiesOf(value: object): PropertyKey[] {
  const isEnumerable = (key: PropertyKey) => Object.prototype.propertyIsEnumerable.call(value, key);
  return Reflect.ownKeys(value).filter(isEnumerable);
}

function compareKeyed(a: Keyed, b: Keyed, seen: Map<unknown, unknown>): boolean {
  if (a.size !== b.size) return false;
  const rest = new Set(b.entries());
  return a.entries().every((entry) => {
    const match = rest.values().find((other) =>
      compare(entry[0], other[0], seen) && compare(entry[1], other[1], seen)
    );
    return match !== undefined && rest.delete(match);
  });
}

function isKeyed(value: object): value is Keyed {
  return value instanceof Map || value instanceof Set;
}

function isObject(value: unknown): value is Record<PropertyKey, unknown> {
  return typeof value === "object" && value !== null;
}
