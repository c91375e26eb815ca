// Sort, filter, recursive and pages through the whole service: what is counted, what the links carry, what is charged.

import { assertEquals } from "@std/assert";
import type { ListBody } from "../../lib/api/contract.ts";
import { listPath, type Parameters } from "../service.ts";
import { startSite } from "../site.ts";

const POSTS = {
  "posts/a.md": "---\ntitle: Zebra\ntags: [deno, web]\ndraft: false\n---\n",
  "posts/b.md": "---\ntitle: Apple\ntags: [deno]\n---\n",
  "posts/2026/c.md": "---\ntitle: Mango\ntags: web\ndraft: true\n---\n",
  "posts/2026/01/d.md": "---\ntitle: 10\n---\n",
  "posts/2026/e.txt": "text\n",
};

Deno.test("an item must satisfy all filters, and an empty one is none", async () => {
  await using site = await startSite(POSTS);
  const rows: [query: string, names: string][] = [
    ["filter[frontMatter.tags]=deno", "a.md b.md"],
    ["filter[frontMatter.tags]=deno&filter[frontMatter.tags]=web", "a.md"],
    ["filter%5BfrontMatter.tags%5D=deno&filter[frontMatter.tags]=!web", "b.md"],
    ["filter[frontMatter.draft]=!true", "d.md e.txt a.md b.md"],
    ["filter[frontMatter.title]=10", "d.md"],
    ["filter[frontMatter.title][gte]=Mango", "c.md a.md"],
    ["filter[frontMatter.tags][exists]=false", "d.md e.txt"],
    ["filter[path]=**/?.md&filter[name]=!a*", "d.md c.md b.md"],
    ["filter[name]=&filter[frontMatter.x]=", "d.md c.md e.txt a.md b.md"],
  ];
  for (const [query, names] of rows) {
    const response = await site.service.get(`${listPath()}&${query}`);
    const { items, pagination }: ListBody = await response.json();
    assertEquals([query, items.map(({ name }) => name).join(" ")], [query, names]);
    assertEquals(pagination.totalItems, items.length);
  }
});

Deno.test("links carry the known parameters in the table's order, and lead through the filtered list", async () => {
  await using site = await startSite(POSTS);
  const { service } = site;
  const query = "sort=-frontMatter.title&x=1&limit=1&includeFrontMatter=1&recursive=true" +
    "&filter[name]=*.md&filter[frontMatter.tags]=deno&filter[frontMatter.tags]=!a%26b%3D%25%2B";
  const first: ListBody = await (await service.get(`${listPath()}&${query}`)).json();
  const address = "http://localhost:8000/api/list-collection-items?owner=octo&repo=site" +
    "&collection=posts&page=1&limit=1&includeFrontMatter=true&sort=-frontMatter.title&recursive=true" +
    "&filter%5Bname%5D=*.md&filter%5BfrontMatter.tags%5D=deno" +
    "&filter%5BfrontMatter.tags%5D=!a%26b%3D%25%2B";
  assertEquals(first.links.self, address);
  assertEquals(first.links.next, address.replace("page=1", "page=2"));
  const second: ListBody = await (await service.get(first.links.next!)).json();
  const titles = [first, second].map(({ items }) => items[0]?.frontMatter?.title);
  assertEquals(titles, ["Zebra", "Apple"]);
  assertEquals(await (await service.get(second.links.previous!)).json(), first);
});

Deno.test("pages lead to each other, past the end too, in body and Link header", async () => {
  await using site = await startSite({ ...POSTS, "empty/.gitkeep": "" });
  const rows: [Parameters, unknown[]][] = [
    [{ limit: 2 }, ["dc", 4, 2, 1, 1, null, 2, 2]],
    [{ limit: 2, page: 2 }, ["ab", 4, 2, 2, 1, 1, null, 2]],
    [{ limit: 3, page: 2 }, ["b", 4, 2, 2, 1, 1, null, 2]],
    [{ limit: 1000 }, ["dcab", 4, 1, 1, 1, null, null, 1]],
    [{ limit: 2, page: 3 }, ["", 4, 2, 3, 1, 2, null, 2]],
    [{ limit: 2, page: 999_999_999 }, ["", 4, 2, 999_999_999, 1, 2, null, 2]],
    [{ collection: "empty" }, ["", 0, 0, 1, 1, null, null, 1]],
    [{ collection: "empty", page: 2 }, ["", 0, 0, 2, 1, null, null, 1]],
  ];
  for (const [parameters, expected] of rows) {
    const path = listPath({ "filter[name]": "*.md", ...parameters });
    const response = await site.service.get(path);
    const { items, pagination, links }: ListBody = await response.json();
    const { totalItems, totalPages, hasNext, hasPrevious } = pagination;
    const { self, first, previous, next, last } = links;
    const header = Object.entries({ first, prev: previous, next, last })
      .filter(([, url]) => url !== null).map(([rel, url]) => `<${url}>; rel="${rel}"`).join(", ");
    assertEquals(response.headers.get("link"), header);
    assertEquals([hasPrevious, hasNext], [previous !== null, next !== null]);
    const pages = [self, first, previous, next, last].map((url) =>
      url === null ? null : Number(new URL(url).searchParams.get("page"))
    );
    const names = items.map(({ name }) => name[0]).join("");
    assertEquals([names, totalItems, totalPages, ...pages], expected);
  }
});

Deno.test("recursive=false lists the files directly in the folder, by one plain request", async () => {
  await using site = await startSite({ ...POSTS, "posts/.hidden.md": "", "posts/z.md": "z" });
  const { service, gh } = site;
  const body = await service.list({ recursive: false });
  assertEquals(body.items.map(({ path }) => path), ["posts/a.md", "posts/b.md", "posts/z.md"]);
  // One for the root, in which the folder was found, and one for the folder.
  const { tree, "tree-recursive": recursive } = gh.counts();
  assertEquals([tree, recursive], [2, undefined]);
  const sorted = await service.list({ recursive: 0, sort: "-frontMatter.title" });
  assertEquals(sorted.items.map(({ name }) => name), ["a.md", "b.md", "z.md"]);
});

Deno.test("a client that may cause no more is refused alone", async () => {
  await using site = await startSite(POSTS, { env: { MISSES_PER_MINUTE: "1" } });
  const { service } = site;
  const path = listPath({ sort: "frontMatter.title" });
  assertEquals((await service.get(listPath(), { remote: "192.0.2.1" })).status, 200);
  const [poor, rich] = await Promise.all(
    ["192.0.2.1", "192.0.2.2"].map((remote) => service.get(path, { remote })),
  );
  assertEquals([poor!.status, rich!.status], [429, 200]);
  assertEquals((await poor!.json()).code, "too-many-requests");
});
