// Deep equality as @std/assert has it: node:assert's, but 0 equals -0, an
// object without a prototype equals a plain one, and what is no plain object,
// no array and no known built-in is compared by all its properties, those that
// are not enumerable or inherited too. So two errors are equal only with one
// stack.

type Keyed = Map<unknown, unknown> | Set<unknown>;

/** Whether two values are deeply equal. */
export function equal(a: unknown, b: unknown): boolean {
  return compare(a, b, new Map());
}

/** What is equal when its text is. */
const TEXTUAL = new Set<unknown>(
  [RegExp, URL, URLSearchParams, Intl.Locale, ...Object.values(Temporal)]
    .map((type) => (type as { prototype?: unknown }).prototype),
);

function compare(a: unknown, b: unknown, seen: Map<unknown, unknown>): boolean {
  if (a === b || Object.is(a, b)) return true;
  if (!isObject(a) || !isObject(b)) return false;
  const prototype = prototypeOf(a);
  if (prototype !== prototypeOf(b)) return false;
  if (a instanceof Date && b instanceof Date) {
    return Object.is(a.getTime(), b.getTime());
  }
  if (TEXTUAL.has(prototype)) return String(a) === String(b);
  if (a instanceof ArrayBuffer && b instanceof ArrayBuffer) {
    return compare(new Uint8Array(a), new Uint8Array(b), seen);
  }
  if (isNumbers(a) && isNumbers(b)) {
    const isSame = (n: unknown, index: number) =>
      n === b[index] || Object.is(n, b[index]);
    return a.length === b.length && Array.prototype.every.call(a, isSame);
  }
  if (seen.get(a) === b) return true;
  seen.set(a, b);
  if (isKeyed(a) && isKeyed(b)) return compareKeyed(a, b, seen);
  if (Object.keys(a).length !== Object.keys(b).length) return false;
  const keys = new Set([...propertiesOf(a), ...propertiesOf(b)]);
  return keys.values().every((key) =>
    key in a && key in b && compare(a[key], b[key], seen)
  );
}

/** One without a prototype counts as a plain object. */
function prototypeOf(value: object): object {
  return Object.getPrototypeOf(value) ?? Object.prototype;
}

function propertiesOf(value: object): PropertyKey[] {
  const prototype = prototypeOf(value);
  if (prototype === Object.prototype || prototype === Array.prototype) {
    return Reflect.ownKeys({ ...value });
  }
  return [...Reflect.ownKeys(value), ...inherited(prototype)];
}

function inherited(prototype: object): PropertyKey[] {
  if (prototype === Object.prototype) return [];
  return [...Reflect.ownKeys(prototype), ...inherited(prototypeOf(prototype))];
}

function compareKeyed(
  a: Keyed,
  b: Keyed,
  seen: Map<unknown, unknown>,
): boolean {
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

function isNumbers(
  value: object,
): value is Record<PropertyKey, unknown> & Uint8Array {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

function isObject(value: unknown): value is Record<PropertyKey, unknown> {
  return typeof value === "object" && value !== null;
}
