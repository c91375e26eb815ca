import { assert, assertEquals, assertRejects } from "@std/assert";
import { MemoryCache } from "../../lib/cache/memory.ts";
import { CollectionsError } from "../../lib/errors.ts";
import type { Caller, Snapshot } from "../../lib/source/repository.ts";
import type { Fault } from "../github/github_faults.ts";
import type { GithubDouble } from "../github/github_double.ts";
import { serveRepository } from "../github/served_repository.ts";
import { timeOutHangs } from "../github/time_out_hangs.ts";
import { TestClock } from "../test_clock.ts";
import { openCached, type SourceOptions } from "./github_source.ts";
import { freeCaller } from "./repository_suite.ts";

const DAY_MS = 24 * 3_600_000;

interface Asked {
  readonly repo?: string;
  readonly branch?: string | null;
  readonly caller?: Caller;
}

/** A double with `octo/site`, and processes that read it, all over one store of refs. */
async function open(options: Omit<SourceOptions, "clock"> = {}) {
  const clock = new TestClock();
  const served = await serveRepository({ "posts/a.md": "A\n" }, { now: clock.now });
  const { gh } = served;
  gh.setQuota(null, { remaining: 100_000 });
  for (const token of options.tokens ?? []) gh.addToken(token);
  const refs = new MemoryCache({ maxBytes: 1 << 20, now: clock.now });
  const start = (other: Omit<SourceOptions, "clock"> = {}) => {
    const cached = openCached(gh, { clock, refs, allowedByName: true, ...options, ...other });
    return {
      cached,
      resolve: ({ repo = "site", branch = null, caller = freeCaller }: Asked = {}) =>
        cached.resolve({ owner: "octo", repo, branch }, caller),
    };
  };
  const { cached, resolve } = start();
  return {
    clock,
    gh,
    git: served.repository,
    start,
    resolve,
    refreshDue: () => cached.refreshDue(),
    /** What one question costs, by the status of each request. */
    async cost(work: () => Promise<unknown>) {
      gh.resetCounts();
      await work();
      return statuses(gh);
    },
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

function statuses(gh: GithubDouble): number[] {
  return gh.requests.map(({ status }) => status);
}

async function code(asked: Promise<unknown>): Promise<string> {
  return (await assertRejects(() => asked, CollectionsError)).code;
}

Deno.test("a ref is asked for once in its 60 s, then conditionally", async () => {
  await using opened = await open();
  const { clock, cost, resolve } = opened;
  assertEquals(await cost(resolve), [200]);
  clock.advance(59_999);
  assertEquals(await cost(resolve), []);
  clock.advance(1);
  assertEquals(await cost(resolve), [304]);
  const { freshness, askedAtMs } = await resolve();
  assertEquals([freshness, askedAtMs], ["hit", clock.now()]);
});

Deno.test("callers at once share one question, cold and at the end of the 60 s", async () => {
  await using opened = await open();
  const { clock, gh, resolve } = opened;
  for (let round = 1; round <= 2; round++) {
    const all = await Promise.all(Array.from({ length: 50 }, () => resolve()));
    assertEquals(gh.requests.length, round);
    assertEquals(new Set(all.map(({ commit }) => commit)).size, 1);
    clock.advance(60_000);
  }
});

Deno.test("a caller counts as causing a miss for an unknown ref alone, and not for joining", async () => {
  await using opened = await open();
  const { clock, resolve } = opened;
  const misses: (boolean | undefined)[] = [];
  const caller: Caller = { miss: (options) => void misses.push(options?.joined) };
  await Promise.all([resolve({ caller }), resolve({ caller })]);
  clock.advance(60_000);
  await resolve({ caller });
  assertEquals(misses, [false, true]);
});

Deno.test("refreshDue() checks a wanted ref once it is 50 s old, so that its callers never wait", async () => {
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

Deno.test("refreshDue() leaves alone what nobody asked for since, and who comes later waits", async () => {
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

Deno.test("a check under way is joined by refreshDue() and callers, and not repeated within 50 s", async () => {
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
    clock.advance(20_000);
  }
  const held = Promise.withResolvers<null>();
  gh.intercept = (_, { path }) => path.includes("slow") ? held.promise : null;
  gh.resetCounts();
  clock.advance(10_000);
  const first = refreshDue();
  await gh.log.until(() => gh.requests.length === 1);
  clock.advance(20_000);
  await Promise.race([first, refreshDue()]);
  assertEquals(statuses(gh).filter((status) => status === 304).length, 1);
  held.resolve(null);
  await first;
});

Deno.test("refreshDue() never throws, waits out a backoff, and tries once for one who wanted it", async () => {
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
    assertEquals(await cost(refreshDue), [], "nobody has asked since");
  }
});

const gone: [code: string, act: (opened: Awaited<ReturnType<typeof open>>) => unknown][] = [
  ["repository-not-found", ({ gh }) => gh.remove("octo/site")],
  ["repository-not-found", ({ gh }) => gh.setVisibility("octo/site", "private")],
  ["repository-not-found", ({ gh }) => gh.addBlocked("octo/site", { status: 403 })],
  ["repository-not-found", ({ gh }) => void (gh.fault = { kind: "forbidden" })],
  ["repository-blocked", ({ gh }) => gh.addBlocked("octo/site")],
  ["repository-empty", ({ gh }) => gh.addEmpty("octo/site")],
  ["branch-not-found", ({ git }) => git.branch("other").then(() => git.deleteBranch("main"))],
];

Deno.test("an answer that a ref is not there is kept for 60 s, for every spelling", async () => {
  for (const [expected, act] of gone) {
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

Deno.test("a ref that is gone stays gone while the source fails, here and in other processes", async () => {
  for (const [expected, act] of gone) {
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

Deno.test("a withdrawn repository takes all its refs along, whichever was asked for", async () => {
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

Deno.test("a withdrawal holds in the process that saw it, also where the store keeps nothing", async () => {
  await using opened = await open();
  const { clock, gh, git, start } = opened;
  await git.branch("dev");
  const { resolve } = start({ refs: new MemoryCache({ maxBytes: 0 }) });
  await resolve();
  clock.advance(30_000);
  gh.addBlocked("octo/site");
  assertEquals(await code(resolve({ branch: "dev" })), "repository-blocked");
  await gh.down();
  clock.advance(30_000);
  assertEquals(await code(resolve()), "repository-blocked");
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
  const { gh, start } = opened;
  const refs = new MemoryCache({ maxBytes: 1 << 20 });
  const { cached, resolve } = start({ refs });
  for (let number = 0; number < 20; number++) {
    await code(resolve({ branch: `no-${number}` }));
    await code(resolve({ repo: `no-${number}` }));
  }
  await cached.settled();
  assertEquals(refs.bytes, 0);
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

Deno.test("an older answer of under 24 h stands in for each failure, and none after that", async () => {
  for (const [fault, expected] of failures) {
    await using opened = await open();
    const { clock, gh, git, resolve } = opened;
    timeOutHangs(clock, gh);
    const known = await resolve();
    await git.commit({ "b.md": "B\n" });
    gh.fault = fault;
    for (const ageMs of [60_000, 3_600_000, DAY_MS - 1]) {
      clock.advance(ageMs - (clock.now() - known.askedAtMs));
      const { commit, freshness, askedAtMs } = await resolve();
      assertEquals([fault, commit, freshness], [fault, known.commit, "stale"]);
      assertEquals(askedAtMs, known.askedAtMs);
    }
    clock.advance(1);
    assertEquals(await code(resolve()), expected);
    gh.fault = null;
    clock.advance(DAY_MS);
    assertEquals((await resolve()).commit, await git.head());
  }
});

Deno.test("a source that failed is not asked before its backoff ends, known or not", async () => {
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
    const other = () => code(resolve({ repo: "other" }));
    await other();
    assertEquals(await cost(other), []);
    assertEquals(await other(), expected);
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

Deno.test("the state before a move stands by for a day", async () => {
  await using opened = await open();
  const { clock, git, start, resolve } = opened;
  const before = await resolve();
  await git.commit({ "b.md": "B\n" });
  clock.advance(60_000);
  const after = await resolve();
  const isBefore = ({ previous }: Snapshot) => {
    assertEquals(previous?.commit, before.commit);
    assertEquals(previous?.askedAtMs, before.askedAtMs);
    assertEquals([previous?.freshness, previous?.previous], ["stale", undefined]);
  };
  isBefore(after);
  isBefore(await resolve());
  isBefore(await start().resolve());
  clock.advance(DAY_MS - 60_000 - 1);
  isBefore(await resolve());
  clock.advance(1);
  assertEquals((await resolve()).previous, undefined);
  assertEquals((await start().resolve()).previous, undefined);
});

Deno.test("a missing branch names the default one, also after a run that asked for visibility", async () => {
  await using opened = await open({ tokens: ["t1"] });
  const { clock, gh, git, start } = opened;
  gh.missingRefStatus = 404;
  await git.branch("dev");
  await start({ allowedByName: false }).resolve({ branch: "dev" });
  await git.deleteBranch("dev");
  clock.advance(60_000);
  const asked = start().resolve({ branch: "dev" });
  const error = await assertRejects(() => asked, CollectionsError);
  assertEquals(error.code, "branch-not-found");
  assert(error.detail.includes('"main"'), error.detail);
});
