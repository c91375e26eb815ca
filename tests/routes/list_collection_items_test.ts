// A list's facts about each item, compared with Git; its pages and links. All
// fields of a body are compared in tests/api/openapi_test.ts.

import { assertEquals } from "@std/assert";
import type { ContentBody, ListBody } from "../../lib/api/contract.ts";
import { listPath, type Parameters } from "../service.ts";
import { startSite } from "../site.ts";

Deno.test("list-collection-items lists plain files by bytes", async () => {
  const names = "b.md a.md Z.md a/b.md a-b.md a0.md é.md ～.md 😀.md".split(
    " ",
  );
  await using site = await startSite({
    ...Object.fromEntries(names.map((name) => [`posts/${name}`, name])),
    "posts/run.sh": { executable: "echo" },
    "posts/.hidden.md": "x",
    "posts/2026/.draft/a.md": "x",
    "posts/link.md": { symlink: "a.md" },
    "posts/linked": { symlink: "2026" },
    "posts/module": { submodule: "1234567890123456789012345678901234567890" },
    "postscript.md": "x",
  });

  const { items } = await site.service.list();

  // Git lists in byte order too.
  const listed = [...names, "run.sh"];
  const entries = (await site.repository.lsTree("main", "posts"))
    .filter(({ path }) => listed.includes(path.slice("posts/".length)));
  assertEquals(
    items.map(({ path, sha, size }) => [path, sha, size]),
    entries.map(({ path, oid, size }) => [path, oid, size]),
  );
});

Deno.test("list-collection-items makes slugs and content types", async () => {
  const expected = {
    "Makefile": "Makefile, text/plain; charset=utf-8",
    "a.b.md": "a.b, text/markdown; charset=utf-8",
    "archive.tar.gz": "archive.tar, application/gzip",
    "main.TS": "main, text/plain; charset=utf-8",
    "no extension": "no extension, application/octet-stream",
    "page.HTML": "page, text/html; charset=utf-8",
    "sub.folder/plain": "sub.folder/plain, application/octet-stream",
  };
  const names = Object.keys(expected);
  await using site = await startSite(
    Object.fromEntries(names.map((name) => [`c/${name}`, ""])),
  );
  const { items } = await site.service.list({ collection: "c" });
  const found = items.map((
    { path, slug, contentType },
  ) => [path.slice(2), `${slug}, ${contentType}`]);
  assertEquals(Object.fromEntries(found), expected);
});

Deno.test("list-collection-items leads to each item", async () => {
  const names = [
    "a b.md",
    "a+b.md",
    "50%.md",
    "a&b=c#d?.md",
    "ü/日本.md",
    'q"uote.md',
    "\\.md",
  ];
  await using site = await startSite(
    Object.fromEntries(names.map((name) => [`c/${name}`, name])),
  );
  const commit = await site.repository.head();
  await site.repository.branch("feature/x");
  await site.push({ "c/a b.md": "other" });

  // The caller's spelling is echoed.
  const asked = { owner: "Octo", repo: "SITE", branch: "feature/x" };
  const query = { ...asked, collection: "c" };
  const { items, repository } = await site.service.list(query);

  assertEquals(repository, { ...asked, commit });
  assertEquals(items.map(({ path }) => path.slice(2)), names.toSorted());
  for (const { slug: _, ...listed } of items) {
    const response = await site.service.get(listed.contentUrl!);
    const item: ContentBody = await response.json();
    const { repository: of, encoding: _, content, ...facts } = item;
    assertEquals([of, facts], [repository, listed]);
    assertEquals(content, listed.path.slice(2));
    const { pathname } = new URL(listed.htmlUrl!);
    const page = `/Octo/SITE/blob/feature/x/${listed.path}`;
    assertEquals(decodeURIComponent(pathname), page);
  }
});

const POSTS = {
  "posts/a.md": "---\ntitle: Zebra\n---\n",
  "posts/b.md": "---\ntitle: Apple\n---\n",
  "posts/2026/c.md": "",
  "posts/2026/01/d.md": "",
  "posts/2026/e.txt": "text\n",
};

Deno.test("pages lead to each other in body and Link header", async () => {
  await using site = await startSite({ ...POSTS, "empty/.gitkeep": "" });
  // Names, items and pages; then the pages of the links from `self` to `last`.
  const rows: [expected: string, Parameters][] = [
    ["dc of 4, 2: 1 1 - 2 2", { limit: 2 }],
    ["ab of 4, 2: 2 1 1 - 2", { limit: 2, page: 2 }],
    ["b of 4, 2: 2 1 1 - 2", { limit: 3, page: 2 }],
    ["dcab of 4, 1: 1 1 - - 1", { limit: 1000 }],
    [" of 4, 2: 999999999 1 2 - 2", { limit: 2, page: 999_999_999 }],
    [" of 0, 0: 2 1 - - 1", { collection: "empty", page: 2 }],
  ];
  for (const [expected, parameters] of rows) {
    const path = listPath({ "filter[name]": "*.md", ...parameters });
    const response = await site.service.get(path);
    const { items, pagination, links }: ListBody = await response.json();
    const { totalItems, totalPages, hasNext, hasPrevious } = pagination;
    const { self, first, previous, next, last } = links;
    const header = Object.entries({ first, prev: previous, next, last })
      .filter(([, url]) => url !== null).map(([rel, url]) =>
        `<${url}>; rel="${rel}"`
      ).join(", ");
    assertEquals(response.headers.get("link"), header);
    assertEquals([hasPrevious, hasNext], [previous !== null, next !== null]);
    const pages = [self, first, previous, next, last].map((url) =>
      url === null ? "-" : new URL(url).searchParams.get("page")
    );
    const names = items.map(({ name }) => name[0]).join("");
    assertEquals(
      `${names} of ${totalItems}, ${totalPages}: ${pages.join(" ")}`,
      expected,
    );
  }
});

Deno.test("recursive=false lists the files directly in the folder", async () => {
  await using site = await startSite({ ...POSTS, "posts/.hidden.md": "" });
  const { service, gh } = site;
  const query = { recursive: false, sort: "frontMatter.title" };
  const { items } = await service.list(query);
  assertEquals(items.map(({ path }) => path), ["posts/b.md", "posts/a.md"]);
  // One for the root, in which the folder was found, and one for the folder.
  const { tree, "tree-recursive": recursive } = gh.counts();
  assertEquals([tree, recursive], [2, undefined]);
});
