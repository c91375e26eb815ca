// Refs that only caches in front hold: how many are checked at once, and what
// is purged. That they are checked at all is in tests/http/cache_purge_test.ts.

import { assert, assertEquals } from "@std/assert";
import { RefChecks } from "../../lib/source/ref_checks.ts";
import type { Source } from "../../lib/source/source.ts";
import { SourceRetries } from "../../lib/source/source_retries.ts";
import { TestClock, turns } from "../test_clock.ts";
import { uncharged } from "./open_github.ts";

/**
 * Checks over a source that counts them; every ref is at the commit
 * `commit.id`.
 */
function openHeld() {
  const clock = new TestClock();
  const checked: (string | null)[] = [];
  const moved: (string | null)[] = [];
  const commit = { id: "a".repeat(40) };
  const waiting: (() => void)[] = [];
  const pauses = {
    isOn: false,
    /** Ends the checks under way; gives their number. */
    step() {
      const ended = waiting.splice(0);
      for (const resume of ended) resume();
      return ended.length;
    },
    release() {
      pauses.isOn = false;
      pauses.step();
    },
  };
  const source = {
    async resolve(query: Parameters<Source["resolve"]>[0]) {
      checked.push(query.branch);
      if (pauses.isOn) await new Promise<void>((end) => waiting.push(end));
      return { commit: commit.id, validators: "" };
    },
  } as unknown as Source;
  const refs = new RefChecks({
    source,
    clock,
    kv: null,
    retries: new SourceRetries(clock),
    freshForMs: 60_000,
    commitIds: false,
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
  return { checked, clock, commit, moved, pauses, refs, use };
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

Deno.test("recheck() checks eight refs at once, the pushed one first", async () => {
  const { checked, pauses, refs, use } = openHeld();
  await use(20);
  pauses.isOn = true;
  const ended = refs.recheck("o/r", "b7");
  await turns();
  assertEquals([checked[0], checked.length], ["b7", 8]);
  pauses.release();
  await ended;
  assertEquals([checked.length, new Set(checked).size], [20, 20]);
});

Deno.test("recheck() leaves the rest to a later one", async () => {
  const { pauses, refs, use } = openHeld();
  await use(200);
  pauses.isOn = true;
  let most = 0;
  const rechecks: Promise<void>[] = [];
  for (let n = 0; n < 10; n++) {
    rechecks.push(refs.recheck("o/r", `b${n * 20}`));
    for (let n = 0; n < 3; n++) {
      await turns();
      most = Math.max(most, pauses.step());
    }
  }
  pauses.release();
  await Promise.all(rechecks);
  assert(most <= 16, `${most} checks at once`);
});

Deno.test("a ref that is forgotten is purged", async () => {
  const { moved, use } = openHeld();
  await use(20_001);
  assertEquals(moved, ["b0"]);
});
