// What a repository has: declared collections, folders that hold content, and
// folders to browse.

import { assert, assertEquals } from "@std/assert";
import type { GitFiles } from "../github/git_repository.ts";
import { collectionsPath, type TestService } from "../service.ts";
import { startSite } from "../site.ts";

const files = (paths: string): GitFiles =>
  Object.fromEntries(paths.split(" ").map((path) => [path, path]));

/** Each collection as `name path items`, with the kinds of those items. */
async function look(service: TestService) {
  const { collections } = await service.collections();
  return collections.map(({ name, path, items, kinds }) => {
    const counts = Object.entries(kinds).map(([kind, n]) => `${n} ${kind}`);
    return [`${name} ${path} ${items}`, ...counts].join(" ");
  });
}

Deno.test("list-collections has what a CMS declares", async () => {
  const rows: {
    readonly path: string;
    readonly text: string;
    readonly files: string;
    readonly found: readonly string[];
  }[] = [
    {
      path: ".pages.yml",
      text:
        "content: [{ name: posts, type: collection, path: src/posts, exclude: [README.md] }, " +
        "{ name: authors, type: collection, path: authors }, { name: everything, type: collection, path: '', extension: '' }]",
      files: "src/posts/a.md src/posts/README.md authors/ann.json authors/x.md",
      found: [
        "posts src/posts 1 1 markdown",
        // A folder of that name is listed whole.
        "authors authors 2 1 data 1 markdown",
        "everything  4 1 data 3 markdown",
      ],
    },
    {
      path: "static/admin/config.yml",
      text:
        "collections: [{ name: here, folder: b }, { name: gone, folder: gone }, { name: b2, folder: b, extension: txt }, { name: none, folder: b, extension: md }]",
      files: "here/x.txt b/a.html b/c.txt",
      // The name of the first leads to another folder.
      found: ["b2 b 1 1 text", "none b 0"],
    },
    {
      path: "_config.yml",
      text:
        "collections_dir: my\ncollections: { books: { output: true }, gone: {} }\n",
      files:
        "my/_books/a.md my/_books/b.html my/_posts/2024-01-01-a.md _drafts/x.md other/a.md",
      found: [
        "books my/_books 2 1 markdown 1 text",
        "posts my/_posts 1 1 markdown",
        "_drafts _drafts 1 1 markdown",
      ],
    },
  ];
  for (const { path, text, files: paths, found } of rows) {
    await using site = await startSite({ [path]: text, ...files(paths) });
    const { service } = site;
    assertEquals(await look(service), found);
    for (
      const { name, path, items } of (await service.collections()).collections
    ) {
      const list = await service.list({ collection: name, limit: 1 });
      const { collection, pagination } = list;
      assertEquals([collection.path, pagination.totalItems], [path, items]);
    }
  }
});

Deno.test("list-collections finds folders of content", async () => {
  /** What is found, with a comma between collections. */
  const foundIn = {
    "README.md LICENSE a.md src/main.ts": "",
    "posts/a.md posts/b.md": "posts posts 2 2 markdown",
    "posts/a.md docs/b.md": "",
    "posts/2024/a.md posts/2025/b.md": "posts posts 2 2 markdown",
    "guides/a/index.md guides/b/index.md guides/b/x.png":
      "guides guides 3 2 markdown 1 image",
    "src/content/docs/en/a.md src/content/docs/de/a.md":
      "src/content/docs src/content/docs 2 2 markdown",
    "content/a.md content/b.md content/blog/a.md content/x/a.png":
      "content/blog content/blog 1 1 markdown",
    "site/docs/a.md site/docs/b/c.md site/docs/d.md site/blog/a.md site/blog/b.md":
      "site/blog site/blog 2 2 markdown,site/docs site/docs 3 3 markdown",
    "packages/a/README.md packages/b/README.md packages/b/CHANGELOG.md": "",
    "data/people/a.json data/x.json _data/team/a.yml _layouts/a.html":
      "_data/team _data/team 1 1 data,data/people data/people 1 1 data",
    ".github/a.md .github/b.md a/.b/c.md a/.b/d.md": "",
    // `-` and `.` sort before the slash.
    "a-b/x.md a-b/y.md a.b/x.md a/x.md a/y.md":
      "a-b a-b 2 2 markdown,a a 2 2 markdown",
  };
  for (const [paths, found] of Object.entries(foundIn)) {
    await using site = await startSite(files(`x.txt ${paths}`));
    assertEquals([paths, `${await look(site.service)}`], [paths, found]);
  }
});

Deno.test("list-collections has the folders of path with their files", async () => {
  await using site = await startSite({
    ...files("a.md p/a.md p/q/b.md p/q/r/c.md p/s/d.md p-q/e.md .x/y.md"),
    ".pages.yml": "content: [1\n",
    "e/.gitkeep": "",
  });
  const { service } = site;
  const foldersIn = {
    "/": "p-q 1, p 4",
    "": "p-q 1, p 4",
    "p": "p/q 2, p/s 1",
    "/p/q/": "p/q/r 1",
    "p/q/r": "",
    "e": "",
  };
  for (const [path, expected] of Object.entries(foldersIn)) {
    const { folders, warnings } = await service.collections({ path });
    const shown = folders.map(({ path, files }) => `${path} ${files}`);
    assertEquals([path, shown.join(", ")], [path, expected]);
    assert(warnings?.[0]?.startsWith('Cannot read ".pages.yml"'));
  }
  const problems = {
    "nope": 'No folder is named "nope"',
    "p/nope": 'No folder is named "p/nope"',
    "p/a.md": '"p/a.md" is a file',
  };
  for (const [path, text] of Object.entries(problems)) {
    const { code, detail } = await service.problem(collectionsPath({ path }));
    assertEquals(code, "collection-not-found");
    assert(detail.startsWith(text), detail);
  }
});

Deno.test("list-collections is charged as a miss once a commit", async () => {
  await using site = await startSite(files("posts/a.md x/y.md"), {
    env: { MISSES_PER_MINUTE: "2" },
  });
  const rows: [status: number, path: string][] = [
    [200, ""],
    [200, "posts"],
    [429, "x"],
    [200, ""],
  ];
  for (const [status, path] of rows) {
    const response = await site.service.get(collectionsPath({ path }));
    assertEquals([path, response.status], [path, status]);
  }
});

Deno.test("list-collections bounds its folders and its size", async () => {
  const many = (count: number, path: (n: number) => string): GitFiles =>
    Object.fromEntries(
      Array.from({ length: count }, (_, n) => [path(n), ""]),
    );
  await using folders = await startSite(many(10_001, (n) => `${n}/a.txt`));
  const { code, detail } = await folders.service.problem(collectionsPath());
  assertEquals(code, "collection-too-large");
  assert(detail.includes("more than 10000 folders"), detail);
  assertEquals((await folders.service.collections({ path: "7" })).folders, []);

  await using found = await startSite(many(201, (n) => `content/${n}x/a.md`));
  const { collections, warnings } = await found.service.collections();
  assertEquals([collections.length, warnings], [200, [
    "Left out folders of content: there are over 200",
  ]]);
});
