// What is sent when the source fails, denies what was known or has no quota left.

import { assertEquals } from "@std/assert";
import type { GithubDouble } from "../github/github_double.ts";
import { timeOutHangs } from "../github/time_out_hangs.ts";
import { itemPath, listPath } from "../service.ts";
import { type Site, startSite } from "../site.ts";
import { freshnessOf } from "./freshness_of.ts";

const DAY_MS = 24 * 3_600_000;

const FAILURES: readonly [problem: [number, string], fail: (gh: GithubDouble) => unknown][] = [
  [[502, "source-failed"], (gh) => gh.fault = { kind: "status", status: 500 }],
  [[502, "source-failed"], (gh) => gh.fault = { kind: "status", status: 418 }],
  [[502, "source-failed"], (gh) => gh.fault = { kind: "garbage" }],
  [[502, "source-failed"], (gh) => gh.down()],
  [[503, "source-rate-limited"], (gh) => gh.fault = { kind: "quota403" }],
  [[503, "source-rate-limited"], (gh) => gh.fault = { kind: "secondary429" }],
  [[504, "source-timeout"], (gh) => gh.fault = { kind: "hang" }],
];

for (const [index, [problem, fail]] of FAILURES.entries()) {
  Deno.test(`an older response is sent instead of ${problem[1]} for a day, failure ${index + 1}`, async () => {
    await using site = await startSite({ "posts/a.md": "" });
    const { service: { clock }, gh } = site;
    timeOutHangs(clock, gh);
    await freshnessOf(site);
    await fail(gh);

    clock.advance(59_000);
    assertEquals(await freshnessOf(site), ["a", "hit; ttl=1", "59"]);
    clock.advance(311_000);
    assertEquals(await freshnessOf(site), ["a", "hit; ttl=-310; detail=stale-if-error", "370"]);
    clock.advance(DAY_MS - 370_001);
    assertEquals((await freshnessOf(site))[1], "hit; ttl=-86339; detail=stale-if-error");
    clock.advance(1);
    assertEquals(await freshnessOf(site), problem);
  });
}

Deno.test("after a failure the source is checked again as soon as the back-off is over", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const { service: { clock }, gh, repository } = site;
  await freshnessOf(site);
  await repository.commit({ "posts/b.md": "" });
  gh.fault = { kind: "status", status: 503 };
  clock.advance(60_000);
  assertEquals(await freshnessOf(site), ["a", "hit; ttl=0; detail=stale-if-error", "60"]);
  gh.fault = null;
  gh.resetCounts();

  clock.advance(4_999);
  assertEquals(await freshnessOf(site), ["a", "hit; ttl=-4; detail=stale-if-error", "64"]);
  assertEquals(gh.counts(), {});
  clock.advance(1);
  assertEquals(await freshnessOf(site), ["a b", "fwd=stale; stored", "0"]);
});

Deno.test("what the source denies is not sent after 60 s, nor while it then fails", async () => {
  const denials: [expected: [number, string], deny: (site: Site) => void][] = [
    [[404, "repository-not-found"], ({ gh }) => gh.remove("octo/site")],
    [[404, "repository-not-found"], ({ gh }) => gh.setVisibility("octo/site", "private")],
    [[404, "repository-not-found"], ({ gh }) => gh.addBlocked("octo/site", { status: 403 })],
    [[451, "repository-blocked"], ({ gh }) => gh.addBlocked("octo/site")],
    [[409, "repository-empty"], ({ gh }) => gh.addEmpty("octo/site")],
    [[404, "branch-not-found"], ({ repository }) => repository.deleteBranch("main")],
  ];
  for (const [expected, deny] of denials) {
    await using site = await startSite({ "posts/a.md": "" });
    const { service: { clock }, gh, repository } = site;
    await repository.branch("other");
    await freshnessOf(site);
    await deny(site);
    clock.advance(60_000);
    assertEquals(await freshnessOf(site), expected);
    gh.resetCounts();

    // Cached like any other answer, and never replaced by the older one when the source fails.
    clock.advance(59_999);
    assertEquals(await freshnessOf(site), expected);
    assertEquals(gh.counts(), {});
    clock.advance(1);
    gh.fault = { kind: "status", status: 500 };
    assertEquals((await freshnessOf(site))[0] === "a", false);
  }
});

Deno.test("a spent quota stops every repository at once, and only what is new", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const { service, gh } = site;
  await freshnessOf(site);
  gh.fault = { kind: "secondary403", retryAfterSeconds: 100 };
  assertEquals(await freshnessOf(site, listPath({ repo: "new" })), [503, "source-rate-limited"]);
  gh.fault = null;
  gh.resetCounts();

  service.clock.advance(10_000);
  const response = await service.get(itemPath({ repo: "newer", path: "a" }));

  assertEquals([response.status, response.headers.get("retry-after")], [503, "90"]);
  assertEquals(await freshnessOf(site), ["a", "hit; ttl=50", "10"]);
  assertEquals(gh.counts(), {});
});

Deno.test("an older response is sent where a new commit is known and cannot be read yet", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const { service: { clock }, gh, repository } = site;
  await freshnessOf(site);
  await repository.commit({ "posts/b.md": "" });
  gh.fault = { kind: "status", status: 500, only: ["tree", "tree-recursive"] };

  clock.advance(60_000);
  assertEquals(await freshnessOf(site), ["a", "hit; ttl=0; detail=stale-if-error", "60"]);
  clock.advance(1_000);
  assertEquals(await freshnessOf(site), ["a", "hit; ttl=-1; detail=stale-if-error", "61"]);

  gh.fault = null;
  clock.advance(4_000);
  assertEquals(await freshnessOf(site), ["a b", "fwd=miss; stored", "5"]);
});

Deno.test("a failure before anything is known is a problem, and soon tried again", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const { service: { clock }, gh } = site;
  gh.fault = { kind: "status", status: 500 };
  assertEquals(await freshnessOf(site), [502, "source-failed"]);
  gh.fault = null;
  gh.resetCounts();

  clock.advance(4_999);
  assertEquals(await freshnessOf(site), [502, "source-failed"]);
  assertEquals(gh.counts(), {});
  clock.advance(1);
  assertEquals(await freshnessOf(site), ["a", "fwd=miss; stored", "0"]);
});

Deno.test("an older page that lacks a file is not stored by any cache", async () => {
  await using site = await startSite({ "posts/a.md": "A\n" });
  const { service, gh } = site;
  await service.list();
  gh.fault = { kind: "status", status: 500 };
  service.clock.advance(60_000);

  for (let time = 0; time < 2; time++) {
    const response = await service.get(listPath({ includeContent: true }));
    assertEquals([response.status, response.headers.get("cache-control")], [200, "no-store"]);
    assertEquals(
      response.headers.get("cache-status"),
      "collections; hit; ttl=0; detail=stale-if-error",
    );
    const { items: [item] } = await response.json();
    assertEquals([item.name, item.error.code], ["a.md", "source-failed"]);
  }
  gh.fault = null;
  service.clock.advance(60_000);
  assertEquals((await service.list({ includeContent: true })).items[0]!.content, "A\n");
});
