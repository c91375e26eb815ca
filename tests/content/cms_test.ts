import { assert, assertEquals } from "@std/assert";
import { readConfig } from "../../lib/content/cms.ts";
import { compileRule, type Declared } from "../../lib/content/declared.ts";
import { DECAP_CMS, PAGES_CMS } from "./cms_configurations.ts";

const parse = (path: string, text: string) =>
  readConfig({ path, bytes: new TextEncoder().encode(text) });

function declare(path: string, text: string): readonly Declared[] {
  const { collections, warning } = parse(path, text);
  assertEquals(warning, null);
  for (const collection of collections) assertEquals(collection.source, path);
  return collections;
}

function folders(path: string, text: string): Record<string, string> {
  const collections = declare(path, text);
  return Object.fromEntries(
    collections.map(({ name, folder }) => [name, folder]),
  );
}

const PATHS =
  ("README.md hello.md hello.mdx hellomd data.json data.yml 2026/hello.md " +
    "2026/README.md 2026/index.md 2026/05/hello.md drafts/idea.md").split(" ");
const MARKDOWN = PATHS.filter((path) => path.endsWith(".md"));
const DIRECT = MARKDOWN.filter((path) => !path.includes("/"));
const TWO = MARKDOWN.filter((path) => path.split("/").length <= 2);

/**
 * Checks the folder of each collection, and which of PATHS are entries of it.
 */
function checkRules(
  path: string,
  text: string,
  expected: Readonly<
    Record<string, readonly [folder: string, entries: readonly string[]]>
  >,
): void {
  const collections = declare(path, text);
  assertEquals(
    collections.map((
      { name, folder, rule },
    ) => [name, folder, PATHS.filter(compileRule(rule))]),
    Object.entries(expected).map((
      [name, [folder, entries]],
    ) => [name, folder, entries]),
  );
}

Deno.test("readConfig() reads the collections of Pages CMS", () => {
  checkRules(".pages.yml", PAGES_CMS, {
    posts: ["src/posts", [
      "hello.md",
      "2026/hello.md",
      "2026/index.md",
      "2026/05/hello.md",
    ]],
    flat: ["content/flat", ["hello.md"]],
    authors: ["authors", ["data.json"]],
    everything: ["", PATHS],
    mdx: ["docs", ["hello.mdx"]],
    products: ["products", MARKDOWN],
    brands: ["brands", MARKDOWN],
  });
});

Deno.test("readConfig() reads the folder collections of Decap CMS", () => {
  for (const folder of ["admin", "static/admin", "public/admin"]) {
    checkRules(`${folder}/config.yml`, DECAP_CMS, {
      blog: ["_posts/blog", DIRECT],
      pages: ["content/pages", TWO],
      tree: ["content/tree", MARKDOWN],
      deep: ["content/deep", MARKDOWN],
      bundles: ["content/bundles", ["2026/index.md"]],
      years: ["content/years", TWO.filter((path) => path.includes("/"))],
      mdx: ["docs", ["hello.mdx"]],
      dotted: ["docs", DIRECT],
      data: ["data", ["data.yml"]],
      translated: ["i18n", MARKDOWN],
      files: ["i18n", MARKDOWN],
      merged: ["content/shared", ["data.json"]],
      first: ["content/shared", ["hello.mdx"]],
    });
  }
});

Deno.test("readConfig() reads the collections of Jekyll", () => {
  checkRules("_config.yml", "\ufeffcollections:\n  - staff_members\n", {
    staff_members: ["_staff_members", PATHS],
    posts: ["_posts", PATHS],
  });
  const mapping =
    "{ books: { output: true, permalink: /books/:path/ }, posts: { output: true } }";
  const rows: [path: string, text: string, found: Record<string, string>][] = [
    [
      "_config.yaml",
      `title: My site\ncollections_dir: my\ncollections: ${mapping}\n`,
      {
        books: "my/_books",
        posts: "my/_posts",
      },
    ],
    ["_config.toml", 'source = "./docs"\ncollections = ["books"]\n', {
      books: "docs/_books",
      posts: "docs/_posts",
    }],
    ["_config.yml", 'collections_dir: "../.."\ncollections: [a]\n', {}],
    ["_config.yml", "collections: [a/b, {}, null, 7]\n", {
      "7": "_7",
      posts: "_posts",
    }],
  ];
  for (const [path, text, found] of rows) {
    assertEquals(folders(path, text), found);
  }
});

Deno.test("readConfig() skips folders and names that cannot be used", async () => {
  const declareOne = (name: string, folder: string) =>
    folders(
      "admin/config.yml",
      `collections: [{ name: ${name}, folder: ${folder} }]`,
    );
  const bad = ["..", "a//b", '"a\\u0000b"', "~"];
  const badFolders = "../etc a/../b a/./b ./../a '{{locale}}/posts' [a] 1"
    .split(" ");
  for (const folder of [...bad, ...badFolders, `${"a/".repeat(512)}b`]) {
    assertEquals([folder, await declareOne("a", folder)], [folder, {}]);
  }
  for (const name of [...bad, ".", "/a", "a/", "x".repeat(1025)]) {
    assertEquals([name, await declareOne(name, "posts")], [name, {}]);
  }
  for (const name of ["Mein Blog", "a/b", "x".repeat(1024)]) {
    assertEquals(await declareOne(name, "posts"), { [name]: "posts" });
  }
});

Deno.test("readConfig() survives values of other kinds", () => {
  const values = [
    "1",
    "text",
    "[]",
    "{}",
    "[1, a, null, [[]], {}]",
    "{__proto__: {name: a}}",
  ];
  const keys =
    "name path folder exclude subfolders filename extension nested i18n".split(
      " ",
    );
  for (const value of values) {
    const entry = keys.map((key) => `${key}: ${value}`).join(", ");
    const texts = [
      ...["content", "collections", "collections_dir", "source", "i18n"]
        .map((key) => `${key}: ${value}\n`),
      `content: [{type: collection, ${entry}}]\ncollections: [{${entry}}]\n`,
    ];
    for (const path of [".pages.yml", "admin/config.yml", "_config.yml"]) {
      for (const text of texts) {
        for (const { rule } of declare(path, text)) compileRule(rule)("a/b.md");
      }
    }
  }
  assertEquals(({} as Record<string, unknown>).name, undefined);
});

Deno.test("readConfig() says why a file was skipped", () => {
  const bomb = Array.from(
    { length: 30 },
    (_, i) =>
      `a${i}: &a${i} {<<: [${
        i === 0 ? "" : Array(9).fill(`*a${i - 1}`).join(", ")
      }]}\n`,
  );
  const rows: [path: string, text: string, warning: string][] = [
    [
      ".pages.yml",
      "content:\n  - name: a\n    name: b\n",
      "Map keys must be unique (line 3)",
    ],
    ["admin/config.yml", "- a\n- b\n", "The text is not a mapping (line 1)"],
    [
      "admin/config.yml",
      "[".repeat(100_000),
      "nested deeper than 64 levels (line 1)",
    ],
    ["_config.toml", "a = 1\nb = \n", "(line 2)"],
    [
      "_config.yml",
      `a: ${"x".repeat(300_000)}`,
      "longer than 262144 characters (line 1)",
    ],
    [
      "admin/config.yml",
      `${bomb.join("")}collections: [*a29]\n`,
      "Aliases repeat more than",
    ],
  ];
  for (const [path, text, message] of rows) {
    const { collections, warning } = parse(path, text);
    assertEquals(collections, []);
    assert(
      warning?.startsWith(`Cannot read "${path}": `) &&
        warning.includes(message),
      warning!,
    );
  }
  // Slashes that a backtracking expression would go over 10^10 times.
  const path = `${"/".repeat(200_000)}a${"/".repeat(50_000)}b`;
  const slashes = `content: [{name: a, type: collection, path: "${path}"}]`;
  assertEquals(folders(".pages.yml", slashes), {});
});

Deno.test("readConfig() takes the first of a name, and 200 collections", () => {
  const path = "admin/config.yml";
  const config = (...names: string[]) =>
    `collections: [${
      names.map((name, at) => `{ name: ${name}, folder: f${at} }`)
    }]\n`;
  assertEquals(folders(path, config("posts", "posts")), { posts: "f0" });
  const names = Array.from({ length: 201 }, (_, at) => `c${at}`);
  assertEquals((declare(path, config(...names.slice(0, 200)))).length, 200);
  const { collections, warning } = parse(path, config(...names));
  assertEquals(collections.at(-1)?.name, "c199");
  assertEquals(
    warning,
    `Cannot read "${path}" whole: it declares more than 200 collections`,
  );
});

Deno.test("readConfig() reads fields of Pages and Decap CMS alike", () => {
  const fieldsOf = (path: string, text: string) => declare(path, text)[0];
  const pages = fieldsOf(
    ".pages.yml",
    `content:
  - name: posts
    label: Posts
    type: collection
    path: posts
    fields:
      - { name: title, label: Title, type: string, required: true }
      - { name: level, type: select, options: { values: [low, { value: high, label: High }] } }
      - { name: tags, type: string, list: { min: 1 } }
      - { name: more, type: reference, options: { multiple: true, collection: posts } }
      - { name: seo, type: object, fields: [{ name: text, type: text }] }
      - { name: shared, component: shared }
      - { type: string }
      - 7
`,
  );
  const decap = fieldsOf(
    "admin/config.yml",
    `fields: &seo [{ name: text, widget: text, required: false }]
collections:
  - name: posts
    label: Posts
    folder: posts
    fields:
      - { name: title, label: Title }
      - { name: level, widget: select, options: [low, { value: high, label: High }], required: false }
      - { name: tags, widget: list, required: false }
      - { name: more, widget: relation, multiple: true, required: false }
      - { name: seo, widget: object, required: false, fields: *seo }
      - { name: numbers, widget: list, field: { name: n, widget: number } }
      - { name: steps, widget: list, fields: [{ name: n, widget: number }] }
      - { name: blocks, widget: list, types: [{ name: quote }] }
      - { name: grid, widget: list, field: { name: row, widget: list } }
`,
  );
  const text = { name: "text", type: "text", required: false };
  const shared = (strings: { tags: string; more: string }) => [
    { name: "title", label: "Title", type: "string", required: true },
    {
      name: "level",
      type: "select",
      required: false,
      options: ["low", "high"],
    },
    { name: "tags", type: strings.tags, required: false, list: true },
    { name: "more", type: strings.more, required: false, list: true },
    { name: "seo", type: "object", required: false, fields: [text] },
  ];
  assertEquals(JSON.parse(pages!.fields!), [
    ...shared({ tags: "string", more: "reference" }),
    { name: "shared", type: "component", required: false },
  ]);
  const n = { name: "n", type: "number", required: true };
  assertEquals(JSON.parse(decap!.fields!), [
    ...shared({ tags: "string", more: "relation" }),
    { name: "numbers", type: "number", required: true, list: true },
    { name: "steps", type: "object", required: true, list: true, fields: [n] },
    { name: "blocks", type: "object", required: true, list: true },
    { name: "grid", type: "list", required: true, list: true },
  ]);
  assertEquals([pages?.label, decap?.label], ["Posts", "Posts"]);
});

Deno.test("readConfig() gives as many values as there are collections", () => {
  const countIn = (value: unknown): number =>
    typeof value === "object" && value !== null
      ? Object.values(value).reduce((sum: number, one) => sum + countIn(one), 1)
      : 1;
  const many = (text: string) => text.repeat(20_000);
  const decap = declare(
    "admin/config.yml",
    `f: &f [${many("{name: a},")}]
collections:
  - { name: a, folder: a, fields: *f }
  - { name: b, folder: b, fields: *f }
`,
  );
  const pages = declare(
    ".pages.yml",
    `content: [{ name: a, path: a, type: collection, exclude: [${
      many("a,")
    }] }]`,
  );
  assertEquals([decap.length, pages.length], [2, 1]);
  assert(countIn(decap) < 30, `${countIn(decap)} values`);
  assert(countIn(pages) < 20, `${countIn(pages)} values`);
});
