// Refs at the level of the source: shared checks, refresh ahead, waits after
// failures. What a check costs is in upstream_requests_test.ts, what is denied
// in tombstones_test.ts, each kind of failure in outage_test.ts, checks for a
// webhook in webhook_test.ts.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { countReads } from "../cache/watched_kv.ts";
import { uncharged } from "./open_github.ts";
import { NAMED, openRefs } from "./open_refs.ts";
import { turns } from "../test_clock.ts";

Deno.test("refreshDue() checks requested refs after 50 s", async () => {
  await using opened = await openRefs(NAMED);
  const { clock, cost, refreshDue } = opened;
  const outcome = () => opened.outcome({ branch: "main" });
  await opened.use("main");
  clock.advance(49_998);
  assertEquals(await cost(refreshDue), []);
  clock.advance(1);
  assertEquals(await cost(refreshDue), [304]);
  clock.advance(50_000);
  assertEquals(await cost(refreshDue), [], "not requested since");
  clock.advance(9_999);
  assertEquals(await outcome(), "fresh", "it lasts as long as any other check");
  clock.advance(1);
  const all = () =>
    Promise.all([refreshDue(), outcome(), refreshDue(), outcome()]);
  assertEquals(await cost(all), [304]);
  clock.advance(49_999);
  assertEquals([await outcome(), await cost(refreshDue)], ["fresh", []]);
  clock.advance(1);
  assertEquals(await cost(refreshDue), [304]);
});

Deno.test("refreshDue() checks many refs a few at once", async () => {
  await using opened = await openRefs(NAMED);
  const { clock, gh, refreshDue, statuses } = opened;
  const branches = Array.from({ length: 30 }, (_, index) => `b${index}`);
  await opened.use(...branches);
  clock.advance(50_000);
  gh.resetCounts();
  gh.log.maxConcurrent = 0;
  const held = Promise.withResolvers<null>();
  gh.intercept = () => held.promise;
  const first = refreshDue();
  await gh.log.until(() => gh.requests.length === 8);
  // Nothing is queued twice, and nothing waits for a slow check.
  await refreshDue();
  held.resolve(null);
  await first;
  assertEquals(statuses(), branches.map(() => 304));
  assert(gh.log.maxConcurrent <= 8, `${gh.log.maxConcurrent}`);
});

Deno.test("refreshDue() goes on with others during a slow check", async () => {
  await using opened = await openRefs(NAMED);
  const { clock, gh, refreshDue, resolve, statuses } = opened;
  for (const branch of ["slow", "other"]) {
    await opened.use(branch);
    clock.advance(5_000);
  }
  const held = Promise.withResolvers<null>();
  gh.intercept = (_, { path }) => path.includes("slow") ? held.promise : null;
  gh.resetCounts();
  clock.advance(40_000);
  const first = refreshDue();
  await gh.log.until(() => gh.requests.length === 1);
  clock.advance(1);
  await resolve({ branch: "slow" });
  for (let times = 0; times < 10; times++) void refreshDue();
  clock.advance(5_000);
  await Promise.race([first, refreshDue()]);
  assertEquals(statuses().filter((status) => status === 304).length, 1);
  held.resolve(null);
  await first;
});

Deno.test("refreshDue() never throws and waits out a back-off", async () => {
  await using opened = await openRefs(NAMED);
  const { clock, cost, gh, refreshDue, resolve } = opened;
  await opened.use("main");
  gh.fault = { kind: "status", status: 500 };
  clock.advance(50_000);
  assertEquals(await cost(refreshDue), [500, 500]);
  clock.advance(4_999);
  await resolve({ branch: "main" });
  assertEquals(await cost(refreshDue), []);
  clock.advance(1);
  assertEquals(await cost(refreshDue), [500, 500]);
  for (let minute = 0; minute < 5; minute++) {
    clock.advance(60_000);
    assertEquals(await cost(refreshDue), [], "nobody has wanted it since");
  }
});

Deno.test("aborted requests start one check per ref that goes on", async () => {
  await using opened = await openRefs(NAMED);
  const { clock, gh, outcome, resolve, statuses } = opened;
  await resolve();
  clock.advance(61_000);
  gh.resetCounts();
  const held = Promise.withResolvers<null>();
  gh.intercept = () => held.promise;
  for (let times = 0; times < 5; times++) {
    const left = new AbortController();
    const context = { ...uncharged, signal: left.signal };
    const resolving = resolve({ context });
    left.abort(new Error("left"));
    await assertRejects(() => resolving, Error, "left");
  }
  await gh.log.until(() => gh.requests.length === 1);
  held.resolve(null);
  assertEquals(await outcome(), "unchanged");
  assertEquals(statuses(), [304]);
});

Deno.test("40 known refs have 40 answers while the source hangs", async () => {
  await using opened = await openRefs({ tokens: ["t1"] });
  const { clock, gh, git, outcome } = opened;
  const owners = Array.from({ length: 40 }, (_, number) => `o${number}`);
  for (const owner of owners) {
    gh.add(`${owner}/site`, git);
    await outcome({ owner });
  }
  clock.advance(61_000);
  gh.fault = { kind: "hang" };
  const outcomes = Promise.all(owners.map((owner) => outcome({ owner })));
  // Two requests a check, 64 at once: the others are given up in the queue at
  // the same time.
  await gh.log.until(() => gh.pauses.waiting === 64);
  for (let turn = 0; turn < 30; turn++) {
    await turns();
    clock.advance(1_000);
  }
  assertEquals(await outcomes, owners.map(() => "stale"));
});

Deno.test("resolve() charges a check to the request that starts it", async () => {
  await using opened = await openRefs(NAMED);
  const { clock, cost, resolve } = opened;
  await resolve();
  clock.advance(60_000);
  const charges: number[] = [];
  const charge = (processorMs: number) => void charges.push(processorMs);
  const first = { ...uncharged, charge };
  const requireMiss = () => {
    throw new Error("over the limit");
  };
  const second = { ...first, requireMiss };
  const both = () =>
    Promise.all([resolve({ context: first }), resolve({ context: second })]);
  assertEquals([await cost(both), charges], [[304], [25]]);
});

Deno.test("resolve() refuses only the client that is over its limit", async () => {
  await using opened = await openRefs(NAMED);
  const recordMiss = () => {
    throw new Error("over the limit");
  };
  const greedy = opened.resolve({ context: { ...uncharged, recordMiss } });
  const other = opened.resolve({ context: uncharged });
  await assertRejects(() => greedy, Error, "over the limit");
  assertEquals((await other).freshness, "new");
});

Deno.test("a cold resolve reads the store once", async () => {
  await using opened = await openRefs(NAMED);
  const reads = countReads(opened.store.kv);
  for (let times = 0; times < 2; times++) await opened.outcome();
  assertEquals(reads.count, 1);
});

Deno.test("resolve() knows the commit that it just found on a ref", async () => {
  await using opened = await openRefs();
  const { clock, cost, git, outcome, resolve } = opened;
  const { commit: first } = await resolve();
  assertEquals(await cost(() => outcome({ branch: first })), []);
  clock.advance(30_000);
  await git.commit({ "a.md": "new\n" });
  clock.advance(30_000);
  const { commit: second } = await resolve();
  assertEquals(await outcome({ branch: second }), "fresh");
  assert((await cost(() => outcome({ branch: first }))).length > 0);
  clock.advance(59_999);
  await resolve();
  assertEquals(await cost(() => outcome({ branch: second })), []);
});

Deno.test("resolve() serves a known commit while the source fails", async () => {
  await using opened = await openRefs();
  const { clock, gh, resolve, start } = opened;
  const { commit } = await resolve();
  gh.fault = { kind: "status", status: 500 };
  clock.advance(60_000);
  for (const process of [opened, start()]) {
    assertEquals(await process.outcome(), "stale");
    assertEquals(await process.outcome({ branch: commit }), "stale");
  }
});
