// Refs without a token, as the whole service requests them: Git's answers come
// from `git upload-pack`.

import { assert, assertEquals } from "@std/assert";
import { freshnessOf } from "../../http/freshness_of.ts";
import { listPath } from "../../service.ts";
import { startGitSite } from "../../site.ts";

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

Deno.test("a service without a token checks refs by ls-refs alone", async () => {
  await using site = await start();
  const { service: { clock, services } } = site;
  const list = () => freshnessOf(site);
  assertEquals(await cost(site, list), [COLD, 1]);
  clock.advance(MINUTE_MS);
  assertEquals(await cost(site, list), [{}, 1]);
  assertEquals(await freshnessOf(site), ["a", "hit; ttl=60", "0"]);
  await site.push({ "posts/b.md": "" });
  assertEquals(await cost(site, list), [COLD, 1]);
  assertEquals((await freshnessOf(site))[0], "a b");
  const metrics = services.metrics.toText();
  assert(
    metrics.includes('upstream_requests_total{kind="ls-refs",result="200"} 3'),
    metrics,
  );
});

Deno.test("REST is requested once for a tag or an id", async () => {
  await using site = await start();
  const { service: { clock }, repository } = site;
  const commit = await repository.head();
  const tree = (await repository.resolve("HEAD^{tree}"))!;
  await repository.tag("noted", { annotated: true });
  await repository.git("update-ref", "refs/tags/tree", tree);
  assertEquals(await cost(site, () => commitOf(site, "HEAD")), [COLD, 1]);
  assertEquals(await commitOf(site, "noted"), commit);
  for (const branch of ["HEAD", "noted", commit]) {
    const list = async () => assertEquals(await commitOf(site, branch), commit);
    clock.advance(MINUTE_MS);
    assertEquals(await cost(site, list), [{}, 1], branch);
  }
  for (
    const [branch, commits] of [["heads/main", 0], ["tree", 1], [
      "0".repeat(40),
      1,
    ]] as const
  ) {
    const list = async () =>
      assertEquals(await commitOf(site, branch), notFound(branch));
    const expected = [commits === 0 ? {} : { commit: commits }, 1];
    assertEquals(await cost(site, list), expected, branch);
    clock.advance(MINUTE_MS);
    assertEquals(await cost(site, list), expected, branch);
  }
});

Deno.test("an empty repository is empty only after REST confirms it", async () => {
  await using site = await start();
  site.gh.add("octo/empty", null);
  const { code } = await site.service.problem(listPath({ repo: "empty" }));
  assertEquals([code, site.gh.counts()], ["repository-empty", { commit: 1 }]);
});

Deno.test("a 401 is checked by REST, and nothing older is sent", async () => {
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

Deno.test("blocked repositories do not stop ls-refs for others", async () => {
  await using site = await start();
  const { gh, repository, service } = site;
  await freshnessOf(site);
  for (let n = 0; n < 6; n++) {
    gh.add(`blocked${n}/site`, repository, { blocked: 451 });
  }
  for (let n = 0; n < 6; n++) {
    const path = listPath({ owner: `blocked${n}` });
    assertEquals(await freshnessOf(site, path), [451, "repository-blocked"]);
  }
  service.clock.advance(MINUTE_MS);
  assertEquals(await cost(site, () => freshnessOf(site)), [{}, 1]);
  assertEquals(service.logLines("ls-refs paused"), []);
  gh.get("octo/site").blocked = 403;
  service.clock.advance(MINUTE_MS);
  assertEquals(await freshnessOf(site), [451, "repository-blocked"]);
});

Deno.test("refs are checked by ls-refs while every token waits", async () => {
  await using site = await start({ GITHUB_TOKEN: "t1", LOG_LEVEL: "silent" });
  const { gh, service: { clock, services } } = site;
  await freshnessOf(site);
  gh.fault = ({ token }) =>
    token === 0 ? { kind: "secondary429", retryAfterSeconds: 150 } : null;
  clock.advance(MINUTE_MS);
  await freshnessOf(site);
  await site.push({ "posts/b.md": "" });
  const list = async () => assertEquals((await freshnessOf(site))[0], "a b");
  assertEquals(await cost(site, list), [COLD, 1], "no request with the token");
  clock.advance(50_000);
  assertEquals(
    await cost(site, () => services.refreshDue()),
    [{}, 0],
    "not ahead of need",
  );
  gh.fault = null;
  clock.advance(50_000);
  assertEquals(await cost(site, list), [{ commit: 1, repo: 1 }, 0]);
});

Deno.test("an unchanged commit is fresh while the quota is spent", async () => {
  await using site = await startGitSite(FILES, {
    env: { MISSES_PER_MINUTE: "10" },
  });
  const { gh, service: { clock } } = site;
  await freshnessOf(site);
  gh.fault = { kind: "quota403", resetAtMs: clock.now() + 3_600_000 };
  clock.advance(MINUTE_MS);
  assertEquals(await freshnessOf(site), [
    "a",
    "fwd=stale; detail=revalidated",
    "0",
  ]);
  // Its age counts from the last check that found the older commit, however
  // many came after it.
  for (let minute = 1; minute <= 5; minute++) {
    await site.push({ [`posts/b${minute}.md`]: "" });
    for (let request = 0; request < 20; request++) {
      const [slugs, status, age] = await freshnessOf(site);
      assertEquals([slugs, age], ["a", `${60 * minute}`]);
      assertEquals(
        status,
        `hit; ttl=${60 - 60 * minute}; detail=stale-if-error`,
      );
    }
  }
  gh.fault = null;
  clock.advance(3_600_000);
  assertEquals((await freshnessOf(site))[0], "a b1 b2 b3 b4 b5");
});

Deno.test("a Git host that fails for three owners pauses an hour", async () => {
  await using site = await start();
  const { bridge, gh, repository, service } = site;
  const names = ["a/1", "A/2", "b/1", "c/1", "c/2", "d/1"];
  for (const name of names) gh.add(name, repository);
  const queries = async (name: string) => {
    const [owner = "", repo = ""] = name.split("/");
    return (await cost(site, () => service.get(listPath({ owner, repo }))))[1];
  };
  const failing = () => new Response("<html>");
  // An answer ends the row.
  for (const name of [...names.slice(0, 4), "octo/site", ...names.slice(1)]) {
    bridge.intercept = name === "octo/site" ? null : failing;
    await queries(name);
  }
  const paused = () =>
    service.logLines("ls-refs paused").map(({ of, seconds }) => [of, seconds]);
  assertEquals(paused().length, 6);
  assertEquals(new Set(paused().map(String)), new Set(["repository,600"]));

  service.clock.advance(10 * MINUTE_MS);
  for (const name of ["a/1", "b/1", "c/1"]) {
    assertEquals(await queries(name), 1);
  }
  assertEquals(paused().at(-1), ["host", 3600]);
  service.clock.advance(60 * MINUTE_MS - 1);
  assertEquals(await queries("d/1"), 0);
  service.clock.advance(1);
  assertEquals(await queries("octo/site"), 1);
});

Deno.test("a back-off of REST does not stop ls-refs", async () => {
  await using site = await start();
  const { gh, bridge, service: { clock } } = site;
  await freshnessOf(site);
  // It does not pause the Git host.
  bridge.intercept = () => new Response(null, { status: 401 });
  gh.fault = { kind: "status", status: 500 };
  clock.advance(MINUTE_MS);
  const list = () => freshnessOf(site);
  assertEquals(await cost(site, list), [{ commit: 2 }, 1]);
  assertEquals(
    await cost(site, list),
    [{}, 1],
    "REST is not requested again so soon",
  );
  bridge.intercept = null;
  assertEquals(
    await cost(site, async () => assertEquals((await list())[0], "a")),
    [{}, 1],
  );
});

Deno.test("a move is followed, and its target must be allowed too", async () => {
  for (
    const [allowed, expected] of [["", "a"], ["octo/site", 403], [
      "octo/*",
      "a",
    ]] as const
  ) {
    await using site = await start({ ALLOWED_REPOS: allowed });
    const { gh, service } = site;
    await freshnessOf(site);
    gh.rename("octo/site", "octo/moved");
    service.clock.advance(MINUTE_MS);
    assertEquals((await freshnessOf(site))[0], expected, allowed);
    if (expected === 403) continue;
    assertEquals(
      (await service.item({ path: "posts/a.md" })).repository.repo,
      "site",
    );
  }
});

Deno.test("a token is used while it is valid, then ls-refs", async () => {
  await using site = await start({ GITHUB_TOKEN: "t1", LOG_LEVEL: "silent" });
  const { gh, bridge, service: { clock, services } } = site;
  await freshnessOf(site);
  assertEquals(bridge.requests, []);
  gh.revokeToken("t1");
  clock.advance(MINUTE_MS);
  await freshnessOf(site);
  clock.advance(MINUTE_MS);
  assertEquals(await cost(site, () => freshnessOf(site)), [{}, 1]);
  clock.advance(MINUTE_MS - 1);
  await freshnessOf(site);
  assertEquals(await cost(site, () => services.refreshDue()), [{}, 0]);

  await using none = await start({ GITHUB_GIT_URL: "none" });
  assertEquals(await cost(none, () => freshnessOf(none)), [{
    commit: 1,
    ...COLD,
  }, 0]);
});
