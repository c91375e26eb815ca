// Refs without a token, as the whole service requests them: Git's answers come
// from `git upload-pack`.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { freshnessOf } from "../../http/freshness_of.ts";
import { listPath } from "../../service.ts";
import { startGitSite } from "../../site.ts";

const MINUTE_MS = 60_000;
const FILES = { "posts/a.md": "" };
const COLD = { tree: 1, "tree-recursive": 1 };
const NO_ID = "0".repeat(40);

function start(env: Record<string, string> = {}) {
  return startGitSite(FILES, { env: { MISSES_PER_MINUTE: "0", ...env } });
}
type GitSite = Awaited<ReturnType<typeof start>>;

/** What some work costs: REST requests by kind, and queries of the Git host. */
async function cost({ gh, bridge }: GitSite, work: () => Promise<unknown>) {
  gh.resetCounts();
  bridge.requests.length = 0;
  await work();
  return { ...gh.counts(), lsRefs: bridge.requests.length };
}

/** The slugs of the list, or the status of a problem. */
const shown = async (site: GitSite) => (await freshnessOf(site))[0];

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
  assertEquals(await cost(site, list), { ...COLD, lsRefs: 1 });
  clock.advance(MINUTE_MS);
  assertEquals(await cost(site, list), { lsRefs: 1 });
  assertEquals(await list(), ["a", "hit; ttl=60", "0"]);
  await site.push({ "posts/b.md": "" });
  assertEquals(await cost(site, list), { ...COLD, lsRefs: 1 });
  assertEquals(await shown(site), "a b");
  const metrics = services.metrics.toText();
  assertStringIncludes(
    metrics,
    'upstream_requests_total{kind="ls-refs",result="200"} 3',
  );
});

Deno.test("REST is requested once for a tag or an id", async () => {
  await using site = await start();
  const { service: { clock }, repository } = site;
  const commit = await repository.head();
  const tree = (await repository.resolve("HEAD^{tree}"))!;
  await repository.tag("noted", { annotated: true });
  await repository.git("update-ref", "refs/tags/tree", tree);
  for (const branch of ["HEAD", "noted", commit]) {
    assertEquals(await commitOf(site, branch), commit);
    clock.advance(MINUTE_MS);
    const again = () => commitOf(site, branch);
    assertEquals(await cost(site, again), { lsRefs: 1 }, branch);
  }
  const absent = {
    "heads/main": { lsRefs: 1 },
    "tree": { commit: 1, lsRefs: 1 },
    [NO_ID]: { commit: 1, lsRefs: 1 },
  };
  for (const [branch, requests] of Object.entries(absent)) {
    for (let times = 0; times < 2; times++) {
      const list = async () =>
        assertEquals(await commitOf(site, branch), notFound(branch));
      assertEquals(await cost(site, list), requests, branch);
      clock.advance(MINUTE_MS);
    }
  }
});

Deno.test("an empty repository is empty only after REST confirms it", async () => {
  await using site = await start();
  site.gh.add("octo/empty", null);
  const { code } = await site.service.problem(listPath({ repo: "empty" }));
  assertEquals([code, site.gh.counts()], ["repository-empty", { commit: 1 }]);
});

Deno.test("nothing older is sent after a 401 while REST fails", async () => {
  await using site = await start();
  const { gh, service: { clock } } = site;
  await freshnessOf(site);
  gh.setVisibility("octo/site", "private");
  gh.fault = { kind: "quota403" };
  clock.advance(MINUTE_MS);
  assertEquals(await freshnessOf(site), [503, "source-rate-limited"]);
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
  const list = async () => assertEquals(await shown(site), "a b");
  assertEquals(await cost(site, list), { ...COLD, lsRefs: 1 });
  clock.advance(50_000);
  const refresh = () => services.everySecond();
  assertEquals(await cost(site, refresh), { lsRefs: 0 }, "not ahead of need");
  gh.fault = null;
  clock.advance(50_000);
  assertEquals(await cost(site, list), { commit: 1, repo: 1, lsRefs: 0 });
});

Deno.test("older lists are sent while the quota is spent", async () => {
  await using site = await start();
  const { gh, service: { clock } } = site;
  await freshnessOf(site);
  gh.fault = { kind: "quota403", resetAtMs: clock.now() + 3_600_000 };
  await site.push({ "posts/b.md": "" });
  const how = "hit; ttl=0; detail=stale-if-error";
  assertEquals(await freshnessOf(site), ["a", how, "60"]);
  // Its age counts from the last check that found the older commit.
  await site.push({ "posts/c.md": "" });
  const later = "hit; ttl=-60; detail=stale-if-error";
  assertEquals(await freshnessOf(site), ["a", later, "120"]);
  gh.fault = null;
  clock.advance(3_600_000);
  assertEquals(await shown(site), "a b c");
});

Deno.test("a Git host that fails for three owners pauses an hour", async () => {
  await using site = await start();
  const { bridge, gh, repository, service: { clock } } = site;
  const queries = async (name: string) => {
    gh.add(name, repository);
    const [owner = "", repo = ""] = name.split("/");
    const list = () => site.service.get(listPath({ owner, repo }));
    return (await cost(site, list)).lsRefs;
  };
  for (const name of ["a/1", "A/2", "b/1", "c/1", "fine/1", "c/2", "d/1"]) {
    // An answer ends the row.
    const isFine = name === "fine/1";
    bridge.intercept = isFine ? null : () => new Response("<html>");
    assertEquals(await queries(name), 1);
  }
  for (const name of ["e/1", "f/1", "f/2"]) {
    assertEquals(await queries(name), 1);
  }
  clock.advance(60 * MINUTE_MS - 1);
  assertEquals(await queries("g/1"), 0);
  clock.advance(1);
  assertEquals(await queries("g/2"), 1);
});

Deno.test("a back-off of REST does not stop ls-refs", async () => {
  await using site = await start();
  const { gh, bridge, service: { clock } } = site;
  const list = async () => assertEquals(await shown(site), "a");
  await list();
  // It does not pause the Git host.
  bridge.intercept = () => new Response(null, { status: 401 });
  gh.fault = { kind: "status", status: 500 };
  clock.advance(MINUTE_MS);
  const older = () => shown(site);
  assertEquals(await cost(site, older), { commit: 2, lsRefs: 1 });
  assertEquals(await cost(site, older), { lsRefs: 1 }, "REST waits");
  bridge.intercept = null;
  assertEquals(await cost(site, list), { lsRefs: 1 });
});

Deno.test("a move is followed, and its target must be allowed too", async () => {
  const rows = { "": "a", "octo/site": 403, "octo/*": "a" };
  for (const [allowed, expected] of Object.entries(rows)) {
    await using site = await start({ ALLOWED_REPOS: allowed });
    await freshnessOf(site);
    site.gh.rename("octo/site", "octo/moved");
    site.service.clock.advance(MINUTE_MS);
    assertEquals(await shown(site), expected, allowed);
  }
});
