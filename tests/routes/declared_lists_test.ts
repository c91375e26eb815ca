// Lists by the names that a repository declares for its CMS; each configuration is written after its system's own
// documentation.

import { assert, assertEquals } from "@std/assert";
import type { GitContent } from "../github/git_repository.ts";
import { listPath, type Parameters, type TestService } from "../service.ts";
import { startSite } from "../site.ts";

type Files = Record<string, GitContent>;

/** The collection with its items' paths inside of it, and its warnings. */
async function look(service: TestService, collection: string, parameters: Parameters = {}) {
  const body = await service.list({ collection, ...parameters });
  const { path, source } = body.collection;
  const inside = body.items.map((item) => item.path.slice(path === "" ? 0 : path.length + 1));
  assertEquals(body.pagination.totalItems, inside.length);
  return {
    path,
    ...(source === undefined ? {} : { source }),
    items: inside.join(" "),
    ...(body.warnings === undefined ? {} : { warnings: body.warnings }),
  };
}

/** pagescms.org/docs/configuration/content */
const PAGES_CMS = `
media: public/images
content:
  - name: blog
    label: Blog posts
    type: collection
    path: src/articles
    filename: "{year}-{month}-{day}-{primary}.md"
    exclude: [ README.md ]
    view:
      fields: [ title, published, date ]
      sort: [ date, title ]
    fields:
      - { name: title, label: Title, type: string }
      - { name: body, label: Body, type: rich-text }
  - name: authors
    label: Authors
    type: collection
    path: src/_data/people
    extension: json
    format: json
    subfolders: false
    fields: []
  - name: site
    label: Site settings
    type: file
    path: src/_data/site.json
    fields: []
`;

Deno.test("a list by the name of a Pages CMS collection", async () => {
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

  assertEquals(await look(service, "blog"), {
    path: "src/articles",
    source: ".pages.yml",
    items: "2026-01-02-hello.md 2026/nested.md",
  });
  // Before the folder of that name among the usual ones.
  assertEquals(await look(service, "authors"), {
    path: "src/_data/people",
    source: ".pages.yml",
    items: "ada.json",
  });
  assertEquals(
    (await look(service, "blog", { "filter[path]": "2026/**" })).items,
    "2026/nested.md",
  );
  assertEquals(
    (await look(service, "blog", { sort: "-name" })).items,
    "2026/nested.md 2026-01-02-hello.md",
  );
  assertEquals((await look(service, "blog", { recursive: false })).items, "2026-01-02-hello.md");
  // By its path the folder is a folder, with all that is in it.
  assertEquals(await look(service, "src/articles"), {
    path: "src/articles",
    items: "2026-01-02-hello.md 2026/nested.md README.md picture.png",
  });
  assertEquals((await service.problem(listPath({ collection: "site" }))).status, 404);
});

const DECAP_CMS = "collections: [{ name: blog, folder: _articles/blog }]\n";
const DECAP_FILES: Files = {
  "_articles/blog/2026-01-02-hello.md": "# Hello\n",
  "_articles/blog/more/deep.md": "",
  "_articles/blog/cover.jpg": "",
  "data/goods/list.md": "",
};

/** jekyllrb.com/docs/collections */
const JEKYLL = `
title: A site
collections_dir: my_collections
collections:
  staff_members:
    people: true
    output: true
  recipes:
    sort_by: title
defaults:
  - scope: { path: "", type: staff_members }
    values: { layout: default }
`;

Deno.test("a list by the name of a Jekyll collection", async () => {
  await using site = await startSite({
    "_config.yml": JEKYLL,
    "my_collections/_staff_members/jane.md": "",
    "my_collections/_staff_members/photos/jane.jpg": "",
    "my_collections/_posts/2026-01-02-hello.md": "",
    "_posts/not-here.md": "",
    "docs/recipes/only-here.md": "",
  });
  const { service } = site;

  assertEquals(await look(service, "staff_members"), {
    path: "my_collections/_staff_members",
    source: "_config.yml",
    items: "jane.md photos/jane.jpg",
  });
  assertEquals(await look(service, "posts"), {
    path: "my_collections/_posts",
    source: "_config.yml",
    items: "2026-01-02-hello.md",
  });
  // A declaration without a folder is looked up where collections usually are.
  assertEquals(await look(service, "recipes"), { path: "docs/recipes", items: "only-here.md" });
  await site.repository.commit({
    "_config.yml": "collections: [recipes]\n",
    "_recipes/soup.md": "",
  });
  service.clock.advance(60_000);
  assertEquals(await look(service, "recipes"), {
    path: "_recipes",
    source: "_config.yml",
    items: "soup.md",
  });
});

Deno.test("a folder of that name comes before what is declared", async () => {
  const files = { ".pages.yml": PAGES_CMS, "src/articles/a.md": "" };
  await using site = await startSite({ ...files, "blog/b.txt": "" });
  assertEquals(await look(site.service, "blog"), { path: "blog", items: "b.txt" });
  await using other = await startSite({ ...files, "blog": "a file" });
  assertEquals((await look(other.service, "blog")).path, "src/articles");
});

Deno.test("declarations of several systems stand beside each other, in the order of their files", async () => {
  await using site = await startSite({
    ".pages.yml": "content: [{ name: blog, type: collection, path: gone }]\n",
    "admin/config.yml":
      "collections: [{ name: blog, folder: first }, { name: blog, folder: third }]\n",
    "static/admin/config.yml":
      "collections: [{ name: blog, folder: second }, { name: x, folder: third }]\n",
    "first/a.md": "",
    "second/b.md": "",
    "third/c.md": "",
  });
  assertEquals((await look(site.service, "blog")).path, "first");
  assertEquals((await look(site.service, "x")).source, "static/admin/config.yml");
});

Deno.test("a configuration that does not parse is skipped, and said", async () => {
  await using site = await startSite({
    ".pages.yml": "content:\n  - name: [blog\n",
    "admin/config.yml": DECAP_CMS,
    "_config.yml": new Uint8Array([0xff, 0xfe, 0x00]),
    "static/admin/config.yml": `# ${"x".repeat(1 << 20)}\n`,
    ...DECAP_FILES,
    "content/notes/a.md": "",
  });
  const { service } = site;
  const { warnings, ...blog } = await look(service, "blog");
  assertEquals(blog, {
    path: "_articles/blog",
    source: "admin/config.yml",
    items: "2026-01-02-hello.md",
  });
  assertEquals(warnings!.map((warning) => /^Cannot read "([^"]+)": ./.exec(warning)?.[1]), [
    ".pages.yml",
    "static/admin/config.yml",
    "_config.yml",
  ]);
  assertEquals((await look(service, "notes")).warnings, warnings);
  // Nothing was looked for in a folder that is there by its path.
  assertEquals((await look(service, "data/goods")).warnings, undefined);
  const problem = await service.problem(listPath({ collection: "nowhere" }));
  assertEquals(problem.status, 404);
  for (const warning of warnings!) assert(problem.detail.includes(`${warning}.`), problem.detail);
});

Deno.test("hostile configurations change nothing", async () => {
  const aliases = Array.from(
    { length: 30 },
    (_, at) => `a${at}: &a${at} [${Array(9).fill(at === 0 ? "x" : `*a${at - 1}`).join(", ")}]`,
  ).join("\n");
  const bad = [
    `${aliases}\ncontent: [{ name: posts, type: collection, path: secret, exclude: *a29 }]\n`,
    "[".repeat(100_000),
    `content: ${"[{ items: ".repeat(2_000)}`,
    "content: !!js/function 'function () { throw 1 }'\n",
    "__proto__: { content: [{ name: posts, type: collection, path: secret }] }\n",
    "content: [{ name: posts, type: collection, path: ../secret }]\n",
    "content: [{ name: posts, type: collection, path: /../../etc }]\n",
    "content: [{ name: posts, type: collection, path: .git }]\n",
    "content: [{ name: posts, type: collection, path: link }]\n",
    "content: [{ name: posts, type: collection, path: posts.md }]\n",
    "- a\n- b\n",
    "",
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
    const found = await look(site.service, "posts");
    assertEquals([config.slice(0, 50), found.path, found.items], [
      config.slice(0, 50),
      "content/posts",
      "a.md",
    ]);
    for (const warning of found.warnings ?? []) assert(warning.length < 300, warning);
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
  assertEquals((await look(service, "c149")).items, "a.md");
});
