// The one error that every assertion throws. Where values differ, node:assert draws the difference.

import { AssertionError as NodeAssertionError } from "node:assert";

/** A failed assertion. */
export class AssertionError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "AssertionError";
  }
}

/** The error for two values that should have been equal, with their difference in its message. */
export function toDifference(
  values: { actual: unknown; expected: unknown; operator: "deepStrictEqual" | "strictEqual" },
  msg: string | undefined,
): AssertionError {
  const { message } = new NodeAssertionError(values);
  return new AssertionError(msg === undefined ? message : `${msg}: ${message}`);
}
