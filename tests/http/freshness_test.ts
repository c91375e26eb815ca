// How old an answer may be, and what it says of that: `Age`, `Cache-Control` and `Cache-Status`, second by second.

import { assertEquals } from "@std/assert";
import { listPath } from "../service.ts";
import { startSite } from "../site.ts";
import { standingOf } from "./standing_of.ts";

Deno.test("an answer is kept for the 60 s of its branch, which are counted down", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const { service: { clock }, gh } = site;

  assertEquals(await standingOf(site), ["a", "fwd=miss; stored", "0"]);
  assertEquals(await standingOf(site), ["a", "hit; ttl=60", "0"]);
  clock.advance(17_999);
  assertEquals(await standingOf(site), ["a", "hit; ttl=43", "17"]);
  clock.advance(1);
  assertEquals(await standingOf(site), ["a", "hit; ttl=42", "18"]);
  clock.advance(41_999);
  gh.resetCounts();
  assertEquals(await standingOf(site), ["a", "hit; ttl=1", "59"]);
  assertEquals(gh.counts(), {});

  clock.advance(1);
  assertEquals(await standingOf(site), ["a", "fwd=stale; detail=revalidated", "0"]);
  assertEquals(gh.counts(), { commit: 1 });
  assertEquals(gh.requests[0]!.conditional, true);
  assertEquals(await standingOf(site), ["a", "hit; ttl=60", "0"]);
});

Deno.test("what was not asked before is a miss, though its branch is known", async () => {
  await using site = await startSite({ "posts/a.md": "", "pages/b.md": "" });
  const { clock } = site.service;
  await standingOf(site);
  clock.advance(20_000);

  assertEquals(await standingOf(site, listPath({ collection: "pages" })), [
    "b",
    "fwd=miss; stored",
    "20",
  ]);
  // The same files on a page of another size: nothing has to be asked for.
  assertEquals(await standingOf(site, listPath({ limit: 1 })), ["a", "hit; ttl=40", "20"]);
  clock.advance(40_000);
  assertEquals(await standingOf(site, listPath({ collection: "pages" })), [
    "b",
    "fwd=stale; detail=revalidated",
    "0",
  ]);
  assertEquals(await standingOf(site), ["a", "hit; ttl=60", "0"]);
});

Deno.test("a commit is shown 60 s after the last check, and not later", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const { service: { clock }, repository } = site;
  await standingOf(site);
  clock.advance(1_000);
  await repository.commit({ "posts/b.md": "" });

  clock.advance(58_999);
  assertEquals(await standingOf(site), ["a", "hit; ttl=1", "59"]);
  clock.advance(1);
  assertEquals(await standingOf(site), ["a b", "fwd=stale; stored", "0"]);
  assertEquals(await standingOf(site), ["a b", "hit; ttl=60", "0"]);
});

Deno.test("every answer of a branch moves on with it, though another one was asked first", async () => {
  await using site = await startSite({ "posts/a.md": "1" });
  const { service, repository } = site;
  const item = { path: "posts/a.md" };
  assertEquals((await service.item(item)).content, "1");
  await standingOf(site);
  await repository.commit({ "posts/a.md": "2" });

  service.clock.advance(60_000);
  await standingOf(site);

  assertEquals((await service.item(item)).content, "2");
});

Deno.test("Age counts from when the question was sent", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const { service: { clock }, gh } = site;
  gh.intercept = (_, { kind }) => {
    if (kind === "commit") clock.advance(5_000);
    return null;
  };

  assertEquals(await standingOf(site), ["a", "fwd=miss; stored", "5"]);
  clock.advance(54_999);
  assertEquals(await standingOf(site), ["a", "hit; ttl=1", "59"]);
  clock.advance(1);
  assertEquals(await standingOf(site), ["a", "fwd=stale; detail=revalidated", "5"]);
});

Deno.test("with a token a branch in use is checked ahead of need, so that nobody waits", async () => {
  await using site = await startSite({ "posts/a.md": "" }, { env: { GITHUB_TOKEN: "ghp_token" } });
  const { service: { clock, services }, gh } = site;
  gh.addToken("ghp_token");
  await standingOf(site);

  clock.advance(49_999);
  await standingOf(site);
  await services.refreshDue();
  assertEquals(await standingOf(site), ["a", "hit; ttl=11", "49"]);
  clock.advance(1);
  await services.refreshDue();
  assertEquals(await standingOf(site), ["a", "hit; ttl=60", "0"]);

  // Nobody asked since: it is left alone.
  clock.advance(50_000);
  gh.resetCounts();
  await services.refreshDue();
  assertEquals(gh.counts(), {});
});
