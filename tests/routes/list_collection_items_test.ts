// A list's facts about a collection and each item, compared with Git.

import { assertEquals } from "@std/assert";
import type { ContentBody, ListBody } from "../../lib/api/contract.ts";
import type { GitContent } from "../github/git_repository.ts";
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
