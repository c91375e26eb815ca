// A list's facts about a collection and each item, compared with Git; its pages, filters and links.

import { assertEquals } from "@std/assert";
import type { ContentBody, ListBody } from "../../lib/api/contract.ts";
import type { GitContent } from "../github/git_repository.ts";
import { listPath, type Parameters } from "../service.ts";
import { startSite } from "../site.ts";

const LEFT_OUT: Record<string, GitContent> = {
  "posts/.hidden.md": "x",
  "posts/.folder/a.md": "x",
  "posts/2026/.draft/a.md": "x",
  "posts/link.md": { symlink: "a.md" },
  "posts/linked": { symlink: "2026" },
  "posts/module": { submodule: "1234567890123456789012345678901234567890" },
  "elsewhere/a.md": "x",
  "postscript.md": "x",
};

Deno.test("list-collection-items has every field of the contract", async () => {
  const path = "src/content/posts/2026/hello.md";
  await using site = await startSite({ [path]: "# Hello\n" });
  const { service, repository } = site;
  const api = "http://localhost:8000/api";
  const query =
    "owner=Octo&repo=SITE&collection=posts&branch=main&page=1&limit=10&includeContent=false";
  const self = `${api}/list-collection-items?${query}`;

  const response = await service.get(self);

  assertEquals(response.status, 200);
  assertEquals(response.headers.get("content-type"), "application/json");
  assertEquals(response.headers.get("cache-control"), "public, max-age=60");
  const body: ListBody = await response.json();
  const page = { page: 1, limit: 10, hasNext: false, hasPrevious: false };
  const file = "owner=Octo&repo=SITE&branch=main&path=src%2Fcontent%2Fposts%2F2026%2Fhello.md";
  assertEquals(body, {
    repository: { owner: "Octo", repo: "SITE", branch: "main", commit: await repository.head() },
    collection: { name: "posts", path: "src/content/posts" },
    items: [{
      name: "hello.md",
      path,
      slug: "2026/hello",
      sha: await repository.git("rev-parse", `main:${path}`),
      size: 8,
      contentType: "text/markdown; charset=utf-8",
      contentUrl: `${api}/get-item-content?${file}`,
      htmlUrl: `https://github.test/Octo/SITE/blob/main/${path}`,
    }],
    pagination: { ...page, totalItems: 1, totalPages: 1 },
    links: { self, first: self, previous: null, next: null, last: self },
  });
});

Deno.test("list-collection-items orders paths by bytes and leaves out what is no plain file", async () => {
  const names = "b.md a.md Z.md a/b.md a-b.md a0.md a/2/3/4.md é.md ～.md 😀.md run.sh".split(" ");
  const listed = Object.fromEntries(names.map((name) => [`posts/${name}`, name]));
  const script = { "posts/run.sh": { executable: "echo" } };
  await using site = await startSite({ ...listed, ...script, ...LEFT_OUT });

  const { items, pagination } = await site.service.list();

  const hex = ({ path }: { path: string }) => new TextEncoder().encode(path).toHex();
  const entries = (await site.repository.lsTree("main", "posts"))
    .filter(({ path }) => path in listed).toSorted((a, b) => hex(a) < hex(b) ? -1 : 1);
  assertEquals(
    items.map(({ path, sha, size }) => ({ path, sha, size })),
    entries.map(({ path, oid, size }) => ({ path, sha: oid, size: size! })),
  );
  assertEquals(pagination.totalItems, names.length);
});

Deno.test("list-collection-items makes slugs and content types of names", async () => {
  const expected: [name: string, slug: string, contentType: string][] = [
    ["Makefile", "Makefile", "text/plain; charset=utf-8"],
    ["a.b.md", "a.b", "text/markdown; charset=utf-8"],
    ["archive.tar.gz", "archive.tar", "application/gzip"],
    ["data.json", "data", "application/json"],
    ["main.ts", "main", "text/plain; charset=utf-8"],
    ["no extension", "no extension", "application/octet-stream"],
    ["page.HTML", "page", "text/html; charset=utf-8"],
    ["photo.jpg", "photo", "image/jpeg"],
    ["shape.svg", "shape", "image/svg+xml"],
    ["sub.folder/plain", "sub.folder/plain", "application/octet-stream"],
  ];
  await using site = await startSite(expected.map(([name]): [string, string] => [`c/${name}`, ""]));
  const { items } = await site.service.list({ collection: "c" });
  const found = items.map(({ path, slug, contentType }) => [path.slice(2), slug, contentType]);
  assertEquals(found, expected);
});

Deno.test("list-collection-items leads with contentUrl to each item, whatever its name", async () => {
  const names = ["a b.md", "a+b.md", "50%.md", "a&b=c#d?.md", "ü/日本.md", 'q"uote.md', "\\.md"];
  await using site = await startSite(names.map((name): [string, string] => [`c/${name}`, name]));

  const { items } = await site.service.list({ collection: "c" });

  assertEquals(new Set(items.map(({ path }) => path.slice(2))), new Set(names));
  for (const { slug: _, ...listed } of items) {
    const item: ContentBody = await (await site.service.get(listed.contentUrl!)).json();
    const { repository: _, encoding: _encoding, content, ...facts } = item;
    assertEquals(facts, listed);
    assertEquals(content, listed.path.slice(2));
    const { pathname } = new URL(listed.htmlUrl!);
    assertEquals(decodeURIComponent(pathname), `/octo/site/blob/main/${listed.path}`);
  }
});

Deno.test("list-collection-items takes branches with slashes, tags, commit ids and HEAD", async () => {
  await using site = await startSite({ "posts/a.md": "1" });
  const { service, repository } = site;
  const first = await repository.head();
  await repository.tag("v1", { annotated: true });
  await repository.branch("feature/x");
  const second = await repository.commit({ "posts/a.md": "2" });
  const requested = { "feature/x": first, v1: first, [first]: first, main: second, HEAD: second };

  for (const [branch, commit] of Object.entries(requested)) {
    const { repository, items } = await service.list({ branch });
    assertEquals([repository.branch, repository.commit], [branch, commit]);
    const item: ContentBody = await (await service.get(items[0]!.contentUrl!)).json();
    assertEquals([item.repository.branch, item.content], [branch, commit === first ? "1" : "2"]);
  }
});

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
    ["filter[frontMatter.tags]=deno&filter[frontMatter.tags]=web", "a.md"],
    ["filter%5BfrontMatter.tags%5D=deno&filter[frontMatter.tags]=!web", "b.md"],
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
