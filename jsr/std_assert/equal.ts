// Deep equality as @std/assert has it: node:assert's, but 0 equals -0, an object without a prototype equals a plain one,
// and an instance of a class is compared by all its properties, so that two errors are equal only with one stack.

type Keyed = Map<unknown, unknown> | Set<unknown>;

/** Whether two values are deeply equal. `seen` has the pairs that are being compared, since objects may refer to themselves. */
export function equal(a: unknown, b: unknown, seen = new Map<unknown, unknown>()): boolean {
  if (a === b || Object.is(a, b)) return true;
  if (!isObject(a) || !isObject(b) || prototypeOf(a) !== prototypeOf(b)) return false;
  if (a instanceof Date) return Object.is(a.getTime(), Number(b));
  if (a instanceof RegExp || a instanceof URL) return String(a) === String(b);
  if (a instanceof ArrayBuffer && b instanceof ArrayBuffer) {
    return equal(new Uint8Array(a), new Uint8Array(b));
  }
  if (isNumbers(a) && isNumbers(b)) {
    const isSame = (n: unknown, index: number) => n === b[index] || Object.is(n, b[index]);
    return a.length === b.length && Array.prototype.every.call(a, isSame);
  }
  if (seen.get(a) === b) return true;
  seen.set(a, b);
  if (isKeyed(a) && isKeyed(b)) return equalEntries(a, b, seen);
  const keys = keysOf(a);
  return keys.length === keysOf(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && equal(a[key], b[key], seen));
}

/** One without a prototype counts as a plain object. */
function prototypeOf(value: object): object {
  return Object.getPrototypeOf(value) ?? Object.prototype;
}

function keysOf(value: object): PropertyKey[] {
  const isPlain = [Object.prototype, Array.prototype].includes(prototypeOf(value) as never);
  return Reflect.ownKeys(isPlain ? { ...value } : value);
}

function equalEntries(a: Keyed, b: Keyed, seen: Map<unknown, unknown>): boolean {
  const rest = new Set(b.entries());
  return a.size === b.size && a.entries().every((entry) => {
    const match = rest.values().find((other) => equal(entry, other, seen));
    return match !== undefined && rest.delete(match);
  });
}

function isKeyed(value: object): value is Keyed {
  return value instanceof Map || value instanceof Set;
}

function isNumbers(value: object): value is Record<PropertyKey, unknown> & Uint8Array {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

function isObject(value: unknown): value is Record<PropertyKey, unknown> {
  return typeof value === "object" && value !== null;
}
