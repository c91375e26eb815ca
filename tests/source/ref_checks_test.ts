import { assert, assertEquals, assertRejects } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import type { RequestContext } from "../../lib/source/source.ts";
import type { Fault } from "../github/github_faults.ts";
import type { GithubDouble } from "../github/github_double.ts";
import { serveRepository } from "../github/served_repository.ts";
import { timeOutHangs } from "../github/github_faults.ts";
import { TestClock } from "../test_clock.ts";
import { openCached, type OpenOptions, openStore, uncharged } from "./open_github.ts";

const DAY_MS = 24 * 3_600_000;

interface Query {
  readonly owner?: string;
  readonly repo?: string;
  readonly branch?: string | null;
  readonly context?: RequestContext;
}

/** A double with `octo/site`, and processes that read it, all over one store. */
async function open(options: Omit<OpenOptions, "clock"> = {}) {
  const clock = new TestClock();
  const served = await serveRepository({ "posts/a.md": "A\n" }, { now: clock.now });
  const { gh } = served;
  gh.setQuota(null, { remaining: 100_000 });
  for (const token of options.tokens ?? []) gh.addToken(token);
  const store = await openStore(clock);
  const start = (other: Omit<OpenOptions, "clock"> = {}) => {
    const kv = store.tier();
    const cached = openCached(gh, { clock, kv, allowed: "octo/*", ...options, ...other });
    return {
      cached,
      async resolve({ owner = "octo", repo = "site", branch = null, context }: Query = {}) {
        try {
          return await cached.resolve({ owner, repo, branch }, context ?? uncharged);
        } finally {
          await kv.flush();
        }
      },
    };
  };
  const { cached, resolve } = start();
  return {
    clock,
    gh,
    git: served.repository,
    store,
    start,
    cached,
    resolve,
    refreshDue: () => cached.refs.refreshDue(),
    /** What some work costs, by the status of each request. */
    async cost(work: () => Promise<unknown>) {
      gh.resetCounts();
      await work();
      return statuses(gh);
    },
    async [Symbol.asyncDispose]() {
      await cached.refs.close();
      store[Symbol.dispose]();
      await served[Symbol.asyncDispose]();
    },
  };
}

function statuses(gh: GithubDouble): number[] {
  return gh.requests.map(({ status }) => status);
}

async function code(resolving: Promise<unknown>): Promise<string> {
  return (await assertRejects(() => resolving, CollectionsError)).code;
}

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

Deno.test("concurrent requests share one check, cold and at the end of the 60 s", async () => {
  await using opened = await open();
  const { clock, gh, resolve } = opened;
  for (let round = 1; round <= 2; round++) {
    const all = await Promise.all(Array.from({ length: 50 }, () => resolve()));
    assertEquals(gh.requests.length, round);
    assertEquals(new Set(all.map(({ commit }) => commit)).size, 1);
    clock.advance(60_000);
  }
});

Deno.test("only the request that starts the check of an unknown ref is charged", async () => {
  await using opened = await open();
  const { clock, resolve } = opened;
  const misses: (boolean | undefined)[] = [];
  const context: RequestContext = {
    client: "192.0.2.1",
    recordMiss: (options) => void misses.push(options?.joined),
  };
  await Promise.all([resolve({ context }), resolve({ context })]);
  clock.advance(60_000);
  await resolve({ context });
  assertEquals(misses, [false, true]);
});

Deno.test("refreshDue() checks a ref in use once its check is 50 s old, so that requests never wait", async () => {
  await using opened = await open();
  const { clock, cost, refreshDue, resolve } = opened;
  await resolve();
  clock.advance(1);
  await resolve();
  clock.advance(49_998);
  assertEquals(await cost(refreshDue), []);
  clock.advance(1);
  assertEquals(await cost(refreshDue), [304]);
  clock.advance(59_999);
  assertEquals(await cost(resolve), []);
});

Deno.test("refreshDue() skips refs without requests since their check, and later requests wait", async () => {
  await using opened = await open();
  const { clock, cost, git, refreshDue, resolve } = opened;
  await resolve();
  clock.advance(50_000);
  assertEquals(await cost(refreshDue), []);
  await resolve();
  assertEquals(await cost(refreshDue), [304]);
  clock.advance(50_000);
  assertEquals(await cost(refreshDue), [], "one background check is not wanted by anyone");
  const moved = await git.commit({ "b.md": "B\n" });
  clock.advance(10_000);
  const { commit, freshness } = await resolve();
  assertEquals([commit, freshness], [moved, "moved"]);
});

Deno.test("a check under way is joined by refreshDue() and requests, and not repeated within 50 s", async () => {
  await using opened = await open();
  const { clock, gh, refreshDue, resolve } = opened;
  await resolve();
  clock.advance(10);
  await resolve();
  clock.advance(59_990);
  gh.resetCounts();
  await Promise.all([refreshDue(), resolve(), refreshDue(), resolve()]);
  assertEquals(statuses(gh), [304]);
  for (let second = 0; second < 49; second++) {
    clock.advance(1000);
    await Promise.all([refreshDue(), resolve()]);
  }
  assertEquals(statuses(gh), [304]);
  clock.advance(1000);
  await refreshDue();
  assertEquals(statuses(gh), [304, 304]);
});

Deno.test("refreshDue() checks very many refs a few at once, and each once", async () => {
  await using opened = await open();
  const { clock, gh, git, refreshDue, resolve } = opened;
  const branches = Array.from({ length: 60 }, (_, index) => `b${index}`);
  for (const branch of branches) await git.branch(branch);
  for (const branch of branches) await resolve({ branch });
  clock.advance(1);
  for (const branch of branches) await resolve({ branch });
  clock.advance(50_000);
  gh.resetCounts();
  gh.log.maxConcurrent = 0;
  await Promise.all([refreshDue(), refreshDue()]);
  assertEquals(statuses(gh), branches.map(() => 304));
  assert(gh.log.maxConcurrent <= 8, `${gh.log.maxConcurrent}`);
});

Deno.test("refreshDue() goes on with others while one check takes its time", async () => {
  await using opened = await open();
  const { clock, gh, git, refreshDue, resolve } = opened;
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
  clock.advance(5_000);
  await Promise.race([first, refreshDue()]);
  assertEquals(statuses(gh).filter((status) => status === 304).length, 1);
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
  for (let minute = 0; minute < 60; minute++) {
    clock.advance(60_000);
    assertEquals(await cost(refreshDue), [], "nobody has wanted it since");
  }
});

const removals: [code: string, act: (opened: Awaited<ReturnType<typeof open>>) => unknown][] = [
  ["repository-not-found", ({ gh }) => gh.remove("octo/site")],
  ["repository-not-found", ({ gh }) => gh.setVisibility("octo/site", "private")],
  ["repository-not-found", ({ gh }) => gh.addBlocked("octo/site", { status: 403 })],
  ["repository-not-found", ({ gh }) => void (gh.fault = { kind: "forbidden" })],
  ["repository-blocked", ({ gh }) => gh.addBlocked("octo/site")],
  ["repository-empty", ({ gh }) => gh.addEmpty("octo/site")],
  ["branch-not-found", ({ git }) => git.branch("other").then(() => git.deleteBranch("main"))],
];

Deno.test("a tombstone is valid for 60 s, for every spelling", async () => {
  for (const [expected, act] of removals) {
    await using opened = await open();
    const { clock, cost, resolve } = opened;
    await act(opened);
    assertEquals(await code(resolve()), expected);
    clock.advance(59_999);
    const again = await assertRejects(() => resolve({ repo: "SITE" }), CollectionsError);
    assertEquals(again.code, expected);
    const echoed = expected === "branch-not-found" ? '"main"' : '"octo/SITE"';
    assert(again.detail.includes(echoed), again.detail);
    assertEquals(await cost(() => code(resolve())), []);
    clock.advance(1);
    assert((await cost(() => code(resolve()))).length > 0);
  }
});

Deno.test("a tombstone lasts while the source fails, here and in other processes", async () => {
  for (const [expected, act] of removals) {
    await using opened = await open();
    const { clock, gh, start, resolve } = opened;
    const second = start();
    await Promise.all([resolve(), second.resolve()]);
    clock.advance(60_000);
    await act(opened);
    assertEquals(await code(resolve()), expected);
    gh.fault = { kind: "status", status: 500 };
    assertEquals(await code(second.resolve()), expected);
    assertEquals(await code(start().resolve()), "source-failed", "nothing is left to be given");
    clock.advance(3_600_000);
    assertEquals(await code(resolve()), "source-failed");
    assertEquals(await code(second.resolve()), expected);
  }
});

Deno.test("a tombstone of a repository covers all its refs, whichever was requested", async () => {
  await using opened = await open();
  const { clock, gh, git, start, resolve } = opened;
  await git.branch("dev");
  const second = start();
  await Promise.all([resolve(), second.resolve()]);
  clock.advance(30_000);
  gh.addBlocked("octo/site");
  assertEquals(await code(resolve({ branch: "dev" })), "repository-blocked");
  await gh.down();
  clock.advance(30_000);
  assertEquals(await code(resolve()), "repository-blocked");
  assertEquals(await code(second.resolve()), "repository-blocked");
});

Deno.test("a tombstone applies in the process that recorded it, also without a store", async () => {
  await using opened = await open();
  const { clock, gh, git, start } = opened;
  await git.branch("dev");
  const { resolve } = start({ kv: null });
  await resolve();
  clock.advance(30_000);
  gh.addBlocked("octo/site");
  assertEquals(await code(resolve({ branch: "dev" })), "repository-blocked");
  await gh.down();
  clock.advance(30_000);
  assertEquals(await code(resolve()), "repository-blocked");
});

Deno.test("an earlier check that another process writes late undoes no tombstone", async () => {
  await using opened = await open();
  const { clock, gh, git, start, resolve } = opened;
  const { commit } = await resolve();
  clock.advance(55_000);
  const held = Promise.withResolvers<Response>();
  gh.intercept = () => held.promise;
  const late = start().resolve();
  await gh.log.until(() => gh.requests.length === 2);
  gh.intercept = null;
  await git.branch("other");
  await git.deleteBranch("main");
  clock.advance(5_000);
  assertEquals(await code(resolve()), "branch-not-found");
  held.resolve(new Response(commit));
  assertEquals((await late).commit, commit);
  gh.fault = { kind: "status", status: 500 };
  assertEquals(await code(start().resolve()), "source-failed");
});

Deno.test("a repository that is there again is served again, also while the source fails later", async () => {
  await using opened = await open();
  const { clock, gh, start, resolve } = opened;
  const second = start();
  await Promise.all([resolve(), second.resolve()]);
  clock.advance(60_000);
  gh.setVisibility("octo/site", "private");
  assertEquals(await code(resolve()), "repository-not-found");
  gh.setVisibility("octo/site", "public");
  clock.advance(60_000);
  const back = await resolve();
  await second.resolve();
  gh.fault = { kind: "status", status: 500 };
  clock.advance(60_000);
  for (const process of [{ resolve }, second, start()]) {
    const { commit, freshness } = await process.resolve();
    assertEquals([commit, freshness], [back.commit, "stale"]);
  }
});

Deno.test("nothing is written for refs that never were there", async () => {
  await using opened = await open();
  const { gh, resolve, store } = opened;
  for (let number = 0; number < 20; number++) {
    await code(resolve({ branch: `no-${number}` }));
    await code(resolve({ repo: `no-${number}` }));
  }
  assertEquals(await Array.fromAsync(store.kv.list({ prefix: [] })), []);
  assertEquals(gh.unexpected, []);
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

Deno.test("an older answer of under 24 h is given for each failure, and none after that", async () => {
  for (const [fault, expected] of failures) {
    await using opened = await open();
    const { clock, gh, git, resolve } = opened;
    timeOutHangs(clock, gh);
    const known = await resolve();
    await git.commit({ "b.md": "B\n" });
    gh.fault = fault;
    for (const ageMs of [60_000, 3_600_000, DAY_MS - 1]) {
      clock.advance(ageMs - (clock.now() - known.checkedAtMs));
      const { commit, freshness, checkedAtMs } = await resolve();
      assertEquals([fault, commit, freshness], [fault, known.commit, "stale"]);
      assertEquals(checkedAtMs, known.checkedAtMs);
    }
    clock.advance(1);
    assertEquals(await code(resolve()), expected);
    gh.fault = null;
    clock.advance(DAY_MS);
    assertEquals((await resolve()).commit, await git.head());
  }
});

Deno.test("a ref that failed is not requested before its wait ends, known or not", async () => {
  for (const [fault, expected] of failures) {
    await using opened = await open();
    const { clock, cost, gh, resolve } = opened;
    timeOutHangs(clock, gh);
    await resolve();
    clock.advance(60_000);
    gh.fault = fault;
    const first = await cost(resolve);
    assert(first.length <= 2, `${first}`);
    clock.advance(4_999);
    assertEquals(await cost(() => Promise.all([resolve(), resolve()])), []);
    const unknown = () => code(resolve({ branch: "unknown" }));
    assertEquals(await unknown(), expected);
    assertEquals(await cost(unknown), []);
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

Deno.test("a missing branch names the default one, also after a run that checked visibility", async () => {
  await using opened = await open({ tokens: ["t1"] });
  const { clock, gh, git, start } = opened;
  gh.missingRefStatus = 404;
  await git.branch("dev");
  await start({ allowed: undefined }).resolve({ branch: "dev" });
  await git.deleteBranch("dev");
  clock.advance(60_000);
  const resolving = start().resolve({ branch: "dev" });
  const error = await assertRejects(() => resolving, CollectionsError);
  assertEquals(error.code, "branch-not-found");
  assert(error.detail.includes('"main"'), error.detail);
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
  const { clock, gh, git, resolve } = opened;
  const branches = ["b1", "b2", "b3", "b4"];
  for (const branch of branches) await git.branch(branch);
  for (const branch of branches) await resolve({ branch });
  clock.advance(61_000);
  gh.resetCounts();
  const held = Promise.withResolvers<null>();
  gh.intercept = () => held.promise;
  for (let times = 0; times < 50; times++) {
    await Promise.all(branches.map(async (branch) => {
      const left = new AbortController();
      const resolving = resolve({ branch, context: { ...uncharged, signal: left.signal } });
      left.abort(new Error("left"));
      await assertRejects(() => resolving, Error, "left");
    }));
  }
  await gh.log.until(() => gh.requests.length === 4);
  held.resolve(null);
  const found = await Promise.all(branches.map((branch) => resolve({ branch })));
  assertEquals(found.map(({ freshness }) => freshness), branches.map(() => "revalidated"));
  assertEquals(statuses(gh), [304, 304, 304, 304]);
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

Deno.test("a ref that always fails makes no sibling stale", async () => {
  await using opened = await open();
  const { clock, gh, git, resolve } = opened;
  await git.branch("broken");
  for (const branch of ["main", "broken"]) await resolve({ branch });
  gh.faultWhen(({ path }) => path.includes("broken") ? { kind: "status", status: 500 } : null);
  for (let minute = 0; minute < 5; minute++) {
    clock.advance(60_000);
    assertEquals((await resolve({ branch: "broken" })).freshness, "stale");
    assertEquals((await resolve({ branch: "main" })).freshness, "revalidated");
  }
});

Deno.test("recheck() checks the refs of a repository that are in use, missing ones too, and no other", async () => {
  await using opened = await open();
  const { cached, clock, cost, gh, git, resolve } = opened;
  gh.add("octo/other", git);
  await git.branch("unused");
  await resolve({ branch: "unused" });
  clock.advance(60_000);
  await resolve();
  await resolve({ repo: "other" });
  assertEquals(await code(resolve({ branch: "new" })), "branch-not-found");
  await git.branch("new");
  const moved = await git.commit({ "b.md": "B\n" });
  await cost(() => cached.refs.recheck("octo/site"));
  assertEquals(gh.requests.every(({ path }) => path.includes("/octo/site/")), true);
  assertEquals(gh.requests.some(({ path }) => path.includes("unused")), false);
  const found = await Promise.all([resolve(), resolve({ branch: "new" })]);
  assertEquals(found.map(({ commit, freshness }) => [commit === moved, freshness]), [
    [true, "hit"],
    [false, "hit"],
  ]);
  assertEquals(await cost(() => cached.refs.recheck("octo/absent")), []);
});

Deno.test("recheck() counts no check that was under way, and runs one more for calls during one", async () => {
  await using opened = await open();
  const { cached, clock, gh, resolve } = opened;
  await resolve();
  clock.advance(30_000);
  await resolve();
  clock.advance(30_000);
  gh.resetCounts();
  let held = Promise.withResolvers<null>();
  gh.intercept = () => held.promise;
  const before = resolve();
  await gh.log.until(() => gh.requests.length === 1);
  const first = cached.refs.recheck("octo/site");
  held.resolve(null);
  held = Promise.withResolvers();
  await before;
  await gh.log.until(() => gh.requests.length === 2);
  const others = [cached.refs.recheck("octo/site"), cached.refs.recheck("octo/site")];
  held.resolve(null);
  await Promise.all([first, ...others]);
  assertEquals(statuses(gh), [304, 304, 304]);
});

Deno.test("a cold resolve reads the store once, and a repeated tombstone not at all", async () => {
  await using opened = await open();
  const { store, start } = opened;
  let reads = 0;
  const getMany = store.kv.getMany.bind(store.kv);
  store.kv.getMany = (...options: Parameters<typeof getMany>) => {
    reads++;
    return getMany(...options) as never;
  };
  const { resolve } = start();
  await resolve();
  await resolve();
  assertEquals(reads, 1);
  await code(resolve({ branch: "absent" }));
  await code(resolve({ branch: "absent" }));
  assertEquals(reads, 2);
});
