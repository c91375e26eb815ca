// Sorting by front matter while nothing is cached, through the whole service.

import { assertEquals } from "@std/assert";
import { watchBlobs } from "../github/served_repository.ts";
import { listPath } from "../service.ts";
import { startSite } from "../site.ts";
import { plainFile, plainList } from "./plain_list.ts";
import { writePosts } from "./three_thousand_posts.ts";

const TOKEN = { GITHUB_TOKEN: "token" };
const NEWEST = { sort: "-frontMatter.date", limit: 20 };

Deno.test("a collection that is not ready in time is 503, and right afterwards", async () => {
  await using site = await startSite(writePosts(500), { env: TOKEN });
  const { service, gh } = site;
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
  const plain = [...writePosts(500)].map(([path, text]) => plainFile(path, text));
  assertEquals(
    items.map(({ path }) => path),
    plainList(plain, NEWEST).slice(0, 20).map(({ path }) => path),
  );
  assertEquals(requested.length, 500, "nothing is read twice");
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
    return items.map(({ name, frontMatter, error }) => [name, frontMatter?.date, error]);
  };
  const [a, big, c] = [
    ["a.md", "2024-01-01", undefined],
    ["big.md", undefined, undefined],
    ["c.md", "2025-01-01", undefined],
  ];
  assertEquals(await list({ sort: "-frontMatter.date" }), [c, a, big]);
  assertEquals(await list({ sort: "frontMatter.date" }), [a, c, big]);
  assertEquals(await list({ "filter[frontMatter.date]": "!2024-01-01" }), [big, c]);
  assertEquals(await list({ "filter[frontMatter.date]": "2026-01-01" }), []);
});
