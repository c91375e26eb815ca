// Schemas and types of front matter as real sites write it: every item fits the
// schema by Ajv, and the type by TypeScript.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { transformSync } from "amaro";
import type { Collection } from "../../packages/client/client.ts";
import type { GitFiles } from "../github/git_repository.ts";
import { type TestService, typesPath } from "../service.ts";
import { startSite } from "../site.ts";
import { root } from "../source_files.ts";
import { run } from "../static/run_command.ts";

const yaml = (text: string) => `---\n${text}\n---\nText\n`;
const toml = (text: string) => `+++\n${text}\n+++\nText\n`;

/** Front matter as generators have it, by what is special in it. */
const SHAPES: Readonly<Record<string, readonly string[]>> = {
  jekyll: [
    yaml(
      "layout: post\ntitle: 'A'\ndate: 2024-01-02 10:00:00 +0100\ncategories: a b",
    ),
    yaml("layout: post\ntitle: B\ndate: 2024-01-03\ncategories: [a, b]"),
    yaml("layout: post\ntitle: 3"),
  ],
  hugoToml: [
    toml('title = "A"\ndate = 2024-01-02T10:00:00Z\ndraft = true\nweight = 1'),
    toml(
      'title = "B"\ndate = 2024-01-02T10:00:00+02:00\nweight = 1.5\n[params]\nx = 1',
    ),
  ],
  hugoYaml: [
    yaml("title: A\ncascade:\n  - _target: {path: /a/**}\n    x: 1"),
    yaml("title: B\nmenu: main\naliases: [/a]\nresources: []"),
    yaml("title: C\nmenu:\n  main: {weight: 10}"),
  ],
  starlight: [
    yaml("title: B\nsidebar: {order: 1, badge: {text: New}}"),
    yaml("title: C\nsidebar: {order: 2, badge: New}\ntableOfContents: false"),
  ],
  docusaurus: [
    yaml("id: a\nsidebar_position: 1\ntags: [a, {label: B, permalink: /b}]"),
    yaml("id: c\nauthors: {name: Bob, url: 'https://a.test'}"),
  ],
  vitepress: [
    yaml(
      "layout: home\nfeatures:\n  - {icon: a, title: b}\n  - {icon: {src: a}, title: b, link: /}",
    ),
    yaml("layout: doc\nhead: [[meta, {name: a, content: b}], [link, {}]]"),
  ],
  ghost: [
    yaml("title: A\nfeature_image: null\nfeatured: 0"),
    yaml("title: B\nfeature_image: a.png\nfeatured: 1"),
  ],
  recipes: [
    yaml("servings: 4\nsteps:\n  - [a, 1]\n  - [b, 2.5]"),
    yaml("servings: 2-3\nsteps: []"),
  ],
  translations: [
    yaml("title: {en: A, de: B}"),
    yaml("title: {en: A, fr: C}"),
    yaml("title: A"),
  ],
  empty: [yaml(""), "no front matter\n", yaml("- a list")],
  broken: [yaml("a: [1"), yaml("a: 1"), yaml("a: {b: 1}")],
  numbers: [
    yaml("a: 1\nb: 1e400\nc: 0x1F"),
    yaml("a: 1.5\nb: .nan\nc: 12345678901234567890"),
  ],
  hostileKeys: [
    yaml(
      `__proto__: {a: 1}\nconstructor: a\ntoString: 1\n"a\\u2028b": 1\n"*/ }": 1\n"": 1\n"\\\\": 2`,
    ),
    yaml(
      `constructor: b\n'"; evil(); "': "\${x}"\n"\\uD800": 1\n'</script>': 1`,
    ),
  ],
  hostileChoices: [
    ...['"\\"; }\\u2028 export const x = 1; //"', "'*/ `${a}`'", '"\\\\"'],
  ].flatMap((text) => Array(3).fill(yaml(`a: ${text}`))),
  nested: [
    yaml(`a: ${"{a: ".repeat(40)}1${"}".repeat(40)}`),
    yaml(`a: ${"[".repeat(40)}1${"]".repeat(40)}`),
  ],
};

const FILES: GitFiles = Object.fromEntries(
  Object.entries(SHAPES).flatMap(([name, texts]) =>
    texts.map((text, n) => [`content/${name}/${n}.md`, text] as const)
  ),
);

/** Checks the files of a program as `tsc --strict` does. */
async function compile(
  files: Readonly<Record<string, string>>,
  mayFail = false,
) {
  const cwd = await Deno.makeTempDir();
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(`${cwd}/${name}`, text);
  }
  const names = Object.keys(files);
  const result = await run(
    Deno.execPath(),
    ["check", "--no-config", "--quiet", ...names],
    { cwd, mayFail },
  );
  await Deno.remove(cwd, { recursive: true });
  return result;
}

/** The types, which have to be declarations alone. */
async function typesOf(service: TestService): Promise<string> {
  const response = await service.get(typesPath());
  const code = await response.text();
  assertEquals(response.status, 200, code);
  const { code: left } = transformSync(code, { mode: "strip-only" });
  assertEquals(left.replace(/^\/\/.*\n/, "").replaceAll(";", "").trim(), "");
  return code;
}

async function itemsOf(service: TestService, collection: string) {
  const { items } = await service.list({
    collection,
    includeFrontMatter: true,
    limit: 1000,
  });
  return items.map(({ frontMatter }) => frontMatter).filter((data) =>
    data !== undefined
  );
}

function validatorOf({ schema }: Collection) {
  const ajv = new Ajv2020({
    strict: true,
    allowUnionTypes: true,
    ownProperties: true,
  });
  (addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
  return ajv.compile(schema!);
}

/** Leaves out keys that no schema describes. */
const describable = (key: string, value: unknown) =>
  key.isWellFormed() ? value : undefined;

Deno.test("front matter of any shape fits its schema and type", async () => {
  await using site = await startSite(FILES, { env: { LOG_LEVEL: "error" } });
  const { service } = site;
  const { collections } = await service.collections({ includeSchema: true });
  assertEquals(
    collections.map(({ name }) => name),
    Object.keys(SHAPES).map((name) => `content/${name}`).sort(),
  );
  const lines = ['import type { Collections } from "./types.ts";'];
  for (const collection of collections) {
    const validate = validatorOf(collection);
    for (const item of await itemsOf(service, collection.name)) {
      const errors = validate(item) ? null : validate.errors;
      assertEquals([collection.name, errors], [collection.name, null]);
      const type = `Collections[${JSON.stringify(collection.name)}]`;
      const value = JSON.stringify(item, describable);
      lines.push(`export const _${lines.length}: ${type} = ${value};`);
    }
  }
  assertEquals(lines.length, 1 + Object.values(SHAPES).flat().length - 3);
  const types = await typesOf(service);
  await compile({ "types.ts": types, "items.ts": lines.join("\n") });

  // Unions, lists of lists, and keys that only some items have.
  const [recipes, translations] = ["recipes", "translations"].map((name) =>
    collections.find(({ path }) => path === `content/${name}`)!.schema!
  );
  const string = { type: "string" };
  assertEquals<unknown>(recipes!["properties"], {
    servings: { type: ["integer", "string"] },
    steps: {
      type: "array",
      items: { type: "array", items: { type: ["string", "number"] } },
    },
  });
  assertEquals<unknown>(translations!["properties"], {
    title: {
      type: ["object", "string"],
      properties: { en: string, de: string, fr: string },
      required: ["en"],
    },
  });
});

Deno.test("data files beside posts leave their schema as it is", async () => {
  await using site = await startSite({
    "posts/a.md": yaml("title: A"),
    "posts/b.md": yaml("title: B"),
    "posts/data.json": '{"name": "Ann"}',
    "posts/fenced.yaml": yaml("title: C"),
  });
  const { service } = site;
  const { collections } = await service.collections({ includeSchema: true });
  assertEquals(collections[0]?.schema?.required, ["title"]);
  assertMatch(await typesOf(service), /Posts \{\n {2}"title": string;\n\}/);
});

Deno.test("a declared schema is that of the fields", async () => {
  const config = `collections:
  - name: posts
    folder: content/posts
    fields:
      - { name: title, widget: string }
      - { name: level, widget: select, options: [low, high, 3], required: false }
      - { name: date, widget: datetime, required: false }
      - { name: draft, widget: boolean, required: false }
      - { name: rating, widget: number }
      - { name: tags, widget: list, required: false }
      - { name: pictures, widget: image, multiple: true }
      - { name: seo, widget: object, required: false, fields: [{ name: text, widget: text }] }
      - { name: steps, widget: list, fields: [{ name: n, widget: number, required: false }] }
      - { name: extra, widget: mine }
      - { name: body, widget: markdown }
`;
  await using site = await startSite({
    "admin/config.yml": config,
    "content/posts/a.md": yaml(
      "title: A\nlevel: high\ndate: 2024-01-02\ndraft: true\nrating: 5\ntags: [a]\npictures: [a.png]\nseo: {text: a}\nsteps: [{n: 1}, {}]\nextra: [1]",
    ),
    "content/posts/b.md": yaml(
      "title: B\nlevel: ''\ndate:\nrating: 0.5\ntags:\npictures: []\nsteps: []\nextra: a",
    ),
  });
  const { service } = site;
  const { collections } = await service.collections({ includeSchema: true });
  const validate = validatorOf(collections[0]!);
  const items = await itemsOf(service, "posts");
  const wrong = [
    { title: undefined },
    { level: "middle" },
    { rating: "5" },
    { tags: "a" },
    { steps: [{ n: "1" }] },
    { seo: {} },
  ];
  const broken = wrong.map((part) => ({ ...items[0], ...part }))
    .map((item) => JSON.stringify(item));
  for (const item of items) assert(validate(item));
  for (const item of broken) assert(!validate(JSON.parse(item)), item);

  const types = await typesOf(service);
  assert(types.includes('\n    "text"'), types);
  const compileItems = (items: readonly string[], mayFail = false) => {
    const lines = items.map((item, n) =>
      `export const x${n}: Collections["posts"] = ${item};\n`
    );
    const head = 'import type { Collections } from "./types.ts";\n';
    const files = { "types.ts": types, "items.ts": head + lines.join("") };
    return compile(files, mayFail);
  };
  await compileItems(items.map((item) => JSON.stringify(item)));
  const { success, all } = await compileItems(broken, true);
  assert(!success && all.includes(`Found ${wrong.length} errors`), all);
});

Deno.test("hostile names stay inside of the types", async () => {
  const names = [
    '"; export const x = 1; {',
    "*/ evil(); /*",
    "${evil}`",
    "__proto__",
    "constructor",
    "Collections",
    "collections",
    "日本語",
    "日本",
    "2024 posts",
    "string",
    "a\u2028b",
    "größe & co",
    "\\",
  ];
  const declared = names.map((name, n) => ({ name, folder: `content/f${n}` }));
  const key = '"}; export const y = 1; interface Z { "a';
  await using site = await startSite({
    "admin/config.yml": JSON.stringify({ collections: declared }),
    ...Object.fromEntries(
      names.map((_, n) => [
        `content/f${n}/a.md`,
        yaml(JSON.stringify({ title: "A", [key]: n })),
      ]),
    ),
  });
  const types = await typesOf(site.service);
  const found = [...types.matchAll(/^export interface (\S+)/gm)]
    .map(([, name]) => name);
  assertEquals(found, [
    "ExportConstX1",
    "Evil",
    "Evil2",
    "Proto",
    "Constructor",
    "Collections2",
    "Collections3",
    "Collection",
    "Collection2",
    "Collection2024Posts",
    "String",
    "AB",
    "GroECo",
    "Collection3",
    "Collections",
  ]);
  const client = await Deno.readTextFile(`${root}/packages/client/client.ts`);
  const main = `import { CollectionsClient } from "./client.ts";
import type { Collections } from "./types.ts";
const client = new CollectionsClient<Collections>("http://localhost:8000");
const repository = { owner: "a", repo: "b" };
const posts = client.collection("日本語", repository);
for await (const { frontMatter } of posts.items({ includeFrontMatter: true })) {
  const title: string | undefined = frontMatter?.title;
  // @ts-expect-error: another type.
  const number: number | undefined = frontMatter?.title;
  console.log(title, number);
}
// @ts-expect-error: no such collection.
client.collection("nope", repository);
new CollectionsClient("http://localhost:8000/").collection("any", repository);
`;
  await compile({ "types.ts": types, "client.ts": client, "main.ts": main });
});
