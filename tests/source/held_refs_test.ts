// Refs that only caches in front hold: how many are checked at once, and what
// is purged. That they are checked at all is in tests/http/cache_purge_test.ts.

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { RefChecks } from "../../lib/source/ref_checks.ts";
import {
  AHEAD_CLIENT,
  type RefQuery,
  type RequestContext,
  type Source,
} from "../../lib/source/source.ts";
import { SourceRetries } from "../../lib/source/source_retries.ts";
import { TestClock, turns } from "../test_clock.ts";
import { uncharged } from "./open_github.ts";

/** Checks of `count` refs over a source that counts them. */
async function openHeld(count: number) {
  const clock = new TestClock();
  const checks = {
    branches: [] as (string | null)[],
    clients: [] as string[],
    underWay: 0,
    most: 0,
    /** How long a check takes. */
    pause: () => Promise.resolve(),
  };
  const moved: (string | null)[] = [];
  const source = {
    async resolve({ branch }: RefQuery, { client }: RequestContext) {
      checks.branches.push(branch);
      checks.clients.push(client);
      checks.most = Math.max(checks.most, ++checks.underWay);
      await checks.pause();
      checks.underWay--;
      return { commit: "a".repeat(40), validators: "" };
    },
  } as unknown as Source;
  const refs = new RefChecks({
    source,
    clock,
    kv: null,
    retries: new SourceRetries(clock),
    commitIds: false,
    edge: {
      checkEveryMs: 300_000,
      mayCheck: () => true,
      onMove: (_, branch) => void moved.push(branch),
    },
  });
  const resolve = (n: number) =>
    refs.resolve({ owner: "o", repo: "r", branch: `b${n}` }, uncharged);
  for (let n = 0; n < count; n++) await resolve(n);
  Object.assign(checks, { branches: [], most: 0 });
  return { checks, clock, moved, refs, resolve };
}

Deno.test("refreshDue() checks five refs that caches hold at once", async () => {
  const { checks, clock, refs } = await openHeld(12);
  clock.advance(300_000);
  for (const expected of [5, 10, 12, 12]) {
    await refs.refreshDue(() => false);
    assertEquals(new Set(checks.branches).size, expected);
  }
  assertEquals(checks.branches.length, 12);
});

Deno.test("refreshDue() leaves all but 500 refs to later calls", async () => {
  const { checks, clock, refs, resolve } = await openHeld(501);
  clock.advance(1);
  for (let n = 0; n < 501; n++) await resolve(n);
  clock.advance(50_000);
  for (const expected of [500, 501, 501]) {
    await refs.refreshDue(() => true);
    assertEquals(checks.branches.length, expected);
  }
});

Deno.test("recheck() checks a pushed ref that caches hold at once", async () => {
  const { checks, clock, refs } = await openHeld(3);
  clock.advance(120_000);
  await refs.recheck("o/r", "b1");
  assertEquals(checks.branches, ["b1"]);
});

Deno.test("a push is not checked as what is due ahead of need", async () => {
  const { checks, clock, refs } = await openHeld(1);
  checks.clients.length = 0;
  clock.advance(120_000);
  await refs.recheck("o/r", "b0");
  clock.advance(300_000);
  await refs.refreshDue(() => true);
  const [pushed, due] = checks.clients;
  assertEquals(due, AHEAD_CLIENT);
  assertNotEquals(pushed, AHEAD_CLIENT);
});

Deno.test("recheck() checks eight refs at once, and leaves the rest", async () => {
  const { checks, refs } = await openHeld(200);
  checks.pause = turns;
  const rechecks: Promise<void>[] = [];
  for (let n = 0; n < 10; n++) {
    rechecks.push(refs.recheck("o/r", `b${n * 20}`));
    await turns(3);
  }
  await Promise.all(rechecks);
  assertEquals(new Set(checks.branches).size, 200);
  assert(checks.most <= 16, `${checks.most} at once`);
});

Deno.test("a ref that is forgotten is purged", async () => {
  const { moved } = await openHeld(20_001);
  assertEquals(moved, ["b0"]);
});
