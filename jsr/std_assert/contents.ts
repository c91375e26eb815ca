// The contents of a string, an array or an object.

import { AssertionError, toDifference } from "./assertion_error.ts";
import { equal } from "./equal.ts";

type Loose = Record<PropertyKey, unknown>;

/** Asserts that a string matches a pattern. */
export function assertMatch(actual: string, expected: RegExp, msg?: string): void {
  if (expected.test(actual)) return;
  throw new AssertionError(msg ?? `Expected "${actual}" to match ${expected}`);
}

/** Asserts that a string contains another. */
export function assertStringIncludes(actual: string, expected: string, msg?: string): void {
  if (actual.includes(expected)) return;
  throw new AssertionError(msg ?? `Expected "${actual}" to contain "${expected}"`);
}

/** Asserts that an array contains every value of another, by deep equality. */
export function assertArrayIncludes<T>(
  actual: ArrayLike<T>,
  expected: ArrayLike<T>,
  msg?: string,
): void {
  const values = Array.from(actual);
  const missing = Array.from(expected).filter((item) =>
    !values.some((value) => equal(value, item))
  );
  if (missing.length === 0) return;
  throw new AssertionError(
    msg ?? `Expected ${Deno.inspect(actual)} to include ${Deno.inspect(missing)}`,
  );
}

/** Asserts that an object has at least the properties of another, at every depth. */
export function assertObjectMatch(
  // deno-lint-ignore no-explicit-any -- an interface is no Record of unknown
  actual: Record<PropertyKey, any>,
  expected: Record<PropertyKey, unknown>,
  msg?: string,
): void {
  if (isSuperset(actual, expected)) return;
  throw toDifference({ actual, expected, operator: "deepStrictEqual" }, msg);
}

function isSuperset(actual: Loose, expected: Loose): boolean {
  return Reflect.ownKeys(expected).every((key) =>
    Object.hasOwn(actual, key) && holds(actual[key], expected[key])
  );
}

function holds(actual: unknown, expected: unknown): boolean {
  const areComparable = isStructure(actual) && isStructure(expected) &&
    Array.isArray(actual) === Array.isArray(expected);
  return areComparable ? isSuperset(actual, expected) : equal(actual, expected);
}

/** Whether a value is fully described by its properties: built-in objects store their content elsewhere. */
function isStructure(value: unknown): value is Loose {
  if (typeof value !== "object" || value === null) return false;
  return ![Date, RegExp, URL, Map, Set].some((builtIn) => value instanceof builtIn);
}
