// A list that carries the content of its items: an item's fields, its error where content is missing, and the page's
// cacheability.

import { assertEquals } from "@std/assert";
import type { ItemBody } from "../../lib/api/contract.ts";
import { listPath } from "../service.ts";
import { startSite } from "../site.ts";

const MIB = 1 << 20;
const WITH_CONTENT = { includeContent: true };

Deno.test("each item of a list has its front matter, or why there is none, and the text after it", async () => {
  const bad = "---\ntitle: a\ntags: [a\n---\n";
  await using site = await startSite({
    "posts/bad.md": bad,
    "posts/bom.md": "\ufeff---\na: 2026-01-02\n---\nx",
    "posts/none.md": "# A\n---\n",
    "posts/toml.md": "+++\r\na = 1979-05-27\r\n+++\r\nx",
    "posts/yaml.md": "---\ntitle: Hello\ndraft: no\n---\nbody",
  });

  const { items } = await site.service.list(WITH_CONTENT);

  assertEquals(items.map(({ frontMatter }) => frontMatter), [
    undefined,
    { a: "2026-01-02" },
    undefined,
    { a: "1979-05-27" },
    { title: "Hello", draft: "no" },
  ]);
  assertEquals(items.map(({ frontMatterError }) => frontMatterError !== undefined), [
    true,
    false,
    false,
    false,
    false,
  ]);
  assertEquals(items[0]!.content, bad);
  assertEquals([3, 4].includes(items[0]!.frontMatterError!.line), true);
  assertEquals(items.map(({ body }) => body), [undefined, "x", undefined, "x", "body"]);
});

Deno.test("an item over the size cap has an error, one of just that size has none", async () => {
  await using site = await startSite({
    "posts/a.bin": new Uint8Array(MIB),
    "posts/b.bin": new Uint8Array(MIB + 1),
    "posts/c.md": "c",
  }, { env: { MAX_ITEM_MB: "1" } });

  const response = await site.service.get(listPath(WITH_CONTENT));

  assertEquals(response.headers.get("cache-status"), "collections; fwd=miss; stored");
  const items: ItemBody[] = (await response.json()).items;
  assertEquals(items.map(({ error, encoding }) => error?.code ?? encoding), [
    "base64",
    "item-too-large",
    "utf-8",
  ]);
  assertEquals(items[1]!.error!.detail.includes(`${MIB + 1}`), true);
});

Deno.test("a page is filled in byte order of path, which UTF-16 order is not", async () => {
  await using site = await startSite({
    "posts/\uff5e.txt": "a".repeat(9 * MIB),
    "posts/\u{1f35e}.txt": "b".repeat(9 * MIB),
  });
  const { items } = await site.service.list(WITH_CONTENT);
  assertEquals(items.map(({ error, encoding }) => error?.code ?? encoding), [
    "utf-8",
    "page-too-large",
  ]);
});

Deno.test("a page carries 16 MiB of file bytes, taken in path order", async () => {
  const large = "a".repeat(8 * MIB);
  await using site = await startSite({
    "posts/1.txt": large,
    "posts/2.txt": large.slice(1) + "b",
    "posts/3.txt": "c",
    "posts/4.txt": "",
  });

  const response = await site.service.get(listPath(WITH_CONTENT));

  const items: ItemBody[] = (await response.json()).items;
  assertEquals(items.map(({ error, content }) => error?.code ?? content!.length), [
    8 * MIB,
    8 * MIB,
    "page-too-large",
    0,
  ]);
  // The next page begins anew.
  const { items: [third] } = await site.service.list({ ...WITH_CONTENT, limit: 1, page: 3 });
  assertEquals(third!.content, "c");
});

Deno.test("a file that the source fails on is an error in its place, and the page is not cached", async () => {
  await using site = await startSite({ "posts/a.md": "a", "posts/b.md": "b", "posts/c.md": "c" });
  const { gh, service } = site;
  const failing = (await site.repository.lsTree("main", "posts"))[1]!;
  gh.faultWhen(({ path }) =>
    path.includes(failing.oid) || path.endsWith("/b.md") ? { kind: "status", status: 500 } : null
  );

  const failed = await service.get(listPath(WITH_CONTENT));
  gh.faultWhen(null);
  const soon = await service.get(listPath(WITH_CONTENT));
  service.clock.advance(5_000);
  const later = await service.get(listPath(WITH_CONTENT));
  const cached = await service.get(listPath(WITH_CONTENT));

  const contents = async (response: Response) => {
    const items: ItemBody[] = (await response.json()).items;
    return items.map(({ content, error }) => content ?? error?.code);
  };
  for (const response of [failed, soon]) {
    assertEquals(response.status, 200);
    assertEquals(response.headers.get("cache-control"), "no-store");
    assertEquals(response.headers.get("cache-status"), "collections; fwd=miss");
    assertEquals(await contents(response), ["a", "source-failed", "c"]);
  }
  assertEquals(later.headers.get("cache-control"), "public, max-age=60");
  assertEquals(await contents(later), ["a", "b", "c"]);
  assertEquals(cached.headers.get("cache-status"), "collections; hit; ttl=55");
});

Deno.test("a page whose files exceed the source's quota has an error in each item", async () => {
  await using site = await startSite({ "posts/a.md": "a", "posts/b.md": "b" });
  site.gh.fault = { kind: "secondary429", only: ["raw", "blob"] };

  const response = await site.service.get(listPath(WITH_CONTENT));

  assertEquals([response.status, response.headers.get("cache-control")], [200, "no-store"]);
  const items: ItemBody[] = (await response.json()).items;
  assertEquals(items.map(({ error }) => error?.code), [
    "source-rate-limited",
    "source-rate-limited",
  ]);
});
