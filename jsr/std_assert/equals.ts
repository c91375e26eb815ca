// Equality, deep and strict.

import { AssertionError, toDifference } from "./assertion_error.ts";
import { equal } from "./equal.ts";

/** Asserts that two values are deeply equal. */
export function assertEquals<T>(actual: T, expected: T, msg?: string): void {
  if (equal(actual, expected)) return;
  throw toDifference({ actual, expected, operator: "deepStrictEqual" }, msg);
}

/** Asserts that two values are not deeply equal. */
export function assertNotEquals<T>(actual: T, expected: T, msg?: string): void {
  if (!equal(actual, expected)) return;
  throw new AssertionError(msg ?? `Cannot accept "${Deno.inspect(actual)}": it equals the other`);
}

/** Asserts that two values are the same, by `Object.is()`. */
export function assertStrictEquals<T>(
  actual: unknown,
  expected: T,
  msg?: string,
): asserts actual is T {
  if (Object.is(actual, expected)) return;
  throw toDifference({ actual, expected, operator: "strictEqual" }, msg);
}
