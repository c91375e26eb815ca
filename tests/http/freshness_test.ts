// How old a response may be, and its headers for that: `Age`, `Cache-Control`
// and `Cache-Status`, second by second. Each kind of outage is in
// tests/source/outage_test.ts.

import { assertEquals } from "@std/assert";
import { sourceFailed } from "../../lib/errors.ts";
import { makeSampleFolder } from "../local/sample_folder.ts";
import { listPath, startService } from "../service.ts";
import { startSite } from "../site.ts";
import { freshnessOf } from "./freshness_of.ts";

Deno.test("a response is a hit for the 60 s of its branch", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const { service: { clock }, gh } = site;

  assertEquals(await freshnessOf(site), ["a", "fwd=miss; stored", "0"]);
  assertEquals(await freshnessOf(site), ["a", "hit; ttl=60", "0"]);
  clock.advance(17_999);
  assertEquals(await freshnessOf(site), ["a", "hit; ttl=43", "17"]);
  clock.advance(1);
  assertEquals(await freshnessOf(site), ["a", "hit; ttl=42", "18"]);
  clock.advance(41_999);
  gh.resetCounts();
  assertEquals(await freshnessOf(site), ["a", "hit; ttl=1", "59"]);
  assertEquals(gh.counts(), {});

  clock.advance(1);
  assertEquals(await freshnessOf(site), [
    "a",
    "fwd=stale; detail=revalidated",
    "0",
  ]);
  assertEquals(gh.counts(), { commit: 1 });
  assertEquals(gh.requests[0]!.conditional, true);
  assertEquals(await freshnessOf(site), ["a", "hit; ttl=60", "0"]);

  clock.setWallClock(clock.now() - 1);
  assertEquals(await freshnessOf(site), [
    "a",
    "fwd=stale; detail=revalidated",
    "0",
  ]);
});

Deno.test("a commit is shown in every response after 60 s", async () => {
  await using site = await startSite({ "posts/a.md": "1" });
  const { service, repository } = site;
  const { clock } = service;
  const item = { path: "posts/a.md" };
  await freshnessOf(site);
  assertEquals((await service.item(item)).content, "1");
  clock.advance(1_000);
  await repository.commit({ "posts/a.md": "2", "posts/b.md": "" });

  clock.advance(58_999);
  assertEquals(await freshnessOf(site), ["a", "hit; ttl=1", "59"]);
  clock.advance(1);
  assertEquals(await freshnessOf(site), ["a b", "fwd=stale; stored", "0"]);
  assertEquals((await service.item(item)).content, "2");
  await site.push({ "posts/a.md": null, "posts/b.md": null, "c.md": "" });
  assertEquals(
    await freshnessOf(site),
    [404, "collection-not-found"],
    "no older response",
  );
});

Deno.test("Age counts from when the check was sent", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const { service: { clock }, gh } = site;
  gh.intercept = (_, { kind }) => {
    if (kind === "commit") clock.advance(5_000);
    return null;
  };

  assertEquals(await freshnessOf(site), ["a", "fwd=miss; stored", "5"]);
  clock.advance(54_999);
  assertEquals(await freshnessOf(site), ["a", "hit; ttl=1", "59"]);
  clock.advance(1);
  assertEquals(await freshnessOf(site), [
    "a",
    "fwd=stale; detail=revalidated",
    "5",
  ]);
});

Deno.test("a response that takes longer than its check is checked", async () => {
  const rows: [branch: string, ...expected: string[]][] = [
    ["unchanged", "b", "fwd=miss; stored", "0"],
    ["moved", "b c", "fwd=stale; stored", "0"],
    ["failing", "b", "hit; ttl=-2; detail=stale-if-error", "62"],
  ];
  for (const [branch, ...expected] of rows) {
    await using site = await startSite({
      "posts/a.md": "A\n",
      "pages/b.md": "B\n",
    });
    const { service: { clock }, gh } = site;
    await freshnessOf(site);
    if (branch === "moved") {
      await site.repository.commit({ "pages/c.md": "C\n" });
    }
    clock.advance(59_000);
    let trees = 0;
    gh.intercept = (_request, { kind }) => {
      if (kind === "tree-recursive" && ++trees === 1) clock.advance(3_000);
      return null;
    };
    if (branch === "failing") {
      gh.fault = { kind: "status", status: 500, only: ["commit"] };
    }

    assertEquals(
      await freshnessOf(site, listPath({ collection: "pages" })),
      expected,
    );
  }
});

Deno.test("a response is made again if the branch is renamed", async () => {
  const checkout = { ".git/HEAD": "ref: refs/heads/main\n", "a.md": "" };
  await using folder = await makeSampleFolder(checkout);
  await using service = await startService({
    env: { LOCAL_REPOS_DIR: folder.root },
  });
  const source = service.services.sourceOf("local");
  const branches: string[] = [];
  const files = source.files.bind(source);
  source.files = async (snapshot, treeId, context) => {
    if (branches.push(snapshot.branch) === 1) {
      await folder.write(".git/HEAD", "ref: refs/heads/draft\n");
      service.clock.advance(60_000);
    }
    return await files(snapshot, treeId, context);
  };

  const { repository } = await service.list({
    owner: "local",
    repo: "blog",
    collection: "/",
  });

  assertEquals(branches, ["main", "draft"]);
  assertEquals(repository.branch, "draft");
});

Deno.test("no response of another branch is an older one", async () => {
  await using folder = await makeSampleFolder({ "a.md": "" });
  await using service = await startService({
    env: { LOCAL_REPOS_DIR: folder.root },
  });
  const local = { owner: "local", repo: "blog", collection: "/" };
  await service.list(local);
  service.services.sourceOf("local").files = () =>
    Promise.reject(sourceFailed("no"));
  await folder.write(".git/HEAD", "ref: refs/heads/draft\n");
  service.clock.advance(60_000);
  assertEquals((await service.get(listPath(local))).status, 502);
});

Deno.test("an older response is sent if the new one cannot be made", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const { service: { clock }, gh, repository } = site;
  await freshnessOf(site);
  await repository.commit({ "posts/b.md": "" });
  gh.fault = { kind: "status", status: 500, only: ["tree", "tree-recursive"] };

  clock.advance(60_000);
  const first = ["a", "hit; ttl=0; detail=stale-if-error", "60"];
  assertEquals(await freshnessOf(site), first);
  clock.advance(1_000);
  const again = ["a", "hit; ttl=-1; detail=stale-if-error", "61"];
  assertEquals(await freshnessOf(site), again);

  gh.fault = null;
  clock.advance(4_000);
  assertEquals(await freshnessOf(site), ["a b", "fwd=miss; stored", "5"]);

  await repository.commit({ "posts/c.md": "" });
  gh.fault = { kind: "status", status: 500, only: ["tree", "tree-recursive"] };
  clock.advance(24 * 3_600_000 - 5_000);
  const older = ["a b", "hit; ttl=-86340; detail=stale-if-error", "86400"];
  assertEquals(await freshnessOf(site), older);
  clock.advance(60_000);
  assertEquals(
    await freshnessOf(site),
    [502, "source-failed"],
    "for no more than a day",
  );
});
