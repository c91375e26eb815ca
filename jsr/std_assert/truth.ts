// Single values: that one is truthy, is there, or is of a class.

import { AssertionError } from "./assertion_error.ts";

/** Asserts that a value is truthy. */
export function assert(expr: unknown, msg = ""): asserts expr {
  if (!expr) throw new AssertionError(msg);
}

/** Asserts that a value is neither null nor undefined. */
export function assertExists<T>(actual: T, msg?: string): asserts actual is NonNullable<T> {
  if (actual === undefined || actual === null) {
    throw new AssertionError(msg ?? `Cannot go on with "${actual}": a value is expected`);
  }
}

/** Asserts that a value is an instance of a class. */
export function assertInstanceOf<T extends abstract new (...args: never[]) => unknown>(
  actual: unknown,
  expectedType: T,
  msg?: string,
): asserts actual is InstanceType<T> {
  if (actual instanceof expectedType) return;
  throw new AssertionError(
    msg ?? `Cannot accept "${Deno.inspect(actual)}": it is no ${expectedType.name}`,
  );
}

/** Fails. */
export function fail(msg?: string): never {
  throw new AssertionError(msg ?? "Failed");
}
