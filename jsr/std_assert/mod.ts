// The part of @std/assert that the tests use, under the published package's name; see ../README.md.

export { AssertionError } from "./assertion_error.ts";
export {
  assertArrayIncludes,
  assertMatch,
  assertObjectMatch,
  assertStringIncludes,
} from "./contents.ts";
export { equal } from "./equal.ts";
export { assertEquals, assertNotEquals, assertStrictEquals } from "./equals.ts";
export { assertGreater, assertGreaterOrEqual, assertLess, assertLessOrEqual } from "./order.ts";
export { assertRejects, assertThrows } from "./throws.ts";
export { assert, assertExists, assertInstanceOf, fail } from "./truth.ts";
