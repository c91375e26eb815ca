import { assertEquals } from "@std/assert";
import { RetryTable } from "../../lib/work/retry.ts";
import { TestClock } from "../test_clock.ts";

function open(times = { firstMs: 5_000, maxMs: 60_000 }) {
  const clock = new TestClock();
  return { clock, table: new RetryTable<string>(clock, times) };
}

Deno.test("RetryTable waits as long as it is given, or longer", () => {
  const { clock, table } = open();
  assertEquals(table.failed("a", "first", 120_000), true);
  for (const [leastMs, waitMs] of [[1_000, 120_000], [200_000, 200_000]]) {
    assertEquals(table.failed("a", "another", leastMs), false);
    assertEquals([table.failureOf("a"), table.waitMs("a")], ["first", waitMs]);
  }
  clock.advance(200_000);
  assertEquals([table.failureOf("a"), table.waitMs("a")], [null, 0]);
});

Deno.test("RetryTable succeeded() ends a wait", () => {
  const { table } = open();
  table.failed("a", "why");
  table.succeeded("a");
  assertEquals([table.failureOf("a"), table.waitMs("a")], [null, 0]);
});

Deno.test("RetryTable probe() goes alone until it has ended", async () => {
  const { clock, table } = open();
  const ended: string[] = [];
  for (const end of ["endProbe", "failed", "succeeded"] as const) {
    table.failed("a", "why");
    clock.advance(60_000);
    table.probe("a");
    assertEquals(table.failureOf("a"), "why");
    const probe = table.probeOf("a")!.then(() => ended.push(end));
    table[end]("a", "again");
    await probe;
    assertEquals(table.failureOf("a"), end === "failed" ? "again" : null);
    clock.advance(60_000);
  }
  table.probe("a");
  assertEquals(
    [table.probeOf("a"), ended.length],
    [null, 3],
    "no wait is unproven",
  );
});
