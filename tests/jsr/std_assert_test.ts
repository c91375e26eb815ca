// @std/assert as the tests rely on it. The same tests run on the stand-in and the published package.

import {
  assert,
  assertArrayIncludes,
  assertEquals,
  assertExists,
  assertGreater,
  assertGreaterOrEqual,
  assertInstanceOf,
  AssertionError,
  assertLess,
  assertLessOrEqual,
  assertMatch,
  assertNotEquals,
  assertObjectMatch,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
  fail,
} from "@std/assert";

/** Proves that an assertion fails, without leaning on the assertions under test. */
function mustFail(assertion: () => void): void {
  try {
    assertion();
  } catch (error) {
    if (error instanceof AssertionError) return;
    throw error;
  }
  throw new Error(`Cannot trust "${assertion}": it passes`);
}

async function mustReject(assertion: () => Promise<unknown>): Promise<void> {
  try {
    await assertion();
  } catch (error) {
    if (error instanceof AssertionError) return;
    throw error;
  }
  throw new Error(`Cannot trust "${assertion}": it passes`);
}

Deno.test("assertEquals() compares deeply", () => {
  assertEquals({ a: [1, { b: new Date(0) }] }, { a: [1, { b: new Date(0) }] });
  assertEquals(new Map([["a", [1]]]), new Map([["a", [1]]]));
  assertEquals(new Set([{ a: 1 }, { a: 2 }]), new Set([{ a: 2 }, { a: 1 }]));
  assertEquals(new Uint8Array([1, 2]), new Uint8Array([1, 2]));
  assertEquals(new URL("http://a/b"), new URL("http://a/b"));
  assertEquals(NaN, NaN);

  mustFail(() => assertEquals({ a: [1, 2] }, { a: [1, 3] }));
  mustFail(() => assertEquals<unknown>([1], [1, undefined]));
  mustFail(() => assertEquals<unknown>({ a: undefined }, {}));
  mustFail(() => assertEquals<unknown>({ a: undefined }, { b: undefined }));
  mustFail(() => assertEquals(new Date(0), new Date(1)));
  mustFail(() => assertEquals(new Map([["a", 1]]), new Map([["a", 2]])));
  mustFail(() => assertEquals(new Set([{ a: 1 }]), new Set([{ a: 2 }])));
  mustFail(() => assertEquals(new Uint8Array([1, 2]), new Uint8Array([1, 3])));
  mustFail(() => assertEquals(new URL("http://a/b"), new URL("http://a/c")));
  mustFail(() => assertEquals(/a/, /a/i));
  mustFail(() => assertEquals<unknown>("1", 1));
  mustFail(() => assertEquals<unknown>(null, undefined));
  mustFail(() => assertEquals<unknown>([], {}));
});

Deno.test("assertEquals() takes an object without a prototype for a plain one, and no class", () => {
  class Point {
    x = 1;
  }

  assertEquals<unknown>(Object.assign(Object.create(null), { x: 1 }), { x: 1 });
  mustFail(() => assertEquals<unknown>(new Point(), { x: 1 }));
});

Deno.test("assertEquals() compares buffers, views, errors and Temporal by their content", () => {
  const bytes = (...values: number[]) => new Uint8Array(values).buffer;
  assertEquals(bytes(1, 2), bytes(1, 2));
  assertEquals(new DataView(bytes(1, 2), 1), new DataView(bytes(1, 2), 1));
  assertEquals(new Float64Array([NaN, 0]), new Float64Array([NaN, -0]));
  assertEquals(Temporal.Instant.from("2026-01-01T00Z"), Temporal.Instant.from("2026-01-01T00Z"));
  const [error, same, other] = ["a", "a", "b"].map((message) => new Error(message));
  assertEquals(error, same);

  mustFail(() => assertEquals(bytes(1, 2), bytes(1, 3)));
  mustFail(() => assertEquals(bytes(1), bytes(1, 1)));
  mustFail(() => assertEquals(new DataView(bytes(1, 2), 1), new DataView(bytes(1, 3), 1)));
  mustFail(() => assertEquals<unknown>(new Int8Array([1]), new Uint8Array([1])));
  mustFail(() =>
    assertEquals(Temporal.PlainDate.from("2026-01-01"), Temporal.PlainDate.from("2026-01-02"))
  );
  mustFail(() => assertEquals(error, other));
  // Where an error was made is part of it.
  mustFail(() => assertEquals(error, new Error("a")));
  mustFail(() => assertEquals(error, Object.assign(same!, { cause: 1 })));
});

Deno.test("assertEquals() comes to an end with a circle", () => {
  const a: { self?: unknown; n: number } = { n: 1 };
  a.self = a;
  const b: { self?: unknown; n: number } = { n: 1 };
  b.self = b;

  assertEquals(a, b);
  b.n = 2;
  mustFail(() => assertEquals(a, b));
});

Deno.test("assertNotEquals() and assertStrictEquals() fail for the opposite", () => {
  assertNotEquals({ a: 1 }, { a: 2 });
  mustFail(() => assertNotEquals({ a: 1 }, { a: 1 }));

  const object = {};
  assertStrictEquals(object, object);
  mustFail(() => assertStrictEquals({}, {}));
});

Deno.test("assert(), assertExists(), assertInstanceOf() and fail() judge one value", () => {
  assert(1);
  mustFail(() => assert(""));
  assertExists(0);
  mustFail(() => assertExists(null));
  mustFail(() => assertExists(undefined));
  assertInstanceOf(new TypeError(), Error);
  mustFail(() => assertInstanceOf(new Error(), TypeError));
  mustFail(() => fail("why"));
});

Deno.test("assertGreater() and its kin compare numbers", () => {
  assertGreater(2, 1);
  mustFail(() => assertGreater(1, 1));
  assertGreaterOrEqual(1, 1);
  mustFail(() => assertGreaterOrEqual(0, 1));
  assertLess(1, 2);
  mustFail(() => assertLess(1, 1));
  assertLessOrEqual(1, 1);
  mustFail(() => assertLessOrEqual(2, 1));
});

Deno.test("assertMatch(), assertStringIncludes() and assertArrayIncludes() look inside", () => {
  assertMatch("abc", /b/);
  mustFail(() => assertMatch("abc", /d/));
  assertStringIncludes("abc", "bc");
  mustFail(() => assertStringIncludes("abc", "cb"));
  assertArrayIncludes([{ a: 1 }, { a: 2 }], [{ a: 2 }]);
  mustFail(() => assertArrayIncludes([{ a: 1 }], [{ a: 1 }, { a: 2 }]));
});

Deno.test("assertObjectMatch() requires the given properties at every depth", () => {
  const actual = { a: 1, b: { c: 2, d: [1, { e: 3, f: 4 }] } };

  assertObjectMatch(actual, { b: { d: [1, { e: 3 }] } });
  mustFail(() => assertObjectMatch(actual, { a: 2 }));
  mustFail(() => assertObjectMatch(actual, { b: { d: [1, { e: 4 }] } }));
  mustFail(() => assertObjectMatch(actual, { b: { x: 1 } }));
});

Deno.test("assertThrows() gives the error, of the class and with the expected text", () => {
  const throwing = () => {
    throw new RangeError("too far");
  };

  assertEquals(assertThrows(throwing, RangeError, "far").message, "too far");
  assertInstanceOf(assertThrows(throwing), RangeError);
  mustFail(() => assertThrows(throwing, TypeError));
  mustFail(() => assertThrows(throwing, RangeError, "near"));
  mustFail(() => assertThrows(() => {}));
  mustFail(() => assertThrows(() => {}, Error));
});

Deno.test("assertRejects() gives the error, and requires a promise", async () => {
  const rejecting = () => Promise.reject(new RangeError("too far"));

  assertEquals((await assertRejects(rejecting, RangeError, "far")).message, "too far");
  assertInstanceOf(await assertRejects(rejecting), RangeError);
  await mustReject(() => assertRejects(rejecting, TypeError));
  await mustReject(() => assertRejects(rejecting, RangeError, "near"));
  await mustReject(() => assertRejects(() => Promise.resolve()));
  await mustReject(() =>
    assertRejects(() => {
      throw new RangeError("too far");
    })
  );
});
