// Refs without a token, as the whole service requests them: Git's answers come from `git upload-pack`.

import { assert, assertEquals } from "@std/assert";
import { GitHostHealth, type LsRefsResult } from "../../../lib/source/github/git_refs.ts";
import { freshnessOf } from "../../http/freshness_of.ts";
import { itemPath, listPath } from "../../service.ts";
import { startGitSite } from "../../site.ts";
import { TestClock } from "../../test_clock.ts";
import { silentLog } from "../open_github.ts";

const MINUTE_MS = 60_000;
const FILES = { "posts/a.md": "" };
const COLD = { tree: 1, "tree-recursive": 1 };

function start(env: Record<string, string> = {}) {
  return startGitSite(FILES, { env: { MISSES_PER_MINUTE: "0", ...env } });
}
type GitSite = Awaited<ReturnType<typeof start>>;

/** What some work costs: REST requests by kind, and queries of the Git host. */
async function cost({ gh, bridge }: GitSite, work: () => Promise<unknown>) {
  gh.resetCounts();
  bridge.requests.length = 0;
  await work();
  return [gh.counts(), bridge.requests.length];
}

/** The commit that a list of a ref rests on, or the problem. */
async function commitOf({ service }: GitSite, branch: string): Promise<string> {
  const response = await service.get(listPath({ branch }));
  const body = await response.json();
  return body.repository?.commit ?? `${body.code}: ${body.detail}`;
}

const notFound = (branch: string) =>
  `branch-not-found: The repository has no branch or tag "${branch}". The default branch is "main".`;

Deno.test("a service without a token checks refs by ls-refs alone, and reads at REST what changed", async () => {
  await using site = await start();
  const { service: { clock, services }, repository } = site;
  const list = () => freshnessOf(site);
  assertEquals(await cost(site, list), [COLD, 1]);
  clock.advance(MINUTE_MS);
  assertEquals(await cost(site, list), [{}, 1]);
  assertEquals(await freshnessOf(site), ["a", "hit; ttl=60", "0"]);
  await repository.commit({ "posts/b.md": "" });
  clock.advance(MINUTE_MS);
  assertEquals(await cost(site, list), [COLD, 1]);
  assertEquals((await freshnessOf(site))[0], "a b");
  const metrics = services.metrics.toText();
  assert(metrics.includes('upstream_requests_total{kind="ls-refs",result="200"} 3'), metrics);
});

Deno.test("branches with slashes, tags, HEAD and commit ids resolve as they do by REST, and nothing else does", async () => {
  await using site = await start();
  const { gh, repository } = site;
  const first = await repository.head();
  const second = await repository.commit({ "posts/b.md": "" }, { branch: "feature/x" });
  await repository.branch("both", second);
  await repository.tag("both", { at: first });
  await repository.tag("noted", { at: second, annotated: true });
  const tree = (await repository.resolve("HEAD^{tree}"))!;
  await repository.git("update-ref", "refs/tags/tree", tree);
  const refs = { "feature/x": second, both: second, noted: second, HEAD: first, [second]: second };
  for (const [branch, commit] of Object.entries(refs)) {
    assertEquals(await commitOf(site, branch), commit, branch);
  }
  assertEquals(gh.counts().commit, 1, "the type of what the tag and the id name");
  for (const branch of ["absent", "heads/main", "tree"]) {
    assertEquals(await commitOf(site, branch), notFound(branch));
  }
});

Deno.test("a commit id and the commit of a tag are requested by REST once, missing ones again", async () => {
  await using site = await start();
  const { service: { clock }, repository } = site;
  const commit = await repository.head();
  await repository.tag("v1");
  for (const branch of [commit, "v1"]) {
    await commitOf(site, branch);
    clock.advance(MINUTE_MS);
    assertEquals(await cost(site, () => commitOf(site, branch)), [{}, 1], branch);
  }
  const absent = "0".repeat(40);
  for (let check = 0; check < 2; check++) {
    const list = async () => assertEquals(await commitOf(site, absent), notFound(absent));
    assertEquals(await cost(site, list), [{ commit: 1 }, 1]);
    clock.advance(MINUTE_MS);
  }
});

Deno.test("an empty repository counts as empty only after REST confirms it, and a removed ref is missing within 60 s", async () => {
  await using site = await start();
  const { gh, repository, service: { clock } } = site;
  gh.add("octo/empty", null);
  const { code } = await site.service.problem(listPath({ repo: "empty" }));
  assertEquals([code, gh.counts().commit], ["repository-empty", 1]);

  await repository.branch("soon");
  const list = () => freshnessOf(site, listPath({ branch: "soon" }));
  await list();
  await repository.deleteBranch("soon");
  clock.advance(MINUTE_MS - 1);
  assertEquals((await list())[0], "a");
  clock.advance(1);
  assertEquals(await list(), [404, "branch-not-found"]);
  await repository.branch("soon");
  clock.advance(MINUTE_MS);
  assertEquals((await list())[0], "a");
});

Deno.test("a 401 is checked by REST; where REST fails, nothing older is sent", async () => {
  await using site = await start();
  const { gh, bridge, service: { clock } } = site;
  await freshnessOf(site);
  bridge.intercept = () => new Response(null, { status: 401 });
  clock.advance(MINUTE_MS);
  assertEquals(await cost(site, () => freshnessOf(site)), [{ commit: 1 }, 1]);
  assertEquals((await freshnessOf(site))[0], "a", "REST's answer decides");

  bridge.intercept = null;
  gh.setVisibility("octo/site", "private");
  gh.fault = { kind: "quota403" };
  clock.advance(MINUTE_MS);
  assertEquals(await freshnessOf(site), [503, "source-rate-limited"]);
  clock.advance(3_600_000);
  gh.fault = null;
  assertEquals(await freshnessOf(site), [404, "repository-not-found"]);
  gh.setVisibility("octo/site", "public");
  clock.advance(MINUTE_MS);
  assertEquals((await freshnessOf(site))[0], "a");
});

Deno.test("an unchanged commit is fresh while REST's quota is spent, a new one gives the older answer", async () => {
  await using site = await startGitSite(FILES, { env: { MISSES_PER_MINUTE: "10" } });
  const { gh, repository, service: { clock } } = site;
  await freshnessOf(site);
  gh.fault = { kind: "quota403", resetAtMs: clock.now() + 3_600_000 };
  clock.advance(MINUTE_MS);
  assertEquals(await freshnessOf(site), ["a", "fwd=stale; detail=revalidated", "0"]);
  // Its age counts from the last check that found the older commit, however many came after it.
  for (let minute = 1; minute <= 5; minute++) {
    await repository.commit({ [`posts/b${minute}.md`]: "" });
    clock.advance(MINUTE_MS);
    for (let request = 0; request < 20; request++) {
      const ttl = 60 - 60 * minute;
      assertEquals(
        await freshnessOf(site),
        ["a", `hit; ttl=${ttl}; detail=stale-if-error`, `${60 * minute}`],
      );
    }
  }
  gh.fault = null;
  clock.advance(3_600_000);
  assertEquals((await freshnessOf(site))[0], "a b1 b2 b3 b4 b5");
});

Deno.test("a host that gives anything unexpected is paused, and its repositories are read by REST", async () => {
  await using site = await start();
  const { gh, bridge, repository, service: { clock } } = site;
  gh.add("one/site", repository);
  const list = (owner: string) => cost(site, () => freshnessOf(site, listPath({ owner })));
  bridge.intercept = () => new Response("<html>");
  assertEquals(await list("octo"), [{ commit: 1, ...COLD }, 1]);
  bridge.intercept = null;
  clock.setWallClock(clock.now() - 60 * MINUTE_MS);
  clock.advance(9 * MINUTE_MS);
  assertEquals(await list("octo"), [{ commit: 1 }, 0], "for 10 minutes");
  clock.advance(MINUTE_MS);
  assertEquals(await list("octo"), [{}, 1]);

  const limited = { status: 429, headers: { "retry-after": "120" } };
  bridge.intercept = () => new Response(null, limited);
  clock.advance(MINUTE_MS);
  await list("one");
  bridge.intercept = null;
  clock.advance(119_999);
  assertEquals((await list("octo"))[1], 0, "the whole host");
  clock.advance(MINUTE_MS);
  assertEquals((await list("octo"))[1], 1);
  const paused = site.service.logLines("ls-refs paused");
  assertEquals(
    paused.map(({ of, repository, seconds, reason }) => [of, repository, seconds, reason]),
    [
      [
        "repository",
        "octo/site",
        600,
        "the host answered 200 or something that is no list of refs",
      ],
      ["host", "one/site", 120, "rate-limited"],
    ],
  );
});

/** `record` and `fail` give what was paused. */
function openHealth() {
  const clock = new TestClock();
  const paused: unknown[] = [];
  const warn = (_event: string, fields?: Record<string, unknown>) => void paused.push(fields?.of);
  const health = new GitHostHealth(clock, { ...silentLog, warn });
  const named = (name: string) => ({ owner: name.split("/")[0]!, repo: name.split("/")[1]! });
  const record = (name: string, result: LsRefsResult) => {
    health.record(named(name), result);
    return paused.pop();
  };
  return {
    clock,
    record,
    allows: (name: string) => health.allows(named(name)),
    fail: (...names: string[]) =>
      names.map((name) => record(name, { kind: "unusable", reason: "the host answered 502" })),
  };
}

Deno.test("GitHostHealth pauses one repository for ten minutes, and forgets the oldest of 10,000", () => {
  const { clock, allows, fail } = openHealth();
  assertEquals(fail("A/r"), ["repository"]);
  assertEquals([allows("a/R"), allows("a/other"), allows("b/r")], [false, true, true]);
  clock.advance(10 * MINUTE_MS - 1);
  assertEquals(allows("a/r"), false);
  clock.advance(1);
  assertEquals(allows("a/r"), true);
  fail(...Array.from({ length: 10_001 }, (_, n) => `a/${n}`));
  assertEquals([allows("a/0"), allows("a/1"), allows("a/10000")], [true, false, false]);
});

Deno.test("GitHostHealth pauses the host for an hour after five failures in a row of three owners", () => {
  const { clock, allows, fail, record } = openHealth();
  assertEquals(fail("a/1", "a/2", "b/1", "c/1"), Array(4).fill("repository"));
  assertEquals([allows("d/1"), fail("c/2"), allows("d/1")], [true, ["host"], false]);
  clock.advance(60 * MINUTE_MS - 1);
  assertEquals(allows("d/1"), false);
  clock.advance(1);
  assertEquals([allows("d/1"), fail("d/1")], [true, ["repository"]]);

  // Or for as long as a 429 says, and never for less than before.
  assertEquals(record("e/r", { kind: "rate-limited", retryAfterMs: 5000 }), "host");
  assertEquals(record("f/r", { kind: "rate-limited", retryAfterMs: 1000 }), "host");
  clock.advance(4999);
  assertEquals(allows("g/r"), false);
  clock.advance(1);
  assertEquals(allows("g/r"), true);
});

Deno.test("GitHostHealth starts the row anew after every answer, a 401 among them", () => {
  const results: LsRefsResult[] = [
    { kind: "missing", owner: "x", repo: "r", defaultBranch: "main" },
    { kind: "denied" },
  ];
  for (const result of results) {
    const { allows, fail, record } = openHealth();
    fail("0/r", "1/r", "2/r", "3/r");
    assertEquals([record("x/r", result), allows("x/r")], [undefined, true]);
    assertEquals(fail("4/r", "5/r", "6/r", "7/r"), Array(4).fill("repository"));
    assertEquals(fail("8/r"), ["host"]);
  }
});

Deno.test("a back-off of REST does not stop ls-refs", async () => {
  await using site = await start();
  const { gh, bridge, service: { clock } } = site;
  await freshnessOf(site);
  // Neither answer pauses the Git host, while all of REST backs off after failures of many owners.
  bridge.intercept = (request) =>
    request.url.includes("/octo/") ? null : new Response(null, { status: 401 });
  await gh.down();
  clock.advance(MINUTE_MS);
  for (const owner of ["one", "two", "three", "four", "five"]) {
    assertEquals(await freshnessOf(site, listPath({ owner })), [502, "source-failed"]);
  }
  gh.up();
  const another = () => freshnessOf(site, listPath({ owner: "six" }));
  assertEquals(await cost(site, another), [{}, 1], "REST is not requested");
  const list = async () =>
    assertEquals(await freshnessOf(site), ["a", "fwd=stale; detail=revalidated", "0"]);
  assertEquals(await cost(site, list), [{}, 1]);
});

Deno.test("a move is followed, and its target must be allowed too", async () => {
  for (const [allowed, expected] of [["", "a"], ["octo/site", 403], ["octo/*", "a"]] as const) {
    await using site = await start({ ALLOWED_REPOS: allowed });
    const { gh, service } = site;
    await freshnessOf(site);
    gh.rename("octo/site", "octo/moved");
    service.clock.advance(MINUTE_MS);
    assertEquals((await freshnessOf(site))[0], expected, allowed);
    if (expected === 403) continue;
    assertEquals((await service.item({ path: "posts/a.md" })).repository.repo, "site");
  }
});

Deno.test("40 hex digits are no commit id where repositories are allowed by name", async () => {
  await using site = await start({ ALLOWED_REPOS: "octo/*" });
  const commit = await site.repository.head();
  const { code } = await site.service.problem(itemPath({ path: "posts/a.md", branch: commit }));
  assertEquals([code, site.gh.counts()], ["branch-not-found", {}]);
});

Deno.test("a token is used while it is valid, and ls-refs from then on; GITHUB_GIT_URL=none leaves refs to REST", async () => {
  await using site = await start({ GITHUB_TOKEN: "t1", LOG_LEVEL: "silent" });
  const { gh, bridge, service: { clock } } = site;
  gh.addToken("t1");
  await freshnessOf(site);
  assertEquals(bridge.requests, []);
  gh.revokeToken("t1");
  clock.advance(MINUTE_MS);
  await freshnessOf(site);
  clock.advance(MINUTE_MS);
  assertEquals(await cost(site, () => freshnessOf(site)), [{}, 1]);

  await using none = await start({ GITHUB_GIT_URL: "none" });
  assertEquals(await cost(none, () => freshnessOf(none)), [{ commit: 1, ...COLD }, 0]);
});
