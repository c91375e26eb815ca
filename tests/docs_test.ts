// Runs the commands and programs of the documents and examples, and compares
// the documents' tables with the code.

import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import openApi from "../lib/api/openapi.json" with { type: "json" };
import { readConfig } from "../lib/content/cms.ts";
import { readFrontMatter } from "../lib/content/front_matter.ts";
import { ERRORS } from "../lib/errors.ts";
import { parseSettings, SETTING_NAMES } from "../lib/settings.ts";
import { serveTask } from "./run_task.ts";
import { readSourceFiles, root } from "./source_files.ts";
import { run } from "./static/run_command.ts";

const read = (path: string) => Deno.readTextFile(join(root, path));
const paths = ["README.md", "CONTRIBUTING.md", "SECURITY.md"];
for await (const { name } of Deno.readDir(join(root, "docs"))) {
  paths.push(`docs/${name}`);
}
const documents = (await Promise.all(paths.map(read))).join("\n");
const readme = await read("README.md");
const ORIGIN = "http://localhost:8000";

/** The code that a table's cell consists of, or null. */
const code = (cell: string) => cell.match(/^`([^`]*)`$/)?.[1] ?? null;

/** The rows of the tables of a document whose head begins with these cells. */
async function table(path: string, ...head: string[]): Promise<string[][]> {
  const cells = (line: string) =>
    line.split("|").slice(1, -1).map((cell) => cell.trim());
  const tables = (await read(path)).match(/(^\|.*\n)+/gm) ?? [];
  const rows = tables.map((text) => text.trim().split("\n").map(cells))
    .filter(([names]) => head.every((name, column) => names![column] === name))
    .flatMap(([_names, _line, ...rows]) => rows);
  assert(rows.length > 0, `there is no table of ${head}`);
  return rows;
}

Deno.test("the documents' requests are answered as they say", async () => {
  await using service = await serveTask("start", { env: { METRICS: "true" } });
  const requests = [
    ...documents.matchAll(
      /```sh\ncurl (?:-g )?'([^'\n]+)'\n```(?:\n\n```json\n(.*?)\n```)?/gs,
    ),
  ];
  assertEquals(requests.length, documents.match(/^ *curl /gm)!.length);
  assert(requests.filter(([, , answer]) => answer !== undefined).length >= 3);
  for (const [text, url, answer] of requests) {
    assert(url!.startsWith(`${ORIGIN}/`), url);
    // curl reads other brackets as ranges.
    assert(text!.includes("-g") || !/[[{]/.test(url!), url);
    const response = await fetch(url!.replace(ORIGIN, service.url));
    const body = (await response.text()).replaceAll(service.url, ORIGIN);
    if (answer === undefined) {
      assertEquals(response.status, 200, url);
      continue;
    }
    const actual = JSON.parse(body);
    const expected = JSON.parse(answer);
    if ("requestId" in expected) actual.requestId = expected.requestId;
    assertEquals(actual, expected);
  }
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  const named = [
    ...(await read("docs/operations.md")).matchAll(/`(collections_\w+)`/g),
  ];
  assert(named.length >= 4);
  for (const [, name] of named) {
    assert(metrics.includes(`# TYPE ${name} `), name);
  }
});

/** Replaces texts, given in pairs, each of which has to be there. */
function vary(program: string, replaced: readonly string[]): string {
  for (let at = 0; at < replaced.length; at += 2) {
    assert(program.includes(replaced[at]!), `no ${replaced[at]}`);
    program = program.replaceAll(replaced[at]!, replaced[at + 1]!);
  }
  return program;
}

/** The programs of the guides, and last the search field, with words typed. */
function guidePrograms(guides: string): string[] {
  const programs = [...guides.matchAll(/```js\n(.*?)```/gs)];
  const [, field] = guides.slice(guides.indexOf("\n## Search"))
    .match(/<script type="module">\n(.*?)<\/script>/s)!;
  const page = `const words = { value: "sourdough star" };
const found = { set innerHTML(html) { console.log(html.toLowerCase()); } };`;
  const typed = `${page}\n${field}\nawait words.oninput();`;
  return [...programs.map(([, program]) => program!), typed];
}

/** Makes a function of parameters and a program, as `Function` does. */
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;

Deno.test("the README's calls and the blog's lines do what they say", async () => {
  await using service = await serveTask("start");
  const [, call, output] = readme.match(
    /```js\n(const [^`]*? fetch\(.*?)```\n\n```text\n(.*?)```/s,
  )!;
  const lines: string[] = [];
  const log = (...values: unknown[]) => lines.push(`${values.join(" ")}\n`);
  await AsyncFunction("console", call!.replace(ORIGIN, service.url))({ log });
  assertEquals([lines.join(""), lines.length], [output, 10]);

  // A reader shows all, leaves filters out, or names another folder.
  const variants = [
    ["limit=10", "limit=50"],
    ["&filter[name]=*.md", "", "limit=10", "limit=50"],
    ["collection=posts", "collection=docs", "&sort=-frontMatter.date", ""],
    ["collection=posts", "collection=/"],
  ];
  for (const variant of variants) {
    lines.length = 0;
    const varied = vary(call!, [ORIGIN, service.url, ...variant]);
    await AsyncFunction("console", varied)({ log });
    assert(lines.length > 2, variant.join());
    assert(!lines.join("").includes("undefined"), lines.join(""));
  }

  const cwd = await Deno.makeTempDir();
  const [, install] = readme.match(/^npm install (\S+)$/m)!;
  await Deno.writeTextFile(
    join(cwd, "package.json"),
    '{ "type": "module" }',
  );
  const address = install!.replace(ORIGIN, service.url);
  await run("npm", ["install", "--no-audit", address], { cwd });
  const client = await read("packages/client/README.md");
  const programs: [program: string, ...variant: string[]][] = [
    [readme.match(/```js\n(import [^`]*?CollectionsClient.*?)```/s)![1]!],
    [client.match(/```ts\n(import .*?)```/s)![1]!],
  ];
  const [, script] = readme.match(/<script type="module">\n(.*?)<\/script>/s)!;
  const list = "const list = { append: console.log };";
  programs.push([`${list}\n${script}`]);
  for (const [program] of [...programs]) {
    const [filter] = program.match(/filter: \{.*?\}/)!;
    programs.push([program, filter, "filter: {}"]);
  }
  const outputs: string[] = [];
  for (const [program, ...variant] of programs) {
    const varied = vary(program, [ORIGIN, service.url, ...variant]);
    await Deno.writeTextFile(join(cwd, "main.ts"), varied);
    const flags = ["--check", "--no-lock", "--allow-all"];
    const { out } = await run("deno", ["run", ...flags, "main.ts"], { cwd });
    assert(!out.includes("undefined"), out);
    outputs.push(out);
  }
  const guides = await read("docs/guides.md");
  const printed: string[] = [];
  for (const program of guidePrograms(guides)) {
    const varied = program.replaceAll(ORIGIN, service.url);
    await Deno.writeTextFile(join(cwd, "guide.js"), varied);
    const args = ["run", "--no-lock", "--allow-all", "guide.js"];
    printed.push((await run("deno", args, { cwd })).out.replaceAll(
      service.url,
      ORIGIN,
    ));
  }
  const raw =
    `${ORIGIN}/api/get-item-content?owner=local&repo=blog&branch=main`;
  assertEquals(printed.slice(0, -1), [
    "5 of 12\n12 in all\n",
    `${raw}&path=posts%2F2025%2Fcrumb.png&format=raw\n` +
    `${raw}&path=images%2Foven.svg&format=raw\n`,
    "posts/2026/apple-days.md\n",
    "12\n",
    "12\n",
  ]);
  assert(printed.at(-1)!.includes("<mark>starter</mark>"), printed.at(-1));
  await Deno.remove(cwd, { recursive: true });
  assertEquals(outputs[0]!.match(/^Apple days \d+$/gm)!.length, 1);
  const pictures = outputs.map((out) => /crumb/.test(out));
  assertEquals(pictures, [false, false, false, true, true, true]);

  const post = await read(
    "examples/blog/posts/2026/our-shop-window-reads-this-blog.md",
  );
  const [, shopWindow] = post.match(/```js\n(.*?)```/s)!;
  const program = `${shopWindow!.replace(ORIGIN, service.url)}; return titles;`;
  const titles: string[] = await AsyncFunction(program)();
  assertEquals([titles.length, titles[0], titles.at(-1)], [
    10,
    "Apple days",
    "Opening day",
  ]);
});

Deno.test("the example page makes two calls and loads DOMPurify", async () => {
  const html = await read("examples/page/index.html");
  const [, script, ...others] = html.split(/<script[^>]*>|<\/script>/);
  assertEquals(others.length, 1, "one script");
  const loaded = script!.match(/\bimport\b.*?[;,)]|\bsrc=/g);
  assertEquals(loaded, ["import(`${service}/vendor/dompurify.js`)"]);
  const calls = script!.matchAll(/\b(?:ask\("([a-z-]+)"|fetch\()/g);
  const operations = ["get-item-content", "list-collection-items"];
  assertEquals([...calls].map(([, name]) => name).sort(), [
    ...operations,
    undefined,
  ]);
});

Deno.test("the documents name tasks, files and headings that exist", async () => {
  const { tasks } = JSON.parse(await read("deno.json"));
  const named = [
    ...documents.matchAll(/deno task (?:--?\S+ )*([a-z:-]+[a-z])/g),
  ];
  assert(named.length >= 10);
  for (const [text, task] of named) assert(task! in tasks, text);
  for (const command of ["npx -y deno task start", "npx -y deno task test"]) {
    assert(readme.includes(`\`\`\`sh\n${command}\n\`\`\``), command);
  }
  const mentioned = [
    ...documents.matchAll(/`((?:lib|tests|jsr|routes|bench)\/[a-z0-9_/.]+)`/g),
  ];
  for (const [, path] of mentioned) await Deno.stat(join(root, path!));
  for (const file of paths) {
    for (
      const [, link] of (await read(file)).matchAll(/\]\((?!https?:)([^)]+)\)/g)
    ) {
      const [path, heading] = link!.split("#");
      const target = path === "" ? file : join(file, "..", path!);
      await Deno.stat(join(root, target));
      if (heading === undefined) continue;
      const ids = [...(await read(target)).matchAll(/^#+ (.*)$/gm)].map((
        [, text],
      ) =>
        text!.toLowerCase().replaceAll(/[^\w\- ]/g, "").replaceAll(" ", "-")
      );
      assert(ids.includes(heading), `${file}: ${link}`);
    }
  }
});

Deno.test("the ok task checks what .ci/run checks", async () => {
  const { tasks } = JSON.parse(await read("deno.json"));
  const [, checks] = (await read(".ci/run")).match(/^for check in (.*); do$/m)!;
  const commands = [...checks!.matchAll(/"([^"]+)"/g)].map(([, words]) =>
    `deno ${words}`
  );
  assertEquals(tasks.ok.split(" && "), [...commands, "deno task test"]);
});

Deno.test("the documented parameters and errors are those of the code", async () => {
  const parameters = Object.values(openApi.paths).flatMap(({ get }) =>
    get.parameters.filter(({ name }) => name !== "filter").map(
      ({ name, required, schema }) => {
        const { default: value } = schema;
        return [
          name,
          required ? "yes" : "no",
          value === undefined ? null : String(value),
        ];
      },
    )
  );
  const rows = (await table("docs/api.md", "parameter", "required", "default"))
    .filter(([name]) => !name!.includes("["))
    .map(([name, required, value]) => [code(name!), required, code(value!)]);
  assertEquals(rows, parameters);

  const errors = (await table("docs/api.md", "status", "code"))
    .map(([status, name]) => [code(name!), Number(status)]);
  assertEquals(
    errors,
    Object.entries(ERRORS).map(([name, { status }]) => [name, status]),
  );
});

/** Where an event is logged; the log itself writes one, too. */
const EVENT = /\b(?:log|this)\.(debug|info|warn|error)\(\s*"([^"]+)"/g;

Deno.test("the documented events are logged at their levels", async () => {
  const sources = await readSourceFiles();
  const logged = sources.filter(({ path }) =>
    path === "main.ts" || path.startsWith("lib/")
  )
    .flatMap(({ text }) => [...text.matchAll(EVENT)])
    .map(([, level, event]) => `${level} ${event}`);
  const rows = (await table("docs/operations.md", "level", "event"))
    .map(([level, event]) => `${code(level!)} ${code(event!)}`);
  assertEquals(rows.toSorted(), [...new Set(logged)].toSorted());
});

Deno.test("the documented limits of front matter are those of the code", async () => {
  const limits = (await read("docs/limits.md")).replaceAll(/\s+/g, " ");
  const tooMuch = [
    "x".repeat(300_000),
    "[".repeat(100) + "]".repeat(100),
    `\n  a: &a [${"x".repeat(2_000)}]\n  b: [${"*a, ".repeat(1_000)}]`,
  ];
  for (const value of tooMuch) {
    const read = readFrontMatter(`---\nkey: ${value}\n---\n`);
    const bytes = new TextEncoder().encode(`key: ${value}\n`);
    const { warning } = readConfig({ path: ".pages.yml", bytes });
    for (const message of [read.frontMatterError!.message, warning!]) {
      const [, limit, unit] = message.match(/ than (\d+) (characters|levels)/)!;
      assert(
        limits.includes(`${Number(limit).toLocaleString("en-US")} ${unit}`),
        message,
      );
    }
  }
});

Deno.test("the documented settings and .env.example are complete", async () => {
  const rows = (await table("docs/operations.md", "variable", "default"))
    .map(([name, fallback]) => [code(name!)!, code(fallback!)]);
  assertEquals(rows.map(([name]) => name), [...SETTING_NAMES]);
  const defaults = Object.fromEntries(
    rows.filter(([, fallback]) => fallback !== null),
  );
  assert(Object.keys(defaults).length >= 10);
  assertEquals(
    parseSettings((name) => defaults[name]),
    parseSettings(() => undefined),
  );

  const lines = (await read(".env.example")).split("\n").filter((line) =>
    /^#?\w+=/.test(line)
  );
  const given = lines.map((line) => line.match(/^#(\w+)=(.*)$/)!.slice(1));
  assertEquals(given.map(([name]) => name), [...SETTING_NAMES]);
  const values = Object.fromEntries(given);
  for (const [name, fallback] of Object.entries(defaults)) {
    assertEquals(values[name], fallback);
  }
  parseSettings((name) => values[name]);
});

Deno.test("the functions of a request are where CONTRIBUTING says", async () => {
  const text = (await read("CONTRIBUTING.md")).replaceAll(/\s+/g, " ");
  const steps = [...text.matchAll(/`(?:\w+\.)?(\w+)\(\)` in `([\w/.]+)`/g)];
  assert(steps.length >= 17);
  for (const [, name, path] of steps) {
    const code = await read(path!);
    const isThere = new RegExp(`\\b${name}(\\(|<|: )`).test(code);
    assert(isThere, `${name}() is not in ${path}`);
  }
});
