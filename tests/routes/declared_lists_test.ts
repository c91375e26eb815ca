// Lists by the names that a repository declares for its CMS. What each system's configuration means is in
// declarations_test.ts.

import { assert, assertEquals } from "@std/assert";
import { listPath, type Parameters, type TestService } from "../service.ts";
import { startSite } from "../site.ts";

/** The folder of a collection, the file that declares it, and its items' paths inside of the folder. */
async function look(service: TestService, collection: string, parameters: Parameters = {}) {
  const body = await service.list({ collection, ...parameters });
  const { path, source } = body.collection;
  const inside = body.items.map((item) => item.path.slice(path.length + 1));
  assertEquals(body.pagination.totalItems, inside.length);
  return [path, source, inside.join(" ")];
}

/** pagescms.org/docs/configuration/content */
const PAGES_CMS = `
content:
  - { name: blog, type: collection, path: src/articles, exclude: [ README.md ], fields: [] }
  - name: authors
    type: collection
    path: src/_data/people
    extension: json
    format: json
    subfolders: false
  - { name: site, type: file, path: src/_data/site.json }
`;

Deno.test("a list by a declared name has the files that its CMS shows", async () => {
  await using site = await startSite({
    ".pages.yml": PAGES_CMS,
    "src/articles/2026-01-02-hello.md": "# Hello\n",
    "src/articles/2026/nested.md": "# Nested\n",
    "src/articles/README.md": "no post",
    "src/articles/picture.png": "png",
    "src/_data/people/ada.json": "{}",
    "src/_data/people/notes.md": "",
    "src/_data/people/old/bob.json": "{}",
    "src/_data/site.json": "{}",
    "content/authors/elsewhere.json": "{}",
  });
  const { service } = site;
  const [first, nested] = ["2026-01-02-hello.md", "2026/nested.md"];
  const [articles, source] = ["src/articles", ".pages.yml"];
  const rows: [name: string, Parameters, shown: (string | undefined)[]][] = [
    ["blog", {}, [articles, source, `${first} ${nested}`]],
    ["blog", { "filter[path]": "2026/**" }, [articles, source, nested]],
    ["blog", { sort: "-name" }, [articles, source, `${nested} ${first}`]],
    ["blog", { recursive: false }, [articles, source, first]],
    // Before the folder of that name among the usual ones.
    ["authors", {}, ["src/_data/people", source, "ada.json"]],
    // By its path the folder is a folder, with all that is in it.
    [articles, {}, [articles, undefined, `${first} ${nested} README.md picture.png`]],
  ];
  for (const [name, parameters, shown] of rows) {
    assertEquals(await look(service, name, parameters), shown);
  }
  assertEquals((await service.problem(listPath({ collection: "site" }))).status, 404);
});

Deno.test("a declaration without a folder is looked up where collections usually are", async () => {
  // jekyllrb.com/docs/collections
  const config = "collections_dir: mine\ncollections: { staff: { output: true }, recipes: {} }\n";
  await using site = await startSite({
    "_config.yml": config,
    "mine/_staff/photos/jane.jpg": "",
    "mine/_posts/2026-01-02-hello.md": "",
    "_posts/not-here.md": "",
    "docs/recipes/only-here.md": "",
  });
  const { service } = site;
  const source = "_config.yml";
  assertEquals(await look(service, "staff"), ["mine/_staff", source, "photos/jane.jpg"]);
  assertEquals(await look(service, "posts"), ["mine/_posts", source, "2026-01-02-hello.md"]);
  assertEquals(await look(service, "recipes"), ["docs/recipes", undefined, "only-here.md"]);
  await site.repository.commit({ [source]: "collections: [recipes]\n", "_recipes/soup.md": "" });
  service.clock.advance(60_000);
  assertEquals(await look(service, "recipes"), ["_recipes", source, "soup.md"]);
});

Deno.test("a folder of that name comes first, then declarations in the order of their files", async () => {
  const declare = (...entries: [name: string, folder: string][]) =>
    `collections: [${entries.map(([name, folder]) => `{ name: ${name}, folder: ${folder} }`)}]\n`;
  await using site = await startSite({
    ".pages.yml": "content: [{ name: blog, type: collection, path: gone }]\n",
    "admin/config.yml": declare(["blog", "first"], ["blog", "third"], ["here", "third"]),
    "static/admin/config.yml": declare(["blog", "second"], ["x", "third"]),
    "first/a.md": "",
    "second/b.md": "",
    "third/c.md": "",
    "here/d.txt": "",
    "blog": "a file",
  });
  assertEquals((await look(site.service, "blog"))[0], "first");
  assertEquals((await look(site.service, "x"))[1], "static/admin/config.yml");
  assertEquals(await look(site.service, "here"), ["here", undefined, "d.txt"]);
});

Deno.test("a configuration that does not parse is skipped, and said", async () => {
  await using site = await startSite({
    ".pages.yml": "content:\n  - name: [blog\n",
    "admin/config.yml": "collections: [{ name: blog, folder: _articles/blog }]\n",
    "_config.yml": new Uint8Array([0xff, 0xfe, 0x00]),
    "static/admin/config.yml": `# ${"x".repeat(1 << 20)}\n`,
    "_articles/blog/a.md": "# Hello\n",
    "data/goods/list.md": "",
    "content/notes/a.md": "",
  });
  const { service } = site;
  assertEquals(await look(service, "blog"), ["_articles/blog", "admin/config.yml", "a.md"]);
  const { warnings } = await service.list({ collection: "blog" });
  assertEquals(
    warnings!.map((warning) => /^Cannot read "([^"]+)": ./.exec(warning)?.[1]),
    [".pages.yml", "static/admin/config.yml", "_config.yml"],
  );
  assertEquals((await service.list({ collection: "notes" })).warnings, warnings);
  // Nothing was looked for in a folder that is there by its path.
  assertEquals((await service.list({ collection: "data/goods" })).warnings, undefined);
  const problem = await service.problem(listPath({ collection: "nowhere" }));
  assertEquals(problem.status, 404);
  for (const warning of warnings!) assert(problem.detail.includes(`${warning}.`), problem.detail);
});

Deno.test("hostile configurations change nothing", async () => {
  const entry = "name: posts, type: collection";
  const bad = [
    "[".repeat(100_000),
    "content: !!js/function 'function () { throw 1 }'\n",
    `__proto__: { content: [{ ${entry}, path: secret }] }\n`,
    ...["../secret", "/../../etc", ".git", "link", "posts.md"]
      .map((path) => `content: [{ ${entry}, path: ${path} }]\n`),
    "\u0000",
  ];
  for (const config of bad) {
    await using site = await startSite({
      ".pages.yml": config,
      "content/posts/a.md": "",
      "secret/b.md": "",
      "link": { symlink: "secret" },
      "posts.md": "",
    });
    const what = config.slice(0, 50);
    const { collection, items, warnings = [] } = await site.service.list();
    assertEquals([what, collection.path, items.length], [what, "content/posts", 1]);
    for (const warning of warnings) assert(warning.length < 300, warning);
  }
  assertEquals(({} as Record<string, unknown>).content, undefined);
});

Deno.test("a configuration of very many folders costs a suggestion few requests", async () => {
  const folders = Array.from({ length: 150 }, (_, at) => `f${at}/in/${at}`);
  await using site = await startSite({
    "admin/config.yml": "collections:\n" +
      folders.map((folder, at) => `  - { name: c${at}, folder: ${folder} }\n`).join(""),
    ...Object.fromEntries(folders.map((folder) => [`${folder}/a.md`, folder])),
  });
  const { service, gh } = site;
  assertEquals((await service.problem(listPath({ collection: "c" }))).status, 404);
  assert(gh.counts().tree! < 20, JSON.stringify(gh.counts()));
  assertEquals((await look(service, "c149"))[2], "a.md");
});
