// How often files are read for a sort by front matter: once a blob id, over commits, restarts and queries.

import { assertEquals } from "@std/assert";
import { generateFiles } from "../github/generated_files.ts";
import { watchBlobs } from "../github/served_repository.ts";
import { openFile } from "../kv_connect/shared_stores.ts";
import { startService } from "../service.ts";
import { startSite } from "../site.ts";

const POSTS = [...generateFiles({ folders: 3, filesPerFolder: 100 })];
const ENV = { GITHUB_TOKEN: "token" };
const NEWEST = { sort: "-frontMatter.date", limit: 10, includeFrontMatter: true };

Deno.test("a sort by front matter reads each file once, after a commit what it changed, after a restart nothing", async () => {
  await using store = await openFile();
  await using site = await startSite(POSTS, { env: ENV, kv: await store.open() });
  const { service, gh, repository } = site;
  gh.addToken("token");
  const requested = watchBlobs(gh);
  const { items } = await service.list(NEWEST);
  const dates = POSTS.map(([, text]) => /^date: (.*)$/m.exec(text)![1]!);
  const newest = dates.toSorted().toReversed().slice(0, 10);
  assertEquals(items.map(({ frontMatter }) => frontMatter?.date), newest);
  assertEquals(requested.length, 300);

  requested.length = 0;
  const path = "posts/d001/post-00002.md";
  await repository.commit({ [path]: "---\ndate: zzz\n---\n" });
  service.clock.advance(60_000);
  const before = await service.list(NEWEST);
  assertEquals([before.items[0]?.path, before.items[0]?.frontMatter], [path, { date: "zzz" }]);
  assertEquals(requested, [await repository.resolve(`main:${path}`)]);

  await service.services.close();
  gh.resetCounts();
  const kv = await store.open();
  await using again = await startService({ env: ENV, github: gh, clock: service.clock, kv });
  assertEquals(await again.list(NEWEST), before);
  await again.list({ ...NEWEST, sort: "frontMatter.title", page: 7 });
  assertEquals(Object.keys(gh.counts()).toSorted(), ["commit", "repo"]);
});
