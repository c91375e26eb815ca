import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { readConfig } from "../../lib/content/cms.ts";
import { compileRule, type Declared } from "../../lib/content/declared.ts";
import { DECAP_CMS, PAGES_CMS } from "./cms_configurations.ts";

const parse = (path: string, text: string) =>
  readConfig({ path, bytes: new TextEncoder().encode(text) });

function declare(path: string, text: string): readonly Declared[] {
  const { collections, warning } = parse(path, text);
  assertEquals(warning, null);
  for (const { source } of collections) assertEquals(source, path);
  return collections;
}

function folders(path: string, text: string): Record<string, string> {
  return Object.fromEntries(
    declare(path, text).map(({ name, folder }) => [name, folder]),
  );
}

const PATHS =
  ("README.md hello.md hello.mdx data.json data.yml 2026/hello.md " +
    "2026/README.md 2026/index.md 2026/05/hello.md drafts/idea.md").split(" ");
const MARKDOWN = PATHS.filter((path) => path.endsWith(".md"));
const DIRECT = MARKDOWN.filter((path) => !path.includes("/"));
const TWO = MARKDOWN.filter((path) => path.split("/").length <= 2);

/** Which of PATHS are entries of each collection. */
function entriesOf(path: string, text: string) {
  return Object.fromEntries(
    declare(path, text).map((
      { name, rule },
    ) => [name, PATHS.filter(compileRule(rule))]),
  );
}

Deno.test("readConfig() reads the collections of Pages CMS", () => {
  assertEquals(entriesOf(".pages.yml", PAGES_CMS), {
    posts: ["hello.md", "2026/hello.md", "2026/index.md", "2026/05/hello.md"],
    flat: ["hello.md"],
    authors: ["data.json"],
    everything: PATHS,
    mdx: ["hello.mdx"],
    products: MARKDOWN,
    brands: MARKDOWN,
  });
  const { posts, flat, everything } = folders(".pages.yml", PAGES_CMS);
  assertEquals([posts, flat, everything], ["src/posts", "content/flat", ""]);
});

Deno.test("readConfig() reads the folder collections of Decap CMS", () => {
  for (const folder of ["admin", "static/admin", "public/admin"]) {
    const path = `${folder}/config.yml`;
    assertEquals(entriesOf(path, DECAP_CMS), {
      blog: DIRECT,
      pages: TWO,
      tree: MARKDOWN,
      deep: MARKDOWN,
      bundles: ["2026/index.md"],
      years: TWO.filter((path) => path.includes("/")),
      mdx: ["hello.mdx"],
      dotted: DIRECT,
      data: ["data.yml"],
      translated: MARKDOWN,
      files: MARKDOWN,
      merged: ["data.json"],
      first: ["hello.mdx"],
    });
    const { blog, mdx, first } = folders(path, DECAP_CMS);
    assertEquals([blog, mdx, first], ["_posts/blog", "docs", "content/shared"]);
  }
});

Deno.test("readConfig() reads the collections of Jekyll", () => {
  const path = "_config.yml";
  const members = "\ufeffcollections:\n  - staff_members\n";
  assertEquals(entriesOf(path, members)["staff_members"], PATHS);
  assertEquals(folders(path, members), {
    staff_members: "_staff_members",
    posts: "_posts",
  });
  const mine =
    "collections_dir: my\ncollections: { books: { output: true }, posts: { output: true } }\n";
  assertEquals(folders("_config.yaml", mine), {
    books: "my/_books",
    posts: "my/_posts",
  });
  const toml = 'source = "./docs"\ncollections = ["books"]\n';
  assertEquals(folders("_config.toml", toml)["books"], "docs/_books");
  const outside = 'collections_dir: "../.."\ncollections: [a]\n';
  assertEquals(folders(path, outside), {});
  const odd = "collections: [a/b, {}, null, 7]\n";
  assertEquals(folders(path, odd), { "7": "_7", posts: "_posts" });
});

Deno.test("readConfig() skips folders and names that cannot be used", () => {
  const declareOne = (name: string, folder: string) =>
    folders(
      "admin/config.yml",
      `collections: [{ name: ${name}, folder: ${folder} }]`,
    );
  const bad = ["..", "a//b", '"a\\u0000b"', "~"];
  const badFolders = "../etc|a/../b|a/./b|./../a|'{{locale}}/posts'|[a]|1"
    .split("|");
  for (const folder of [...bad, ...badFolders, `${"a/".repeat(512)}b`]) {
    assertEquals([folder, declareOne("a", folder)], [folder, {}]);
  }
  for (const name of [...bad, ".", "/a", "a/", "x".repeat(1025)]) {
    assertEquals([name, declareOne(name, "posts")], [name, {}]);
  }
  for (const name of ["Mein Blog", "a/b", "x".repeat(1024)]) {
    assertEquals(declareOne(name, "posts"), { [name]: "posts" });
  }
});

Deno.test("readConfig() survives values of other kinds", () => {
  const values = "1|text|[]|{}|[1, a, null, [[]], {}]|{__proto__: {name: a}}";
  const keys =
    "name path folder exclude subfolders filename extension nested i18n";
  for (const value of values.split("|")) {
    const entry = keys.split(" ").map((key) => `${key}: ${value}`).join(", ");
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
  const rows: [path: string, text: string, warning: string][] = [
    [
      ".pages.yml",
      "content:\n  - name: a\n    name: b\n",
      "Map keys must be unique (line 3)",
    ],
    ["admin/config.yml", "- a\n", "The text is not a mapping (line 1)"],
    ["_config.toml", "a = 1\nb = \n", "(line 2)"],
    [
      "_config.yml",
      `a: ${"x".repeat(300_000)}`,
      "longer than 262144 characters (line 1)",
    ],
  ];
  for (const [path, text, message] of rows) {
    const { collections, warning } = parse(path, text);
    assertEquals(collections, []);
    assert(`${warning}`.startsWith(`Cannot read "${path}": `), `${warning}`);
    assertStringIncludes(`${warning}`, message);
  }
  // Slashes that a backtracking expression would go over 10^10 times.
  const path = `${"/".repeat(200_000)}a${"/".repeat(50_000)}b`;
  const slashes = `content: [{name: a, type: collection, path: "${path}"}]`;
  assertEquals(folders(".pages.yml", slashes), {});
});

Deno.test("readConfig() takes the first of a name, and 200 collections", () => {
  const path = "admin/config.yml";
  const config = (names: readonly string[]) =>
    JSON.stringify({
      collections: names.map((name, at) => ({ name, folder: `f${at}` })),
    });
  assertEquals(folders(path, config(["posts", "posts"])), { posts: "f0" });
  const names = Array.from({ length: 201 }, (_, at) => `c${at}`);
  assertEquals(declare(path, config(names.slice(1))).length, 200);
  const { collections, warning } = parse(path, config(names));
  assertEquals(collections.at(-1)?.name, "c199");
  assertEquals(
    warning,
    `Cannot read "${path}" whole: it declares more than 200 collections`,
  );
});

Deno.test("readConfig() leaves out rules of over 16,384 characters", () => {
  const path = ".pages.yml";
  const config = (length: number) =>
    JSON.stringify({
      content: ["a", "b", "a"].map((name, at) => ({
        ...{ name, type: "collection", path: name },
        exclude: at === 0 ? ["x".repeat(length), "y"] : [],
      })),
    });
  const size = JSON.stringify({ extension: "md", exclude: "/y" }).length;
  const longest = 16_384 - size;
  assertEquals(parse(path, config(longest)).collections.length, 2);
  const { collections, warning } = parse(path, config(longest + 1));
  assertEquals(collections.map(({ name }) => name), ["b"]);
  assertEquals(
    warning,
    `Cannot read "${path}" whole: the rule for the files of "a" has more than ` +
      "16384 characters",
  );
});

const FIELDS_OF_PAGES = `content:
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
`;
const FIELDS_OF_DECAP =
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
`;

/** Checks the fields of the only collection. */
function checkFields(path: string, text: string, fields: readonly string[]) {
  const [collection] = declare(path, text);
  assertEquals(collection!.label, "Posts");
  const expected = fields.map((field) => JSON.parse(field));
  assertEquals(JSON.parse(collection!.fields!), expected);
}

Deno.test("readConfig() reads fields of Pages and Decap CMS alike", () => {
  const shared = (tags: string, more: string) => [
    '{"name":"title","label":"Title","type":"string","required":true}',
    '{"name":"level","type":"select","required":false,"options":["low","high"]}',
    `{"name":"tags","type":"${tags}","required":false,"list":true}`,
    `{"name":"more","type":"${more}","required":false,"list":true}`,
    '{"name":"seo","type":"object","required":false,"fields":[{"name":"text","type":"text","required":false}]}',
  ];
  checkFields(".pages.yml", FIELDS_OF_PAGES, [
    ...shared("string", "reference"),
    '{"name":"shared","type":"component","required":false}',
  ]);
  checkFields("admin/config.yml", FIELDS_OF_DECAP, [
    ...shared("string", "relation"),
    '{"name":"numbers","type":"number","required":true,"list":true}',
    '{"name":"steps","type":"object","required":true,"list":true,"fields":[{"name":"n","type":"number","required":true}]}',
    '{"name":"blocks","type":"object","required":true,"list":true}',
    '{"name":"grid","type":"list","required":true,"list":true}',
  ]);
});

Deno.test("readConfig() gives as many values as there are collections", () => {
  const countIn = (value: unknown): number =>
    typeof value === "object" && value !== null
      ? Object.values(value).reduce((sum: number, one) => sum + countIn(one), 1)
      : 1;
  const fields = "{name: a},".repeat(20_000);
  const decap = declare(
    "admin/config.yml",
    `f: &f [${fields}]\ncollections: [{name: a, folder: a, fields: *f}, {name: b, folder: b, fields: *f}]\n`,
  );
  assert(countIn(decap) < 30, `${countIn(decap)} values`);
  const exclude = "a,".repeat(8_000);
  const pages = declare(
    ".pages.yml",
    `content: [{ name: a, path: a, type: collection, exclude: [${exclude}] }]`,
  );
  assert(countIn(pages) < 20, `${countIn(pages)} values`);
});
