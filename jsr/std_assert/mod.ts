// The part of @std/assert that the tests use, under the published package's
// name; see ../README.md. Where values differ, node:assert draws the
// difference.

import { AssertionError as NodeAssertionError } from "node:assert";
import { equal } from "./equal.ts";

/** A failed assertion. */
export class AssertionError extends Error {
  override readonly name = "AssertionError";
}

/** Asserts that a value is truthy. */
export function assert(expr: unknown, msg = ""): asserts expr {
  if (!expr) throw new AssertionError(msg);
}

/** Asserts that two values are deeply equal. */
export function assertEquals<T>(actual: T, expected: T, msg?: string): void {
  if (equal(actual, expected)) return;
  const { message } = new NodeAssertionError({
    actual,
    expected,
    operator: "deepStrictEqual",
  });
  throw new AssertionError(msg === undefined ? message : `${msg}: ${message}`);
}

/** Asserts that two values are not deeply equal. */
export function assertNotEquals<T>(actual: T, expected: T, msg?: string): void {
  assert(
    !equal(actual, expected),
    msg ?? `Expected other than ${Deno.inspect(actual)}`,
  );
}

/** Asserts that `actual <= expected`. */
export function assertLessOrEqual<T>(
  actual: T,
  expected: T,
  msg?: string,
): void {
  assert(actual <= expected, msg ?? `Expected ${actual} <= ${expected}`);
}

/** Asserts that a value is an instance of a class. */
export function assertInstanceOf<
  T extends abstract new (...args: never[]) => unknown,
>(
  actual: unknown,
  expectedType: T,
  msg?: string,
): asserts actual is InstanceType<T> {
  const isInstance = actual instanceof expectedType;
  assert(
    isInstance,
    msg ?? `Expected ${Deno.inspect(actual)} to be a ${expectedType.name}`,
  );
}

/** Asserts that a string matches a pattern. */
export function assertMatch(
  actual: string,
  expected: RegExp,
  msg?: string,
): void {
  assert(
    expected.test(actual),
    msg ?? `Expected "${actual}" to match ${expected}`,
  );
}

/** Asserts that a string contains another. */
export function assertStringIncludes(
  actual: string,
  expected: string,
  msg?: string,
): void {
  assert(
    actual.includes(expected),
    msg ?? `Expected "${actual}" to contain "${expected}"`,
  );
}

type ErrorClass<E extends Error> = abstract new (...args: never[]) => E;

/** Asserts that a function throws, and gives what it threw. */
export function assertThrows(fn: () => unknown): unknown;
/**
 * Asserts that a function throws an error of a class, with a text in its
 * message, and gives the error.
 */
export function assertThrows<E extends Error = Error>(
  fn: () => unknown,
  ErrorClass: ErrorClass<E>,
  msgIncludes?: string,
  msg?: string,
): E;
export function assertThrows(
  fn: () => unknown,
  ErrorClass?: ErrorClass<Error>,
  msgIncludes?: string,
  msg?: string,
): unknown {
  try {
    fn();
  } catch (error) {
    return verify(error, ErrorClass, msgIncludes, msg);
  }
  throw new AssertionError(`Expected function to throw: ${msg ?? ""}`);
}

/**
 * Asserts that a function's promise rejects, and gives what it rejected with.
 */
export function assertRejects(fn: () => PromiseLike<unknown>): Promise<unknown>;
/**
 * Asserts that a function's promise rejects with an error of a class, with a
 * text in its message, and gives the error.
 */
export function assertRejects<E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  ErrorClass: ErrorClass<E>,
  msgIncludes?: string,
  msg?: string,
): Promise<E>;
export async function assertRejects(
  fn: () => PromiseLike<unknown>,
  ErrorClass?: ErrorClass<Error>,
  msgIncludes?: string,
  msg?: string,
): Promise<unknown> {
  let promise: PromiseLike<unknown>;
  try {
    promise = fn();
  } catch (cause) {
    throw new AssertionError(
      `Function throws when expected to reject: ${msg ?? ""}`,
      { cause },
    );
  }
  try {
    await promise;
  } catch (error) {
    return verify(error, ErrorClass, msgIncludes, msg);
  }
  throw new AssertionError(`Expected function to reject: ${msg ?? ""}`);
}

function verify(
  error: unknown,
  ErrorClass: ErrorClass<Error> | undefined,
  msgIncludes = "",
  msg = "",
): unknown {
  if (ErrorClass === undefined) return error;
  if (error instanceof ErrorClass && error.message.includes(msgIncludes)) {
    return error;
  }
  const text = `Expected ${ErrorClass.name} with "${msgIncludes}", but got ${
    Deno.inspect(error)
  }`;
  throw new AssertionError(`${text} ${msg}`, { cause: error });
}
