// How often a file is read for its front matter: once a blob id, over commits, restarts and queries.

import { assertEquals } from "@std/assert";
import { watchBlobs } from "../github/served_repository.ts";
import { startService } from "../service.ts";
import { startSite } from "../site.ts";
import { writePosts } from "./three_thousand_posts.ts";

const ENV = { GITHUB_TOKEN: "token" };
const NEWEST = { sort: "-frontMatter.date", limit: 10, includeFrontMatter: true };

Deno.test("after a commit that changes one file, one file is read again", async () => {
  await using site = await startSite(writePosts(300), { env: ENV });
  const { service, gh, repository } = site;
  gh.addToken("token");
  const requested = watchBlobs(gh);
  await service.list(NEWEST);
  assertEquals(requested.length, 300);
  requested.length = 0;

  const path = "posts/2018/post-2.md";
  await repository.commit({ [path]: "---\ndate: zzz\n---\n" });
  service.clock.advance(60_000);
  const { items } = await service.list(NEWEST);

  assertEquals([items[0]?.path, items[0]?.frontMatter], [path, { date: "zzz" }]);
  assertEquals(requested, [await repository.git("rev-parse", `main:${path}`)]);
});

Deno.test("after a restart on the same store no file is read again", async () => {
  const dir = await Deno.makeTempDir({ prefix: "cached_front_matter_" });
  const openStore = () => Deno.openKv(`${dir}/store.sqlite`);
  await using site = await startSite(writePosts(300), { env: ENV, kv: await openStore() });
  const { service, gh } = site;
  gh.addToken("token");
  const requested = watchBlobs(gh);
  const before = await service.list(NEWEST);
  await service.services.close();
  requested.length = 0;
  gh.resetCounts();

  const again = await startService({
    env: ENV,
    github: gh,
    clock: service.clock,
    kv: await openStore(),
  });
  assertEquals(await again.list(NEWEST), before);
  assertEquals(
    await again.list({ ...NEWEST, sort: "frontMatter.title", page: 7 }).then(({ items }) =>
      items.length
    ),
    10,
  );
  assertEquals(requested, []);
  const { commit: _commit, repo: _repo, ...counts } = gh.counts();
  assertEquals(counts, {}, "nothing but the branch is requested");
  await again[Symbol.asyncDispose]();
  await Deno.remove(dir, { recursive: true });
});
