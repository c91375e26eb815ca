// Refs at the level of the source: freshness, refresh ahead, failures, webhooks. What is denied is in denials_test.ts.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import { countReads } from "../cache/watched_kv.ts";
import { type Fault, timeOutHangs } from "../github/github_faults.ts";
import { charged, type OpenOptions, uncharged } from "./open_github.ts";
import { codeOf, openRefs } from "./open_refs.ts";

const DAY_MS = 24 * 3_600_000;

const open = (options: Omit<OpenOptions, "clock"> = {}) =>
  openRefs({ allowed: "octo/*", ...options });

Deno.test("a ref is requested once in its 60 s, then conditionally", async () => {
  await using opened = await open();
  const { clock, cost, resolve } = opened;
  assertEquals(await cost(resolve), [200]);
  clock.advance(59_999);
  assertEquals(await cost(resolve), []);
  clock.advance(1);
  assertEquals(await cost(resolve), [304]);
  const { freshness, checkedAtMs } = await resolve();
  assertEquals([freshness, checkedAtMs], ["hit", clock.now()]);
});

Deno.test("concurrent requests share one check, which charges the first where the ref is unknown", async () => {
  await using opened = await open();
  const { clock, gh, resolve } = opened;
  const { misses, context } = charged();
  for (let round = 1; round <= 2; round++) {
    const all = await Promise.all([1, 2, 3].map(() => resolve({ context })));
    assertEquals(gh.requests.length, round);
    assertEquals(new Set(all.map(({ commit }) => commit)).size, 1);
    clock.advance(60_000);
  }
  assertEquals(misses, [false, true, true]);
});

Deno.test("refreshDue() checks refs of which the check is 50 s old, if requested since", async () => {
  await using opened = await open();
  const { clock, cost, git, refreshDue, resolve } = opened;
  await resolve();
  clock.advance(1);
  await resolve();
  clock.advance(49_998);
  assertEquals(await cost(refreshDue), []);
  clock.advance(1);
  assertEquals(await cost(refreshDue), [304]);
  clock.advance(50_000);
  assertEquals(await cost(refreshDue), [], "not requested since");
  clock.advance(9_999);
  assertEquals(await cost(resolve), [], "a check ahead of need lasts as long as another");
  const moved = await git.commit({ "b.md": "changed\n" });
  clock.advance(1);
  const { commit, freshness } = await resolve();
  assertEquals([commit, freshness], [moved, "moved"]);
});

Deno.test("a check under way is joined by refreshDue() and requests, and not repeated within 50 s", async () => {
  await using opened = await open();
  const { clock, gh, refreshDue, resolve, statuses } = opened;
  await resolve();
  clock.advance(10);
  await resolve();
  clock.advance(59_990);
  gh.resetCounts();
  await Promise.all([refreshDue(), resolve(), refreshDue(), resolve()]);
  assertEquals(statuses(), [304]);
  for (let second = 1; second <= 50; second++) {
    clock.advance(1000);
    await Promise.all([refreshDue(), resolve()]);
    assertEquals(statuses().length, second < 50 ? 1 : 2);
  }
});

Deno.test("refreshDue() checks very many refs a few at once, and each once", async () => {
  await using opened = await open();
  const { clock, gh, git, refreshDue, resolve, statuses } = opened;
  const branches = Array.from({ length: 30 }, (_, index) => `b${index}`);
  for (const branch of branches) await git.branch(branch);
  for (const branch of branches) await resolve({ branch });
  clock.advance(1);
  for (const branch of branches) await resolve({ branch });
  clock.advance(50_000);
  gh.resetCounts();
  gh.log.maxConcurrent = 0;
  const held = Promise.withResolvers<null>();
  gh.intercept = () => held.promise;
  const first = refreshDue();
  const second = refreshDue().then(() => "nothing is queued twice");
  await gh.log.until(() => gh.requests.length === 8);
  assertEquals(await Promise.race([second, "waits"]), "nothing is queued twice");
  held.resolve(null);
  await first;
  assertEquals(statuses(), branches.map(() => 304));
  assert(gh.log.maxConcurrent <= 8, `${gh.log.maxConcurrent}`);
});

Deno.test("refreshDue() goes on with others while one check takes its time", async () => {
  await using opened = await open();
  const { clock, gh, git, refreshDue, resolve, statuses } = opened;
  for (const branch of ["slow", "other"]) {
    await git.branch(branch);
    await resolve({ branch });
    clock.advance(1);
    await resolve({ branch });
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

Deno.test("refreshDue() never throws, waits out a backoff, and tries once for one request", async () => {
  await using opened = await open();
  const { clock, cost, gh, refreshDue, resolve } = opened;
  await resolve();
  clock.advance(1);
  await resolve();
  gh.fault = { kind: "status", status: 500 };
  clock.advance(50_000);
  assertEquals(await cost(refreshDue), [500, 500]);
  clock.advance(4_999);
  await resolve();
  assertEquals(await cost(refreshDue), []);
  clock.advance(1);
  assertEquals(await cost(refreshDue), [500, 500]);
  for (let minute = 0; minute < 5; minute++) {
    clock.advance(60_000);
    assertEquals(await cost(refreshDue), [], "nobody has wanted it since");
  }
});

const failures: [Fault, code: string][] = [
  [{ kind: "status", status: 500 }, "source-failed"],
  [{ kind: "reset" }, "source-failed"],
  [{ kind: "garbage" }, "source-failed"],
  [{ kind: "html" }, "source-failed"],
  [{ kind: "hang" }, "source-timeout"],
  [{ kind: "stall" }, "source-timeout"],
  [{ kind: "quota403" }, "source-rate-limited"],
  [{ kind: "quota429" }, "source-rate-limited"],
  [{ kind: "secondary403" }, "source-rate-limited"],
  [{ kind: "secondary403", retryAfterSeconds: null }, "source-rate-limited"],
  [{ kind: "secondary429" }, "source-rate-limited"],
];

Deno.test("an older answer of under 24 h is given for each failure, and few requests are sent meanwhile", async () => {
  for (const [fault, expected] of failures) {
    await using opened = await open();
    const { clock, cost, gh, git, resolve } = opened;
    timeOutHangs(clock, gh);
    const known = await resolve();
    await git.commit({ "b.md": "changed\n" });
    gh.fault = fault;
    for (const ageMs of [60_000, 3_600_000, DAY_MS - 1]) {
      clock.advance(ageMs - (clock.now() - known.checkedAtMs));
      const requests = await cost(async () => {
        const { commit, freshness, checkedAtMs } = await resolve();
        assertEquals([fault, commit, freshness], [fault, known.commit, "stale"]);
        assertEquals(checkedAtMs, known.checkedAtMs);
      });
      assert(requests.length <= 2, `${requests}`);
      assertEquals(await cost(() => Promise.all([resolve(), resolve()])), []);
      const unknown = () => codeOf(resolve({ branch: `unknown-${ageMs}` }));
      assertEquals(await unknown(), expected);
      assertEquals(await cost(unknown), []);
    }
    clock.advance(1);
    assertEquals(await codeOf(resolve()), expected);
    gh.fault = null;
    clock.advance(DAY_MS);
    assertEquals((await resolve()).commit, await git.head());
  }
});

Deno.test("a process takes over what another one knew, but checks it itself, by the same validator", async () => {
  await using opened = await open();
  const { clock, cost, gh, start, resolve } = opened;
  await resolve();
  assertEquals(await cost(start().resolve), [304]);
  gh.fault = { kind: "status", status: 500 };
  assertEquals((await start().resolve()).freshness, "stale", "but never as fresh");
  clock.advance(1);
  gh.fault = null;
  gh.addToken("t1");
  assertEquals(await cost(start({ tokens: ["t1"] }).resolve), [200], "ETags are a token's own");
});

Deno.test("a clock that is set back makes no ref fresh and stops no check", async () => {
  await using opened = await open();
  const { clock, cost, gh, resolve } = opened;
  await resolve();
  clock.setWallClock(clock.now() - 3_600_000);
  assertEquals(await cost(resolve), [304]);
  assertEquals(await cost(resolve), []);
  clock.advance(60_000);
  gh.fault = { kind: "status", status: 500 };
  await resolve();
  clock.setWallClock(clock.now() - 3_600_000);
  gh.fault = null;
  clock.advance(5_000);
  assertEquals(await cost(resolve), [304]);
});

Deno.test("requests that are aborted start one check per ref, which goes on without them", async () => {
  await using opened = await open();
  const { clock, gh, git, resolve, statuses } = opened;
  const branches = ["b1", "b2", "b3"];
  for (const branch of branches) await git.branch(branch);
  for (const branch of branches) await resolve({ branch });
  clock.advance(61_000);
  gh.resetCounts();
  const held = Promise.withResolvers<null>();
  gh.intercept = () => held.promise;
  for (let times = 0; times < 5; times++) {
    await Promise.all(branches.map(async (branch) => {
      const left = new AbortController();
      const resolving = resolve({ branch, context: { ...uncharged, signal: left.signal } });
      left.abort(new Error("left"));
      await assertRejects(() => resolving, Error, "left");
    }));
  }
  await gh.log.until(() => gh.requests.length === branches.length);
  held.resolve(null);
  const found = await Promise.all(branches.map((branch) => resolve({ branch })));
  assertEquals(found.map(({ freshness }) => freshness), branches.map(() => "revalidated"));
  assertEquals(statuses(), branches.map(() => 304));
});

Deno.test("40 known refs have 40 answers while the source hangs", async () => {
  for (const owners of [1, 40]) {
    await using opened = await open({ tokens: ["t1"] });
    const { clock, gh, git, start } = opened;
    const { resolve } = start({ allowed: undefined });
    const queries = await Promise.all(Array.from({ length: 40 }, async (_, index) => {
      if (owners > 1) gh.add(`o${index}/site`, git);
      else await git.branch(`b${index}`);
      return owners > 1 ? { owner: `o${index}` } : { branch: `b${index}` };
    }));
    for (const query of queries) await resolve(query);
    clock.advance(61_000);
    gh.fault = { kind: "hang" };
    for (let round = 0; round < 2; round++) {
      const found = Promise.all(queries.map((query) => resolve(query)));
      // Two requests a check, 64 at once: the others are given up in the queue at the same time.
      if (round === 0) await gh.log.until(() => gh.pauses.waiting === 64);
      for (let turn = 0; turn < 30; turn++) {
        await new Promise((resolve) => setTimeout(resolve, 0));
        clock.advance(1_000);
      }
      assertEquals((await found).map(({ freshness }) => freshness), queries.map(() => "stale"));
    }
  }
});

Deno.test("recheck() checks the refs of a repository that are in use, missing ones too, and no other", async () => {
  await using opened = await open();
  const { cached: { refs }, clock, cost, gh, git, resolve } = opened;
  gh.add("octo/other", git);
  await git.branch("unused");
  await resolve({ branch: "unused" });
  clock.advance(60_000);
  await resolve();
  await resolve({ repo: "other" });
  assertEquals(await codeOf(resolve({ branch: "new" })), "branch-not-found");
  await git.branch("new");
  const moved = await git.commit({ "b.md": "changed\n" });
  await cost(() => refs.recheck("octo/site"));
  assertEquals(gh.requests.every(({ path }) => path.includes("/octo/site/")), true);
  assertEquals(gh.requests.some(({ path }) => path.includes("unused")), false);
  const found = await Promise.all([resolve(), resolve({ branch: "new" })]);
  assertEquals(found.map(({ commit, freshness }) => [commit === moved, freshness]), [
    [true, "hit"],
    [false, "hit"],
  ]);
  assertEquals(await cost(() => refs.recheck("octo/absent")), []);
});

Deno.test("a cold resolve reads the store once, and a repeated tombstone not at all", async () => {
  await using opened = await open();
  const { store, start } = opened;
  const reads = countReads(store.kv);
  const { resolve } = start();
  for (let times = 0; times < 2; times++) await resolve();
  assertEquals(reads.count, 1);
  for (let times = 0; times < 2; times++) {
    await assertRejects(() => resolve({ branch: "absent" }), CollectionsError);
  }
  assertEquals(reads.count, 2);
});
