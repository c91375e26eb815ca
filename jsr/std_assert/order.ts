// The order of two values.

import { AssertionError } from "./assertion_error.ts";

/** Asserts that `actual > expected`. */
export function assertGreater<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual > expected)) throw toError(msg, { actual, expected, is: ">" });
}

/** Asserts that `actual >= expected`. */
export function assertGreaterOrEqual<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual >= expected)) throw toError(msg, { actual, expected, is: ">=" });
}

/** Asserts that `actual < expected`. */
export function assertLess<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual < expected)) throw toError(msg, { actual, expected, is: "<" });
}

/** Asserts that `actual <= expected`. */
export function assertLessOrEqual<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual <= expected)) throw toError(msg, { actual, expected, is: "<=" });
}

function toError(
  msg: string | undefined,
  { actual, expected, is }: { actual: unknown; expected: unknown; is: string },
): AssertionError {
  return new AssertionError(
    msg ?? `Expected ${Deno.inspect(actual)} ${is} ${Deno.inspect(expected)}`,
  );
}
