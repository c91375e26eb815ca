import { assert, assertEquals } from "@std/assert";
import { compileRule, type DeclaredCollection } from "../../lib/collections/cms/declaration.ts";
import { parseDeclarations } from "../../lib/collections/cms/declarations.ts";

async function declare(path: string, text: string): Promise<readonly DeclaredCollection[]> {
  const { collections, warning } = await parseDeclarations(path, text);
  assertEquals(warning, null);
  for (const collection of collections) assertEquals(collection.source, path);
  return collections;
}

async function folders(path: string, text: string): Promise<Record<string, string>> {
  const collections = await declare(path, text);
  return Object.fromEntries(collections.map(({ name, folder }) => [name, folder]));
}

function accepted(collections: readonly DeclaredCollection[], name: string): string[] {
  const collection = collections.find((one) => one.name === name);
  assert(collection !== undefined, name);
  return PATHS.filter(compileRule(collection.rule));
}

const PATHS = [
  "README.md",
  "hello.md",
  "hello.mdx",
  "hellomd",
  "data.json",
  "data.yml",
  "2026/hello.md",
  "2026/README.md",
  "2026/index.md",
  "2026/05/hello.md",
  "drafts/idea.md",
];
const MARKDOWN = PATHS.filter((path) => path.endsWith(".md"));

const YAML_FILES = [
  ".pages.yml",
  "admin/config.yml",
  "static/admin/config.yml",
  "public/admin/config.yml",
  "_config.yml",
  "_config.yaml",
];

const PAGES_CMS = `
media:
  input: src/media
  output: /media
content:
  - name: posts
    label: Posts
    type: collection
    path: src/posts
    exclude: [README.md, drafts]
    filename: "{year}-{month}-{day}-{primary}.md"
    view:
      fields: [title, published, date]
    fields:
      - name: title
        type: string
      - name: body
        type: rich-text
  - name: flat
    type: collection
    path: /content/flat/
    subfolders: false
    exclude: README.md
    fields: []
  - name: authors
    type: collection
    path: src/_data/authors
    filename: { template: "{primary}.json", field: create }
  - name: everything
    type: collection
    path: ""
    extension: ""
  - name: mdx
    type: collection
    path: docs
    extension: mdx
  - name: site
    label: Site settings
    type: file
    path: src/_data/site.json
  - name: shop
    type: group
    items:
      - name: products
        type: collection
        path: products
      - type: group
        items:
          - { name: brands, type: collection, path: brands }
`;

Deno.test("parseDeclarations() reads the collections of Pages CMS, in groups too", async () => {
  assertEquals(await folders(".pages.yml", PAGES_CMS), {
    posts: "src/posts",
    flat: "content/flat",
    authors: "src/_data/authors",
    everything: "",
    mdx: "docs",
    products: "products",
    brands: "brands",
  });
});

Deno.test("parseDeclarations() applies extension, exclude and subfolders of Pages CMS", async () => {
  const collections = await declare(".pages.yml", PAGES_CMS);
  assertEquals(accepted(collections, "posts"), [
    "hello.md",
    "2026/hello.md",
    "2026/index.md",
    "2026/05/hello.md",
  ]);
  assertEquals(accepted(collections, "flat"), ["hello.md"]);
  assertEquals(accepted(collections, "authors"), ["data.json"]);
  assertEquals(accepted(collections, "everything"), PATHS);
  assertEquals(accepted(collections, "mdx"), ["hello.mdx"]);
  assertEquals(accepted(collections, "products"), MARKDOWN);
});

const DECAP_CMS = `
backend:
  name: git-gateway
  branch: main
media_folder: static/images/uploads
i18n:
  structure: multiple_folders
  locales: [en, de]
defaults: &defaults
  folder: content/shared
  extension: json
collections:
  - label: "Blog"
    name: "blog"
    folder: "/_posts/blog/"
    create: true
    slug: "{{year}}-{{month}}-{{day}}-{{slug}}"
    fields:
      - {label: "Title", name: "title", widget: "string"}
      - {label: "Body", name: "body", widget: "markdown"}
  - name: pages
    folder: content/pages
    nested: { depth: 2, summary: '{{title}}' }
    meta: { path: { widget: string, label: 'Path', index_file: '_index' } }
  - { name: tree, folder: content/tree, nested: { depth: 100 } }
  - { name: deep, folder: content/deep, nested: {} }
  - { name: bundles, folder: content/bundles, path: '{{slug}}/index' }
  - { name: years, folder: content/years, path: '{{year}}/{{slug}}' }
  - { name: mdx, folder: ./docs, extension: mdx }
  - { name: dotted, folder: docs, extension: .md }
  - { name: data, folder: data, format: yaml }
  - { name: translated, folder: i18n, i18n: true }
  - { name: files, folder: i18n, path: '{{slug}}/index', i18n: { structure: multiple_files } }
  - <<: *defaults
    name: merged
  - <<: [{ extension: mdx }, *defaults]
    name: first
  - label: Settings
    name: settings
    files:
      - { name: site, file: data/site.yml, fields: [] }
`;

Deno.test("parseDeclarations() reads the folder collections of Decap, Netlify and Sveltia CMS", async () => {
  const expected = await folders("admin/config.yml", DECAP_CMS);
  assertEquals(
    Object.entries(expected).map(([name, folder]) => `${name} ${folder}`),
    "blog _posts/blog|pages content/pages|tree content/tree|deep content/deep|bundles content/bundles|years content/years|mdx docs|dotted docs|data data|translated i18n|files i18n|merged content/shared|first content/shared"
      .split("|"),
  );
  for (const path of ["static/admin", "public/admin"]) {
    assertEquals(await folders(`${path}/config.yml`, DECAP_CMS), expected);
  }
});

Deno.test("parseDeclarations() applies extension, nested.depth and path of Decap CMS", async () => {
  const collections = await declare("admin/config.yml", DECAP_CMS);
  const direct = MARKDOWN.filter((path) => !path.includes("/"));
  const two = MARKDOWN.filter((path) => path.split("/").length <= 2);
  assertEquals(accepted(collections, "blog"), direct);
  assertEquals(accepted(collections, "pages"), two);
  assertEquals(accepted(collections, "tree"), MARKDOWN);
  assertEquals(accepted(collections, "deep"), MARKDOWN);
  assertEquals(accepted(collections, "bundles"), ["2026/index.md"]);
  assertEquals(accepted(collections, "years"), two.filter((path) => path.includes("/")));
  assertEquals(accepted(collections, "mdx"), ["hello.mdx"]);
  assertEquals(accepted(collections, "dotted"), direct);
  assertEquals(accepted(collections, "data"), ["data.yml"]);
  assertEquals(accepted(collections, "translated"), two);
  assertEquals(accepted(collections, "files"), two);
  assertEquals(accepted(collections, "merged"), ["data.json"]);
  assertEquals(accepted(collections, "first"), ["hello.mdx"]);
});

Deno.test("parseDeclarations() reads the collections of Jekyll, as a list and as a mapping", async () => {
  assertEquals(await folders("_config.yml", "collections:\n  - staff_members\n  - recipes\n"), {
    staff_members: "_staff_members",
    recipes: "_recipes",
    posts: "_posts",
  });
  const mapping = [
    "title: My site",
    "collections_dir: my_collections",
    "collections:",
    "  books:",
    "    output: true",
    "    permalink: /books/:path/",
    "  posts:",
    "    permalink: /blog/:title/",
  ];
  assertEquals(await folders("_config.yaml", mapping.join("\n")), {
    books: "my_collections/_books",
    posts: "my_collections/_posts",
  });
  assertEquals(await folders("_config.toml", 'source = "./docs"\ncollections = ["books"]\n'), {
    books: "docs/_books",
    posts: "docs/_posts",
  });
  assertEquals(await folders("_config.yml", "\ufefftitle: Empty\n"), { posts: "_posts" });
  const collections = await declare("_config.yml", "collections: [books]");
  assertEquals(accepted(collections, "books"), PATHS);
});

Deno.test("parseDeclarations() skips what is not a folder of the repository", async () => {
  const bad = [
    "..",
    "../etc",
    "a/../b",
    "a//b",
    "a/./b",
    "./../a",
    '"a\\u0000b"',
    "'{{locale}}/posts'",
    "[a]",
    "~",
    "1",
  ];
  for (const folder of bad) {
    assertEquals(
      await folders(".pages.yml", `content: [{name: a, type: collection, path: ${folder}}]`),
      {},
    );
    assertEquals(
      await folders("admin/config.yml", `collections: [{name: a, folder: ${folder}}]`),
      {},
    );
  }
  const jekyll = 'collections_dir: "../.."\ncollections: [a/b, "..", {}, null]\n';
  assertEquals(await folders("_config.yml", jekyll), {});
  assertEquals(await folders("_config.yml", "collections: [a/b, {}, null, 7]\n"), {
    "7": "_7",
    posts: "_posts",
  });
});

Deno.test("parseDeclarations() survives values of other kinds", async () => {
  const values = [
    "1",
    "text",
    "[]",
    "{}",
    "[1, text, null, [[]], {}]",
    "true",
    "null",
    "{__proto__: {name: a}}",
  ];
  for (const value of values) {
    for (const path of YAML_FILES) {
      const keys = ["content", "collections", "collections_dir", "source", "i18n"];
      for (const key of keys) {
        const found = await folders(path, `${key}: ${value}\n`);
        for (const folder of Object.values(found)) assert(folder.includes("_"), folder);
      }
      const entry = [
        "name",
        "path",
        "folder",
        "exclude",
        "subfolders",
        "filename",
        "extension",
        "nested",
        "i18n",
      ]
        .map((key) => `${key}: ${value}`).join(", ");
      const text = `content: [{type: collection, ${entry}}]\ncollections: [{${entry}}]\n`;
      for (const { rule } of await declare(path, text)) compileRule(rule)("a/b.md");
    }
  }
  assertEquals(({} as Record<string, unknown>).name, undefined);
});

Deno.test("parseDeclarations() says in one sentence why a file was skipped", async () => {
  const warn = async (path: string, text: string) => {
    const { collections, warning } = await parseDeclarations(path, text);
    assertEquals(collections, []);
    return warning;
  };
  assertEquals(
    await warn(".pages.yml", "content:\n  - name: a\n    name: b\n"),
    'Cannot read ".pages.yml": Map keys must be unique (line 3)',
  );
  assertEquals(
    await warn("admin/config.yml", "- a\n- b\n"),
    'Cannot read "admin/config.yml": The text is not a mapping (line 1)',
  );
  assert((await warn("_config.toml", "a = 1\nb = \n"))?.endsWith("(line 2)"));
  assert((await warn("_config.yml", `a: ${"x".repeat(300_000)}`))?.includes("longer than"));
});

Deno.test("parseDeclarations() bounds what a hostile configuration may cost", async () => {
  let bomb = "a0: &a0 {name: x}\n";
  for (let i = 1; i < 30; i++) {
    bomb += `a${i}: &a${i} {<<: [${Array(9).fill(`*a${i - 1}`).join(", ")}]}\n`;
  }
  const { warning } = await parseDeclarations("admin/config.yml", `${bomb}collections: [*a29]\n`);
  assert(warning?.includes("Aliases repeat"), String(warning));
  // Slashes that a backtracking expression would go over 10^10 times.
  const slashes = `content: [{name: a, type: collection, path: "${"/".repeat(200_000)}a${
    "/".repeat(50_000)
  }b"}]`;
  assertEquals(await folders(".pages.yml", slashes), {});
});

Deno.test("parseDeclarations() takes the first of a name, and 200 collections", async () => {
  const config = (count: number, name: (index: number) => string) =>
    "collections:\n" +
    Array.from({ length: count }, (_, i) => `  - { name: ${name(i)}, folder: f${i} }\n`).join("");
  assertEquals(await folders("admin/config.yml", config(300, () => "posts")), { posts: "f0" });
  assertEquals(
    Object.keys(await folders("admin/config.yml", config(200, (i) => `c${i}`))).length,
    200,
  );
  const cut = await parseDeclarations("admin/config.yml", config(201, (i) => `c${i}`));
  assertEquals(cut.collections.at(-1)?.name, "c199");
  assertEquals(
    cut.warning,
    'Cannot read "admin/config.yml" whole: it declares more than 200 collections',
  );
});

Deno.test("parseDeclarations() skips names that cannot be requested, and folders too deep", async () => {
  const bad = ["/a", "a/", "a//b", ".", "..", '"a\\tb"', "x".repeat(1025)];
  for (const name of bad) {
    const config = `collections: [{ name: ${name}, folder: posts }]`;
    assertEquals([name, await folders("admin/config.yml", config)], [name, {}]);
  }
  for (const name of ["Mein Blog", "a/b", "x".repeat(1024)]) {
    const config = `collections: [{ name: ${name}, folder: posts }]`;
    assertEquals(await folders("admin/config.yml", config), { [name]: "posts" });
  }
  const deep = "a/".repeat(512);
  assertEquals(
    await folders("admin/config.yml", `collections: [{ name: a, folder: ${deep}b }]`),
    {},
  );
});
