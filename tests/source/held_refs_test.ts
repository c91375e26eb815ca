// Refs that only caches in front hold: how many are checked at once, and what is purged. That they are checked at all is
// in tests/http/cache_purge_test.ts.

import { assertEquals } from "@std/assert";
import { RefChecks } from "../../lib/source/ref_checks.ts";
import type { Source } from "../../lib/source/source.ts";
import { SourceRetries } from "../../lib/source/source_retries.ts";
import { TestClock } from "../test_clock.ts";
import { uncharged } from "./open_github.ts";

/** Checks over a source that counts them; every ref is at the commit `commit.id`. */
function openHeld() {
  const clock = new TestClock();
  const checked: (string | null)[] = [];
  const moved: (string | null)[] = [];
  const commit = { id: "a".repeat(40) };
  const source = {
    resolve(query: Parameters<Source["resolve"]>[0]) {
      checked.push(query.branch);
      return Promise.resolve({ commit: commit.id, validators: "" });
    },
  } as unknown as Source;
  const refs = new RefChecks({
    ...{ source, clock, kv: null, retries: new SourceRetries(clock) },
    ...{ freshForMs: 60_000, commitIds: false },
    edge: {
      checkEveryMs: 300_000,
      mayCheck: () => true,
      onMove: (_, branch) => void moved.push(branch),
    },
  });
  const use = async (count: number) => {
    for (let n = 0; n < count; n++) {
      const name = { owner: "o", repo: "r", branch: `b${n}` };
      await refs.resolve(name, uncharged);
    }
    checked.length = 0;
  };
  return { checked, clock, commit, moved, refs, use };
}

Deno.test("refreshDue() checks five refs that caches hold at once", async () => {
  const { checked, clock, refs, use } = openHeld();
  await use(12);
  clock.advance(300_000);
  for (const expected of [5, 10, 12, 12]) {
    await refs.refreshDue(() => false);
    assertEquals(new Set(checked).size, expected);
  }
  assertEquals(checked.length, 12);
});

Deno.test("recheck() checks a pushed ref that caches hold at once", async () => {
  const { checked, clock, commit, moved, refs, use } = openHeld();
  await use(3);
  clock.advance(120_000);
  commit.id = "b".repeat(40);
  await refs.recheck("o/r", "b1");
  assertEquals([checked, moved], [["b1"], ["b1"]]);
  await refs.refreshDue(() => false);
  assertEquals(moved.toSorted(), ["b0", "b1", "b2"]);
});

Deno.test("a ref that is forgotten is purged", async () => {
  const { moved, use } = openHeld();
  await use(20_001);
  assertEquals(moved, ["b0"]);
});
