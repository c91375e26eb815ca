// The limits of pieces of work.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import { LIMIT_MS, TimeLimitError } from "../../lib/thread/compute.ts";
import { paceOf } from "../../lib/thread/pace.ts";

const cell = new Int32Array(new SharedArrayBuffer(4));
/** Waits for longer than any limit without processor time. */
const wait = () => Atomics.wait(cell, 0, 0, 10_000);

// Processor time is only read on Linux.
const ignore = Deno.build.os !== "linux";

Deno.test("paceOf() tells slow work from idle work", { ignore }, () => {
  const loop = () => {
    for (;;);
  };
  assertThrows(() => paceOf(LIMIT_MS.long).within(loop), TimeLimitError);
  const { code, facts } = assertThrows(
    () => paceOf(LIMIT_MS.long).within(wait),
    CollectionsError,
  );
  assertEquals(code, "service-busy");
  assert(facts.retryAfterSeconds! > 0);
  // The second try follows.
  assertThrows(() => paceOf(LIMIT_MS.first).within(wait), TimeLimitError);
  assertEquals(paceOf(LIMIT_MS.first).within(() => 1), 1);
});

Deno.test("paceOf() stops work that ends in native code", () => {
  const text = JSON.stringify(Array(3_000_000).fill(1.5));
  for (let n = 0; n < 3; n++) {
    assertThrows(
      // It takes some 100 ms.
      () => paceOf(10).within(() => JSON.parse(text)),
      TimeLimitError,
    );
  }
});
