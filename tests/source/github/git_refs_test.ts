// Refs without a token, as the whole service requests them: Git's answers come from `git upload-pack`.

import { assert, assertEquals } from "@std/assert";
import { freshnessOf } from "../../http/freshness_of.ts";
import { itemPath, listPath } from "../../service.ts";
import { startGitSite } from "../../site.ts";

const MINUTE_MS = 60_000;
const FILES = { "posts/a.md": "" };

function start(options: Parameters<typeof startGitSite>[1] = {}) {
  return startGitSite(FILES, { ...options, env: { MISSES_PER_MINUTE: "0", ...options.env } });
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

Deno.test("a service without a token checks refs by ls-refs alone, and reads at REST what changed", async () => {
  await using site = await start();
  const { service: { clock }, repository } = site;
  const ask = () => freshnessOf(site);
  assertEquals(await cost(site, ask), [{ tree: 1, "tree-recursive": 1 }, 1]);
  clock.advance(MINUTE_MS);
  assertEquals(await cost(site, ask), [{}, 1]);
  assertEquals(await freshnessOf(site), ["a", "hit; ttl=60", "0"]);
  await repository.commit({ "posts/b.md": "" });
  clock.advance(MINUTE_MS);
  assertEquals(await cost(site, ask), [{ tree: 1, "tree-recursive": 1 }, 1]);
  assertEquals((await freshnessOf(site))[0], "a b");
  const metrics = site.service.services.metrics.toText();
  assert(metrics.includes('upstream_requests_total{kind="ls-refs",result="200"} 3'), metrics);
});

Deno.test("branches with slashes, tags, HEAD and commit ids resolve as they do by REST", async () => {
  await using site = await start();
  const { gh, repository } = site;
  const first = await repository.head();
  const second = await repository.commit({ "posts/b.md": "" }, { branch: "feature/x" });
  await repository.branch("both", second);
  await repository.tag("both", { at: first });
  await repository.tag("noted", { at: second, annotated: true });
  const refs = { "feature/x": second, both: second, noted: second, HEAD: first, [second]: second };
  for (const [branch, commit] of Object.entries(refs)) {
    assertEquals(await commitOf(site, branch), commit, branch);
  }
  assertEquals(
    gh.counts().commit,
    1,
    "the type of what the tag names alone; so the id is known too",
  );
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
    const asked = await cost(site, async () =>
      assertEquals(
        await commitOf(site, absent),
        `branch-not-found: The repository has no branch or tag "${absent}". The default branch is "main".`,
      ));
    assertEquals(asked, [{ commit: 1 }, 1]);
    clock.advance(MINUTE_MS);
  }
});

Deno.test("what names no commit is branch-not-found, with the default branch's name", async () => {
  await using site = await start();
  const { repository } = site;
  const tree = (await repository.resolve("HEAD^{tree}"))!;
  await repository.git("update-ref", "refs/tags/tree", tree);
  for (const branch of ["absent", "heads/main", "tree"]) {
    assertEquals(
      await commitOf(site, branch),
      `branch-not-found: The repository has no branch or tag "${branch}". The default branch is "main".`,
    );
  }
});

Deno.test("an empty repository counts as empty only after REST confirms it, and a removed ref is missing within 60 s", async () => {
  await using site = await start();
  const { gh, repository, service: { clock } } = site;
  gh.addEmpty("octo/empty");
  const { code } = await site.service.problem(listPath({ repo: "empty" }));
  assertEquals([code, gh.counts().commit], ["repository-empty", 1]);

  await repository.branch("soon");
  await freshnessOf(site, listPath({ branch: "soon" }));
  await repository.deleteBranch("soon");
  clock.advance(MINUTE_MS - 1);
  assertEquals((await freshnessOf(site, listPath({ branch: "soon" })))[0], "a");
  clock.advance(1);
  const gone = [404, "branch-not-found"];
  assertEquals(await freshnessOf(site, listPath({ branch: "soon" })), gone);
  await repository.branch("soon");
  clock.advance(MINUTE_MS);
  assertEquals((await freshnessOf(site, listPath({ branch: "soon" })))[0], "a");
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

Deno.test("a host that gives anything unexpected is left alone, its repositories are read by REST", async () => {
  await using site = await start();
  const { gh, bridge, repository, service: { clock } } = site;
  for (const owner of ["one", "two", "three"]) gh.add(`${owner}/site`, repository);
  const ask = (owner: string) => freshnessOf(site, listPath({ owner }));
  bridge.intercept = () => new Response("<html>");
  assertEquals(await cost(site, () => ask("octo")), [
    { commit: 1, tree: 1, "tree-recursive": 1 },
    1,
  ]);
  bridge.intercept = null;
  clock.advance(9 * MINUTE_MS);
  assertEquals(await cost(site, () => ask("octo")), [{ commit: 1 }, 0], "for 10 minutes");
  clock.advance(MINUTE_MS);
  assertEquals(await cost(site, () => ask("octo")), [{}, 1]);

  await bridge.down();
  for (const owner of ["one", "two", "three", "octo"]) {
    clock.advance(MINUTE_MS);
    await ask(owner);
  }
  clock.advance(10 * MINUTE_MS);
  await ask("one");
  bridge.up();
  clock.advance(59 * MINUTE_MS);
  assertEquals((await cost(site, () => ask("two")))[1], 0, "the whole host, for an hour");
  assertEquals(site.service.logLines("ls-refs paused").map(({ of }) => of).at(-1), "host");
  clock.advance(MINUTE_MS);
  assertEquals(await cost(site, () => ask("two")), [{}, 1]);

  bridge.intercept = () => new Response(null, { status: 429, headers: { "retry-after": "120" } });
  clock.advance(MINUTE_MS);
  await ask("one");
  bridge.intercept = null;
  clock.advance(119_999);
  assertEquals((await cost(site, () => ask("three")))[1], 0);
  clock.advance(MINUTE_MS);
  assertEquals((await cost(site, () => ask("three")))[1], 1);
});

Deno.test("a query that is not answered ends in time, and REST answers", async () => {
  await using site = await start();
  const { bridge, service: { clock } } = site;
  const asked = Promise.withResolvers<void>();
  const never = Promise.withResolvers<Response>();
  bridge.intercept = () => {
    asked.resolve();
    return never.promise;
  };
  const answer = freshnessOf(site);
  await asked.promise;
  clock.advance(10_000);
  assertEquals((await answer)[0], "a");
  assertEquals(site.gh.counts().commit, 1);
  never.resolve(new Response());
});

Deno.test("a back-off of REST does not stop ls-refs", async () => {
  await using site = await start();
  const { gh, bridge, repository, service: { clock } } = site;
  const owners = ["one", "two", "three", "four", "five"];
  for (const owner of owners) gh.add(`${owner}/site`, repository);
  await freshnessOf(site);
  // Each repository is paused alone: a success between starts the row of failures anew.
  bridge.intercept = (request) =>
    request.url.includes("/octo/") ? null : new Response(null, { status: 500 });
  await gh.down();
  clock.advance(MINUTE_MS);
  for (const [index, owner] of owners.entries()) {
    assertEquals(await freshnessOf(site, listPath({ owner })), [502, "source-failed"]);
    if (index % 2 === 1) await freshnessOf(site, listPath({ branch: `absent-${index}` }));
  }
  for (const owner of ["six", "seven", "eight", "nine", "ten"]) {
    bridge.intercept = () => new Response(null, { status: 401 });
    assertEquals((await freshnessOf(site, listPath({ owner })))[0], 502);
  }
  bridge.intercept = null;
  assertEquals(
    await cost(
      site,
      async () =>
        assertEquals(await freshnessOf(site), ["a", "fwd=stale; detail=revalidated", "0"]),
    ),
    [{}, 1],
  );
});

Deno.test("a move is followed, and its target must be allowed too", async () => {
  for (const [allowed, expected] of [["", "a"], ["octo/site", 403], ["octo/*", "a"]] as const) {
    await using site = await start({ env: { ALLOWED_REPOS: allowed } });
    const { gh, service: { clock } } = site;
    await freshnessOf(site);
    gh.rename("octo/site", "octo/moved");
    clock.advance(MINUTE_MS);
    assertEquals((await freshnessOf(site))[0], expected, allowed);
    if (expected === 403) continue;
    const item = await site.service.item({ path: "posts/a.md" });
    assertEquals(item.repository.repo, "site");
  }
});

Deno.test("40 hex digits are no commit id where repositories are allowed by name", async () => {
  await using site = await start({ env: { ALLOWED_REPOS: "octo/*" } });
  const commit = await site.repository.head();
  const { code } = await site.service.problem(itemPath({ path: "posts/a.md", branch: commit }));
  assertEquals([code, site.gh.counts()], ["branch-not-found", {}]);
});

Deno.test("a token is used while it is valid, and ls-refs from then on", async () => {
  await using site = await start({ env: { GITHUB_TOKEN: "t1", LOG_LEVEL: "silent" } });
  const { gh, bridge, service: { clock } } = site;
  gh.addToken("t1");
  await freshnessOf(site);
  assertEquals(bridge.requests, []);
  gh.revokeToken("t1");
  clock.advance(MINUTE_MS);
  await freshnessOf(site);
  clock.advance(MINUTE_MS);
  assertEquals(await cost(site, () => freshnessOf(site)), [{}, 1]);
});

Deno.test("GITHUB_GIT_URL=none leaves refs to REST", async () => {
  await using site = await start({ env: { GITHUB_GIT_URL: "none" } });
  assertEquals(
    await cost(site, () => freshnessOf(site)),
    [{ commit: 1, tree: 1, "tree-recursive": 1 }, 0],
  );
});
