// Lists by the names that a repository declares for its CMS. What each system's
// configuration means is in cms_test.ts.

import { assert, assertEquals } from "@std/assert";
import {
  itemPath,
  listPath,
  type Parameters,
  type TestService,
} from "../service.ts";
import { startSite } from "../site.ts";

/**
 * The folder of a collection, the file that declares it, and its items' paths
 * inside of the folder.
 */
async function look(
  service: TestService,
  collection: string,
  parameters: Parameters = {},
) {
  const body = await service.list({ collection, ...parameters });
  const { path, source } = body.collection;
  const inside = body.items.map((item) => item.path.slice(path.length + 1));
  assertEquals(body.pagination.totalItems, inside.length);
  return [path, source, inside.join(" ")];
}

Deno.test("a list by a declared name has the files that its CMS shows", async () => {
  const source = ".pages.yml";
  await using site = await startSite({
    [source]: `content:
      - { name: blog, type: collection, path: texts, exclude: README.md }
      - { name: pictures, type: collection, path: texts, extension: png }`,
    "texts/hello.md": "# Hello\n",
    "texts/2026/nested.md": "# Nested\n",
    "texts/README.md": "no post",
    "texts/picture.png": "png",
  });
  const { service } = site;
  const rows: [name: string, shown: string, Parameters][] = [
    ["blog", "2026/nested.md hello.md", {}],
    ["pictures", "picture.png", {}],
    ["blog", "2026/nested.md", { "filter[path]": "2026/**" }],
    ["blog", "2026/nested.md hello.md", { sort: "-name" }],
    ["blog", "hello.md", { recursive: false }],
  ];
  for (const [name, shown, parameters] of rows) {
    const found = await look(service, name, parameters);
    assertEquals(found, ["texts", source, shown]);
  }
  // By its path the folder is a folder, with all that is in it.
  assertEquals(await look(service, "texts"), [
    "texts",
    undefined,
    "2026/nested.md README.md hello.md picture.png",
  ]);
  const readme = itemPath({ collection: "blog", slug: "README" });
  assertEquals((await service.problem(readme)).code, "item-not-found");
});

Deno.test("a list by kind has no other files, and counts without them", async () => {
  await using site = await startSite({
    "posts/a.md": "---\ntitle: Über uns\n---\n",
    "posts/a.png": "png",
    "posts/b.mdx": "---\ntitle: Other\n---\n",
    "posts/c.yml": "title: uber",
    "posts/d.html": "<p>",
    "posts/e.zip": "zip",
  });
  const rows: [names: string, Parameters][] = [
    ["a.md b.mdx", { kind: "markdown" }],
    ["a.png c.yml", { kind: "data,image,data" }],
    ["e.zip d.html", { kind: "text,other", sort: "-name" }],
    ["a.md", { "filter[frontMatter.title][contains]": "UBER" }],
    ["", {
      kind: "image",
      "filter[frontMatter.title][contains]": "uber",
    }],
  ];
  for (const [names, parameters] of rows) {
    assertEquals((await look(site.service, "posts", parameters))[2], names);
  }
  const { previous, next } = await site.service.item({
    collection: "posts",
    slug: "a",
    includeNeighbors: true,
    kind: "markdown",
  });
  assertEquals([previous, next?.name], [null, "b.mdx"]);
});

Deno.test("a folder of the name comes before declared ones", async () => {
  const first = "admin/config.yml";
  const second = "static/admin/config.yml";
  const jekyll = "_config.yml";
  await using site = await startSite({
    [first]:
      "collections: [{ name: blog, folder: gone }, { name: blog2, folder: b }, { name: here, folder: b }, { name: notes, folder: link }]",
    [second]:
      "collections: [{ name: blog, folder: c }, { name: blog2, folder: c }, { name: notes, folder: file.md }]",
    [jekyll]: "collections_dir: mine\ncollections: { recipes: {} }\n",
    "b/b.md": "",
    "c/c.md": "",
    "here/d.txt": "",
    "link": { symlink: "b" },
    "file.md": "",
    "blog": "a file",
    "mine/_posts/e.md": "",
    "_posts/not-here.md": "",
    "content/blog2/not-here.md": "",
    "content/notes/f.md": "",
    "docs/recipes/g.md": "",
  });
  const found: Readonly<Record<string, unknown>> = {
    here: ["here", undefined, "d.txt"],
    blog2: ["b", first, "b.md"],
    // Those before it are no folders.
    blog: ["c", second, "c.md"],
    notes: ["content/notes", undefined, "f.md"],
    posts: ["mine/_posts", jekyll, "e.md"],
    recipes: ["docs/recipes", undefined, "g.md"],
  };
  for (const [name, expected] of Object.entries(found)) {
    assertEquals(await look(site.service, name), expected);
  }
  await site.push({
    [jekyll]: "collections: [recipes]\n",
    "_recipes/soup.md": "",
  });
  const recipes = await look(site.service, "recipes");
  assertEquals(recipes, ["_recipes", jekyll, "soup.md"]);
});

Deno.test("a configuration that does not parse is skipped, and said", async () => {
  await using site = await startSite({
    ".pages.yml": "content:\n  - name: [blog\n",
    "admin/config.yml": "collections: [{ name: blog, folder: _articles/blog }]",
    "_config.yml": new Uint8Array([0xff, 0xfe, 0x00]),
    "static/admin/config.yml": `# ${"x".repeat(1 << 20)}\n`,
    "_articles/blog/a.md": "# Hello\n",
    "data/goods/list.md": "",
    "content/notes/a.md": "",
  });
  const { service } = site;
  const { warnings, collection } = await service.list({ collection: "blog" });
  assertEquals(collection.path, "_articles/blog");
  assertEquals(
    warnings!.map((warning) => /^Cannot read "([^"]+)": ./.exec(warning)?.[1]),
    [".pages.yml", "static/admin/config.yml", "_config.yml"],
  );
  const warningsOf = async (collection: string) =>
    (await service.list({ collection })).warnings;
  assertEquals(await warningsOf("notes"), warnings);
  // Nothing was looked for in a folder that is there by its path.
  assertEquals(await warningsOf("data/goods"), undefined);
  const { detail } = await service.problem(listPath({ collection: "nowhere" }));
  for (const warning of warnings!) {
    assert(detail.includes(`${warning}.`), detail);
  }
});

Deno.test("a configuration of many folders costs few requests", async () => {
  const folders = Array.from({ length: 150 }, (_, at) => `f${at}/in/${at}`);
  const declared = folders.map((folder, at) => ({ name: `c${at}`, folder }));
  await using site = await startSite({
    "admin/config.yml": JSON.stringify({ collections: declared }),
    ...Object.fromEntries(folders.map((folder) => [`${folder}/a.md`, folder])),
  });
  const { service, gh } = site;
  await service.problem(listPath({ collection: "c" }));
  assert(gh.counts().tree! < 20, JSON.stringify(gh.counts()));
  assertEquals((await look(service, "c149"))[2], "a.md");
});
