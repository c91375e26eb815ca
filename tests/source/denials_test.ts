// What the source denies: its tombstone applies here and in other processes, however long a later failure lasts, and
// also where the source failed before its denial was complete.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import type { LoggedRequest } from "../github/github_log.ts";
import { uncharged } from "./open_github.ts";
import { codeOf, type OpenedRefs, openRefs } from "./open_refs.ts";

const removals: [code: string, act: (opened: OpenedRefs) => unknown][] = [
  ["repository-not-found", ({ gh }) => gh.remove("octo/site")],
  ["repository-not-found", ({ gh }) => gh.setVisibility("octo/site", "private")],
  ["repository-not-found", ({ gh }) => gh.get("octo/site").blocked = 403],
  ["repository-not-found", ({ gh }) => gh.fault = { kind: "status", status: 403 }],
  ["repository-blocked", ({ gh }) => gh.get("octo/site").blocked = 451],
  ["repository-empty", ({ gh }) => gh.add("octo/site", null)],
  ["branch-not-found", ({ git }) => git.branch("other").then(() => git.deleteBranch("main"))],
];

Deno.test("a tombstone is valid for 60 s, for every spelling, and lasts while the source fails, everywhere", async () => {
  for (const [expected, act] of removals) {
    await using opened = await openRefs({ allowed: "octo/*" });
    const { clock, cost, gh, start, resolve } = opened;
    const second = start();
    await Promise.all([resolve(), second.resolve()]);
    clock.advance(60_000);
    await act(opened);
    assertEquals(await codeOf(resolve()), expected);
    clock.advance(59_999);
    const again = await assertRejects(() => resolve({ repo: "SITE" }), CollectionsError);
    assertEquals(again.code, expected);
    const echoed = expected === "branch-not-found" ? '"main"' : '"octo/SITE"';
    assert(again.detail.includes(echoed), again.detail);
    assertEquals(await cost(() => codeOf(resolve())), []);
    clock.advance(1);
    assert((await cost(() => codeOf(resolve()))).length > 0);

    gh.fault = { kind: "status", status: 500 };
    assertEquals(await codeOf(second.resolve()), expected);
    assertEquals(await codeOf(start().resolve()), "source-failed", "nothing is left to be given");
    clock.advance(3_600_000);
    assertEquals(await codeOf(resolve()), "source-failed");
    assertEquals(await codeOf(second.resolve()), expected);
  }
});

Deno.test("a tombstone of a repository covers all its refs, whichever was requested, also without a store", async () => {
  await using opened = await openRefs({ allowed: "octo/*" });
  const { clock, gh, git, start, resolve } = opened;
  await git.branch("dev");
  const second = start();
  const alone = start({ kv: null });
  for (const process of [{ resolve }, second, alone]) await process.resolve();
  clock.advance(30_000);
  gh.get("octo/site").blocked = 451;
  for (const process of [{ resolve }, alone]) {
    assertEquals(await codeOf(process.resolve({ branch: "dev" })), "repository-blocked");
  }
  await gh.down();
  clock.advance(30_000);
  for (const process of [{ resolve }, second, alone]) {
    assertEquals(await codeOf(process.resolve()), "repository-blocked");
  }
});

Deno.test("an earlier check that another process writes late undoes no tombstone", async () => {
  await using opened = await openRefs({ allowed: "octo/*" });
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
  assertEquals(await codeOf(resolve()), "branch-not-found");
  held.resolve(new Response(commit));
  assertEquals((await late).commit, commit);
  gh.fault = { kind: "status", status: 500 };
  assertEquals(await codeOf(start().resolve()), "source-failed");
});

Deno.test("a repository that is there again is served again, also while the source fails later", async () => {
  await using opened = await openRefs({ allowed: "octo/*" });
  const { clock, gh, start, resolve } = opened;
  const second = start();
  await Promise.all([resolve(), second.resolve()]);
  clock.advance(60_000);
  gh.setVisibility("octo/site", "private");
  assertEquals(await codeOf(resolve()), "repository-not-found");
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
  await using opened = await openRefs({ allowed: "octo/*" });
  const { resolve, store } = opened;
  for (let number = 0; number < 10; number++) {
    await codeOf(resolve({ branch: `no-${number}` }));
    await codeOf(resolve({ repo: `no-${number}` }));
  }
  assertEquals(await Array.fromAsync(store.kv.list({ prefix: [] })), []);
});

Deno.test("a missing branch names the default one, also where visibility is unchanged", async () => {
  await using opened = await openRefs({ tokens: ["t1"] });
  const { clock, gh, git, start } = opened;
  gh.missingRefStatus = 404;
  await git.branch("dev");
  await start().resolve({ branch: "dev" });
  await git.deleteBranch("dev");
  clock.advance(60_000);
  const resolving = start().resolve({ branch: "dev" });
  const error = await assertRejects(() => resolving, CollectionsError, '"main"');
  assertEquals(error.code, "branch-not-found");
});

type Answer = (request: LoggedRequest) => number | null;

const isHeads = ({ path }: LoggedRequest) => path.includes("/commits/heads%2F");

/** GitHub answers from now on with these statuses; null is its real answer. */
function answerWith({ gh }: OpenedRefs, answer: Answer): void {
  gh.intercept = (_, request) => {
    const status = answer(request);
    return status === null ? null : new Response("{}", { status });
  };
}

/** GitHub answers requests about refs with one status, those about the repository with the other. */
const failing = (ref: number, repository: number): Answer => ({ kind }) =>
  kind === "commit" ? ref : repository;

/** The repository is seen; its branch has one status, its tag the other. */
const seen = (branch: number, tag: number): Answer => (request) => {
  if (request.kind === "repo") return null;
  return isHeads(request) ? branch : tag;
};

const denials: [name: string, tokens: string[], answer: Answer, code: string][] = [
  ["the branch is missing, its repository fails", [], failing(404, 500), "source-failed"],
  ["the branch is missing, its tag fails", ["t1"], seen(404, 500), "source-failed"],
  ["the branch is missing, visibility fails", ["t1"], failing(404, 500), "source-failed"],
  ["the repository is blocked, visibility fails", ["t1"], failing(451, 500), "source-failed"],
  ["a deleted repository spends the quota", [], failing(404, 429), "source-rate-limited"],
  ["a deleted branch spends the quota", ["t1"], seen(422, 429), "source-rate-limited"],
];

for (const [name, tokens, answer, code] of denials) {
  Deno.test(`resolve() gives nothing that was known where ${name}`, async () => {
    await using opened = await openRefs({ tokens });
    const { clock, gh, start, resolve } = opened;
    const elsewhere = start();
    await Promise.all([resolve(), elsewhere.resolve()]);
    answerWith(opened, answer);
    clock.advance(60_000);
    assertEquals(await codeOf(resolve()), code);
    await gh.down();
    for (const waitMs of [1, 60_000, 3_600_000]) {
      clock.advance(waitMs);
      for (const process of [{ resolve }, elsewhere, start()]) {
        await assertRejects(() => process.resolve(), CollectionsError);
      }
    }
  });
}

Deno.test("resolve() repeats the check after such a failure, and finds what is there then", async () => {
  await using opened = await openRefs();
  const { clock, gh, resolve } = opened;
  const { commit } = await resolve();
  answerWith(opened, failing(404, 500));
  clock.advance(60_000);
  assertEquals(await codeOf(resolve()), "source-failed");
  gh.intercept = null;
  clock.advance(5_000);
  assertEquals((await resolve()).commit, commit);
});

Deno.test("resolve() says that a branch is not there also where the default one cannot be had", async () => {
  await using opened = await openRefs({ tokens: ["t1"] });
  const { clock, gh, resolve } = opened;
  await resolve();
  gh.intercept = (request, { kind }) => {
    if (kind === "commit") return new Response("{}", { status: 404 });
    return request.headers.has("if-none-match") ? null : new Response("{}", { status: 500 });
  };
  clock.advance(60_000);
  assertEquals(await codeOf(resolve()), "branch-not-found");
});

Deno.test("resolve() gives nothing that was denied before a request was aborted", async () => {
  await using opened = await openRefs();
  const { clock, gh, resolve } = opened;
  await resolve();
  const held = Promise.withResolvers<Response>();
  const isHeld = Promise.withResolvers<void>();
  gh.intercept = (_, { kind }) => {
    if (kind === "commit") return new Response("{}", { status: 404 });
    isHeld.resolve();
    return held.promise;
  };
  clock.advance(60_000);
  const leaver = new AbortController();
  const left = resolve({ context: { ...uncharged, signal: leaver.signal } });
  await isHeld.promise;
  leaver.abort(new Error("left"));
  await assertRejects(() => left, Error, "left");
  held.resolve(new Response("{}", { status: 500 }));
  await gh.down();
  clock.advance(3_600_000);
  await assertRejects(() => resolve(), CollectionsError);
});

Deno.test("a denial of one branch hides the others only where it may be one of the repository", async () => {
  const isOther = ({ path }: LoggedRequest) => path.includes("other");
  for (
    const [tokens, answer, expected] of [
      // With a token the repository was seen, so the branch alone is lost.
      [["t1"], (request) => isOther(request) ? null : seen(404, 500)(request), "stale"],
      [[], failing(404, 500), "source-failed"],
    ] as [string[], Answer, string][]
  ) {
    await using opened = await openRefs({ tokens });
    const { clock, gh, git, resolve } = opened;
    await git.branch("other");
    await Promise.all([resolve(), resolve({ branch: "other" })]);
    answerWith(opened, answer);
    clock.advance(60_000);
    assertEquals(await codeOf(resolve()), "source-failed");
    await gh.down();
    clock.advance(60_000);
    const other = await resolve({ branch: "other" })
      .then(({ freshness }) => freshness, ({ code }) => code);
    assertEquals(other, expected);
    assertEquals(await codeOf(resolve()), "source-failed");
  }
});

Deno.test("resolve() takes no denial from a form under which the ref was not known", async () => {
  await using opened = await openRefs();
  const { clock, git, resolve } = opened;
  await git.git("tag", "v1");
  const { commit } = await resolve({ branch: "v1" });
  answerWith(opened, ({ path }) => path.includes("tags%2F") ? 500 : null);
  clock.advance(60_000);
  const { commit: shown, freshness } = await resolve({ branch: "v1" });
  assertEquals([shown, freshness], [commit, "stale"]);
});
