// Errors: that a function throws, or that its promise rejects. Both give the error back.

import { AssertionError } from "./assertion_error.ts";

type ErrorClass<E extends Error> = abstract new (...args: never[]) => E;

/** Asserts that a function throws, and gives what it threw. */
export function assertThrows(fn: () => unknown, msg?: string): unknown;
/** Asserts that a function throws an error of a class, with a text in its message. */
export function assertThrows<E extends Error = Error>(
  fn: () => unknown,
  ErrorClass: ErrorClass<E>,
  msgIncludes?: string,
  msg?: string,
): E;
export function assertThrows(
  fn: () => unknown,
  classOrMsg?: ErrorClass<Error> | string,
  msgIncludes?: string,
  msg?: string,
): unknown {
  try {
    fn();
  } catch (error) {
    return verify(error, { classOrMsg, msgIncludes, msg });
  }
  throw new AssertionError(`Expected function to throw${toSuffix(classOrMsg, msg)}`);
}

/** Asserts that a function's promise rejects, and gives what it rejected with. */
export function assertRejects(fn: () => PromiseLike<unknown>, msg?: string): Promise<unknown>;
/** Asserts that a function's promise rejects with an error of a class and a text in its message. */
export function assertRejects<E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  ErrorClass: ErrorClass<E>,
  msgIncludes?: string,
  msg?: string,
): Promise<E>;
export async function assertRejects(
  fn: () => PromiseLike<unknown>,
  classOrMsg?: ErrorClass<Error> | string,
  msgIncludes?: string,
  msg?: string,
): Promise<unknown> {
  const suffix = toSuffix(classOrMsg, msg);
  let promise: PromiseLike<unknown>;
  try {
    promise = fn();
  } catch (cause) {
    throw new AssertionError(`Function throws when expected to reject${suffix}`, { cause });
  }
  if (typeof promise?.then !== "function") {
    throw new AssertionError(`Function gives no promise when expected to reject${suffix}`);
  }
  try {
    await promise;
  } catch (error) {
    return verify(error, { classOrMsg, msgIncludes, msg });
  }
  throw new AssertionError(`Expected function to reject${suffix}`);
}

function verify(
  error: unknown,
  { classOrMsg, msgIncludes, msg }: {
    classOrMsg: ErrorClass<Error> | string | undefined;
    msgIncludes: string | undefined;
    msg: string | undefined;
  },
): unknown {
  if (typeof classOrMsg !== "function") return error;
  const suffix = toSuffix(classOrMsg, msg);
  if (!(error instanceof classOrMsg)) {
    const text = `Expected error to be instance of "${classOrMsg.name}", but was ${
      Deno.inspect(error)
    }${suffix}`;
    throw new AssertionError(text, { cause: error });
  }
  if (msgIncludes && !error.message.includes(msgIncludes)) {
    throw new AssertionError(
      `Expected error message to include "${msgIncludes}", but got "${error.message}"${suffix}`,
      { cause: error },
    );
  }
  return error;
}

function toSuffix(classOrMsg: unknown, msg: string | undefined): string {
  const text = typeof classOrMsg === "string" ? classOrMsg : msg;
  return text === undefined ? "." : `: ${text}`;
}
