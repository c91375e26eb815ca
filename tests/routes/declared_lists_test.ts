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

/** A configuration of Decap CMS. */
const declare = (...entries: (readonly [name: string, folder: string])[]) =>
  `collections: [${
    entries.map(([name, folder]) => `{ name: ${name}, folder: ${folder} }`)
  }]\n`;

Deno.test("a list by a declared name has the files that its CMS shows", async () => {
  const [articles, source] = ["src/articles", ".pages.yml"];
  await using site = await startSite({
    [source]: `content:
      - { name: blog, type: collection, path: ${articles}, exclude: README.md }
      - { name: pictures, type: collection, path: ${articles}, extension: png }`,
    "src/articles/2026-01-02-hello.md": "# Hello\n",
    "src/articles/2026/nested.md": "# Nested\n",
    "src/articles/README.md": "no post",
    "src/articles/picture.png": "png",
  });
  const [first, nested] = ["2026-01-02-hello.md", "2026/nested.md"];
  const rows: [name: string, Parameters, shown: (string | undefined)[]][] = [
    ["blog", {}, [articles, source, `${first} ${nested}`]],
    ["pictures", {}, [articles, source, "picture.png"]],
    ["blog", { "filter[path]": "2026/**" }, [articles, source, nested]],
    ["blog", { sort: "-name" }, [articles, source, `${nested} ${first}`]],
    ["blog", { recursive: false }, [articles, source, first]],
    // By its path the folder is a folder, with all that is in it.
    [articles, {}, [
      articles,
      undefined,
      `${first} ${nested} README.md picture.png`,
    ]],
  ];
  for (const [name, parameters, shown] of rows) {
    assertEquals(await look(site.service, name, parameters), shown);
  }
  const left = await site.service.problem(
    itemPath({ collection: "blog", slug: "README" }),
  );
  assertEquals(left.code, "item-not-found");
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
  const rows: [Parameters, names: string][] = [
    [{ kind: "markdown" }, "a.md b.mdx"],
    [{ kind: "data,image,data" }, "a.png c.yml"],
    [{ kind: "text,other", sort: "-name" }, "e.zip d.html"],
    [
      { kind: "markdown", "filter[frontMatter.title][contains]": "UBER" },
      "a.md",
    ],
    [{ kind: "image", "filter[frontMatter.title][contains]": "uber" }, ""],
  ];
  for (const [parameters, names] of rows) {
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
  const [first, second, jekyll] = [
    "admin/config.yml",
    "static/admin/config.yml",
    "_config.yml",
  ];
  await using site = await startSite({
    [first]: declare(["blog", "gone"], ["blog2", "b"], ["here", "b"], [
      "notes",
      "link",
    ]),
    [second]: declare(["blog", "c"], ["blog2", "c"], ["notes", "file.md"]),
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
  const { service } = site;
  assertEquals(await look(service, "here"), ["here", undefined, "d.txt"]);
  assertEquals(await look(service, "blog2"), ["b", first, "b.md"]);
  // Those before it are no folders.
  assertEquals(await look(service, "blog"), ["c", second, "c.md"]);
  assertEquals(await look(service, "notes"), [
    "content/notes",
    undefined,
    "f.md",
  ]);
  assertEquals(await look(service, "posts"), ["mine/_posts", jekyll, "e.md"]);
  assertEquals(await look(service, "recipes"), [
    "docs/recipes",
    undefined,
    "g.md",
  ]);
  await site.push({
    [jekyll]: "collections: [recipes]\n",
    "_recipes/soup.md": "",
  });
  assertEquals(await look(service, "recipes"), ["_recipes", jekyll, "soup.md"]);
});

Deno.test("a configuration that does not parse is skipped, and said", async () => {
  await using site = await startSite({
    ".pages.yml": "content:\n  - name: [blog\n",
    "admin/config.yml": declare(["blog", "_articles/blog"]),
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
  assertEquals(
    (await service.list({ collection: "notes" })).warnings,
    warnings,
  );
  // Nothing was looked for in a folder that is there by its path.
  assertEquals(
    (await service.list({ collection: "data/goods" })).warnings,
    undefined,
  );
  const { detail } = await service.problem(listPath({ collection: "nowhere" }));
  for (const warning of warnings!) {
    assert(detail.includes(`${warning}.`), detail);
  }
});

Deno.test("a configuration of many folders costs few requests", async () => {
  const folders = Array.from({ length: 150 }, (_, at) => `f${at}/in/${at}`);
  await using site = await startSite({
    "admin/config.yml": declare(
      ...folders.map((folder, at) => [`c${at}`, folder] as const),
    ),
    ...Object.fromEntries(folders.map((folder) => [`${folder}/a.md`, folder])),
  });
  const { service, gh } = site;
  assertEquals(
    (await service.problem(listPath({ collection: "c" }))).status,
    404,
  );
  assert(gh.counts().tree! < 20, JSON.stringify(gh.counts()));
  assertEquals((await look(service, "c149"))[2], "a.md");
});
