// How often files are read for a sort by front matter: once a blob id, over commits, restarts and queries, also where
// the collection is not ready in time.

import { assertEquals } from "@std/assert";
import { generateFiles } from "../github/generated_files.ts";
import { watchBlobs } from "../github/served_repository.ts";
import { openFile } from "../kv_connect/shared_stores.ts";
import { listPath, startService } from "../service.ts";
import { startSite } from "../site.ts";

const POSTS = [...generateFiles({ folders: 3, filesPerFolder: 100 })];
const ENV = { GITHUB_TOKEN: "token" };
const NEWEST = { sort: "-frontMatter.date", limit: 10, includeFrontMatter: true };

Deno.test("a collection that is not ready in time is 503 and right afterwards, and a commit reads what it changed", async () => {
  await using site = await startSite(POSTS, { env: ENV });
  const { service, gh, repository } = site;
  gh.addToken("token");
  const requested = watchBlobs(gh);
  const barrier = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const watch = gh.intercept!;
  gh.intercept = async (request, logged) => {
    if (logged.kind === "graphql") {
      reached.resolve();
      await barrier.promise;
    }
    return await watch(request, logged);
  };

  const waiting = service.get(listPath(NEWEST));
  await reached.promise;
  service.clock.advance(8_000);
  const response = await waiting;

  assertEquals([response.status, response.headers.get("retry-after")], [503, "5"]);
  assertEquals((await response.json()).code, "collection-not-ready");
  assertEquals(requested, []);
  // The job continues: the next request joins it.
  barrier.resolve();
  const { items } = await service.list(NEWEST);
  const dates = POSTS.map(([, text]) => /^date: (.*)$/m.exec(text)![1]!);
  const newest = dates.toSorted().toReversed().slice(0, 10);
  assertEquals(items.map(({ frontMatter }) => frontMatter?.date), newest);
  assertEquals(requested.length, 300, "nothing is read twice");

  requested.length = 0;
  const path = "posts/d001/post-00002.md";
  await repository.commit({ [path]: "---\ndate: zzz\n---\n" });
  service.clock.advance(60_000);
  const { items: [first] } = await service.list(NEWEST);
  assertEquals([first?.path, first?.frontMatter], [path, { date: "zzz" }]);
  assertEquals(requested, [await repository.resolve(`main:${path}`)]);
});

Deno.test("after a restart on the same store no file is read again", async () => {
  await using store = await openFile();
  await using site = await startSite(POSTS, { env: ENV, kv: await store.open() });
  const { service: { clock, services }, gh } = site;
  gh.addToken("token");
  const before = await site.service.list(NEWEST);
  await services.close();
  gh.resetCounts();
  {
    await using again = await startService({ env: ENV, github: gh, clock, kv: await store.open() });
    assertEquals(await again.list(NEWEST), before);
    const { items } = await again.list({ ...NEWEST, sort: "frontMatter.title", page: 7 });
    assertEquals(items.length, 10);
  }
  assertEquals(Object.keys(gh.counts()).toSorted(), ["commit", "repo"]);
});

Deno.test("a file over MAX_ITEM_MB counts as one without front matter", async () => {
  const head = (date: string) => `---\ndate: ${date}\n---\n`;
  await using site = await startSite({
    "posts/a.md": head("2024-01-01"),
    "posts/big.md": head("2026-01-01") + "x".repeat(1 << 20),
    "posts/c.md": head("2025-01-01"),
  }, { env: { MAX_ITEM_MB: "1" } });

  const list = async (query: Record<string, string>) => {
    const { items } = await site.service.list({ ...query, includeFrontMatter: true });
    return items.map(({ name, frontMatter, error }) =>
      [name, frontMatter?.date ?? "none", error?.code ?? ""].join(" ").trim()
    );
  };
  const [a, big, c] = ["a.md 2024-01-01", "big.md none", "c.md 2025-01-01"];
  assertEquals(await list({ sort: "-frontMatter.date" }), [c, a, big]);
  assertEquals(await list({ sort: "frontMatter.date" }), [a, c, big]);
  assertEquals(await list({ "filter[frontMatter.date]": "!2024-01-01" }), [big, c]);
  assertEquals(await list({ "filter[frontMatter.date]": "2026-01-01" }), []);
});
