// @std/assert and eTag() of @std/http as the service and its tests rely on
// them; tests/http/conditional_test.ts does so for acceptsEncodings(). The same
// tests run on the stand-ins and the published packages.

import {
  assert,
  assertEquals,
  assertInstanceOf,
  AssertionError,
  assertLessOrEqual,
  assertMatch,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { eTag } from "@std/http";

/**
 * Proves that an assertion fails, without relying on the assertions under test.
 */
async function mustFail(...assertions: (() => unknown)[]): Promise<void> {
  for (const assertion of assertions) {
    const error = await Promise.try(assertion).then(
      () => null,
      (error) => error,
    );
    if (!(error instanceof AssertionError)) {
      throw new Error(`Cannot trust "${assertion}"`);
    }
  }
}

class Point {
  x = 1;
}

const bytes = (...values: number[]) => new Uint8Array(values).buffer;
const [error, same, other] = ["a", "a", "b"].map((message) =>
  new Error(message)
);

function circle(n: number): unknown {
  const object: { self?: unknown; n: number } = { n };
  object.self = object;
  return object;
}

Deno.test("assertEquals() and assertNotEquals() compare deeply", async () => {
  const equal: [unknown, unknown][] = [
    [{ a: [1, { b: new Date(0) }] }, { a: [1, { b: new Date(0) }] }],
    [new Map([["a", [1]]]), new Map([["a", [1]]])],
    [new Set([{ a: 1 }, { a: 2 }]), new Set([{ a: 2 }, { a: 1 }])],
    [[new Uint8Array([1, 2]), bytes(1, 2)], [
      new Uint8Array([1, 2]),
      bytes(1, 2),
    ]],
    [[new URL("http://a/b"), NaN, 0], [new URL("http://a/b"), NaN, -0]],
    [Object.assign(Object.create(null), { x: 1 }), { x: 1 }],
    [[error, circle(1)], [same, circle(1)]],
    [new DataView(bytes(1, 2)), new DataView(bytes(1, 2))],
    [
      Temporal.Instant.from("2026-01-01T00Z"),
      Temporal.Instant.from("2026-01-01T00Z"),
    ],
  ];
  const different: [unknown, unknown][] = [
    [{ a: [1, 2] }, { a: [1, 3] }],
    [[1], [1, undefined]],
    [[], {}],
    [
      "1",
      1,
    ],
    [{ a: undefined }, {}],
    [{ a: undefined }, { b: undefined }],
    [
      null,
      undefined,
    ],
    [new Date(0), new Date(1)],
    [/a/, /a/i],
    [new Point(), { x: 1 }],
    [new Map([["a", 1]]), new Map([["a", 2]])],
    [new Set([{ a: 1 }]), new Set([{ a: 2 }])],
    [new Uint8Array([1, 2]), new Uint8Array([1, 3])],
    [new Int8Array([1]), new Uint8Array([1])],
    [new URL("http://a/b"), new URL("http://a/c")],
    // Where an error was made is part of it.
    ...[[error, other], [error, new Error("a")], [circle(1), circle(2)], [
      bytes(1),
      bytes(1, 1),
    ]],
    [new DataView(bytes(1, 2)), new DataView(bytes(1, 3))],
    [
      Temporal.PlainDate.from("2026-01-01"),
      Temporal.PlainDate.from("2026-01-02"),
    ],
  ] as [unknown, unknown][];
  for (const [a, b] of equal) {
    assertEquals(a, b);
    await mustFail(() => assertNotEquals(a, b));
  }
  for (const [a, b] of different) {
    assertNotEquals(a, b);
    await mustFail(() => assertEquals(a, b));
  }
});

Deno.test("assertions fail for what they are not told", async () => {
  const throwing = () => {
    throw new RangeError("too far");
  };
  const rejecting = () => Promise.reject(new RangeError("too far"));

  assert(1);
  assertInstanceOf(new TypeError(), Error);
  assertLessOrEqual(1, 1);
  assertMatch("abc", /b/);
  assertStringIncludes("abc", "bc");
  assertEquals(assertThrows(throwing, RangeError, "far").message, "too far");
  assertInstanceOf(assertThrows(throwing), RangeError);
  assertEquals(
    (await assertRejects(rejecting, RangeError, "far")).message,
    "too far",
  );
  assertInstanceOf(await assertRejects(rejecting), RangeError);
  await mustFail(
    () => assert(""),
    () => assertInstanceOf(new Error(), TypeError),
    () => assertLessOrEqual(2, 1),
    () => assertMatch("abc", /d/),
    () => assertStringIncludes("abc", "cb"),
    () => assertThrows(throwing, TypeError),
    () => assertThrows(throwing, RangeError, "near"),
    () => assertThrows(() => {}),
    () => assertRejects(rejecting, TypeError),
    () => assertRejects(rejecting, RangeError, "near"),
    () => assertRejects(() => Promise.resolve()),
    () => assertRejects(throwing),
  );
});

Deno.test("eTag() gives a strong tag of size and digest for content", async () => {
  assertEquals(await eTag(""), '"0-47DEQpj8HBSa+/TImW+5JCeuQeR"');
  assertMatch(await eTag("héllo deno!"), /^"c-[A-Za-z0-9+/]{27}"$/);
  assertEquals(
    await eTag(new TextEncoder().encode("hello deno!")),
    await eTag("hello deno!"),
  );
  assertNotEquals(await eTag("hello deno?"), await eTag("hello deno!"));
});
