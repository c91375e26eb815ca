// How files are worked on in batches.

import { assert, assertEquals } from "@std/assert";
import { inBatch } from "../../lib/content/derive.ts";
import { TimeLimitError, unlimited } from "../../lib/thread/compute.ts";

const files = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    id: `${n}`,
    bytes: new Uint8Array(),
  }));

/** Sets no limits and counts them. */
const countedPace = () => ({
  ...unlimited,
  limits: 0,
  within<T>(work: () => T): T {
    this.limits++;
    return work();
  },
});

Deno.test("short files share a limit of their time, long ones have their own", () => {
  const pace = countedPace();
  const { results } = inBatch(files(1_000), pace, ({ id }) => id);
  assertEquals(results, files(1_000).map(({ id }) => id));
  assert(pace.limits < 100, `${pace.limits} limits`);

  const own = countedPace();
  inBatch(files(3), own, () => {
    const endsAtMs = performance.now() + 6;
    while (performance.now() < endsAtMs);
  });
  assertEquals(own.limits, 3);
});

Deno.test("a file that takes too long ends a batch and loses nothing before it", () => {
  const kept: string[] = [];
  const batch = inBatch(files(5), unlimited, ({ id }) => {
    if (id === "3") throw new TimeLimitError("The work takes too long");
    return id;
  }, (result, { id }) => kept.push(result + id));
  assertEquals(batch, { results: ["0", "1", "2"], isSlow: true });
  assertEquals(kept, ["00", "11", "22"]);
});

Deno.test("a time limit that ends with the last result blames no file", () => {
  const pace = {
    ...unlimited,
    within<T>(work: () => T): T {
      work();
      throw new TimeLimitError("The work takes too long");
    },
  };
  const own = inBatch(files(2), pace, ({ id }) => id);
  assertEquals(own, { results: ["0", "1"], isSlow: false });
});

Deno.test("what is kept after one limit is little", () => {
  const kept: number[] = [];
  const pace = countedPace();
  const long = files(4).map((file) => (
    { ...file, bytes: new Uint8Array(20 << 10) }
  ));
  inBatch(long, pace, () => null, () => kept.push(pace.limits));
  assertEquals(kept, [1, 1, 2, 2]);
});
