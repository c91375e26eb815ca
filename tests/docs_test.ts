// Runs the commands and programs of the documents and examples, and compares
// the documents' tables with the code.

import { assert, assertEquals, assertMatch } from "@std/assert";
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
  const here = (program: string) => program.replaceAll(ORIGIN, service.url);
  const [, call, output] = readme.match(
    /```js\n(const [^`]*? fetch\(.*?)```\n\n```text\n(.*?)```/s,
  )!;
  const lines: string[] = [];
  const log = (...values: unknown[]) => lines.push(`${values.join(" ")}\n`);
  await AsyncFunction("console", here(call!))({ log });
  assertEquals([lines.join(""), lines.length], [output, 10]);

  const post = await read(
    "examples/blog/posts/2026/our-shop-window-reads-this-blog.md",
  );
  const [, shopWindow] = post.match(/```js\n(.*?)```/s)!;
  const program = `${here(shopWindow!)}; return titles;`;
  const titles: string[] = await AsyncFunction(program)();
  assertEquals(titles.length, 10);
  assertEquals([titles[0], titles.at(-1)], ["Apple days", "Opening day"]);
});

Deno.test("the programs with the client do what they say", async () => {
  await using service = await serveTask("start");
  const cwd = await Deno.makeTempDir();
  const [, install] = readme.match(/^npm install (\S+)$/m)!;
  await Deno.writeTextFile(join(cwd, "package.json"), '{ "type": "module" }');
  const address = install!.replace(ORIGIN, service.url);
  await run("npm", ["install", "--no-audit", address], { cwd });
  const outputOf = async (program: string, ...flags: string[]) => {
    const file = join(cwd, "main.ts");
    await Deno.writeTextFile(file, program.replaceAll(ORIGIN, service.url));
    const args = ["run", ...flags, "--no-lock", "--allow-all", file];
    const { out } = await run("deno", args, { cwd });
    assert(!out.includes("undefined"), out);
    return out.replaceAll(service.url, ORIGIN);
  };
  const [, first] = readme.match(
    /```js\n(import [^`]*?CollectionsClient.*?)```/s,
  )!;
  assertMatch(await outputOf(first!, "--check"), /^Apple days \d+$/m);
  const client = await read("packages/client/README.md");
  const [, typed] = client.match(/```ts\n(import .*?)```/s)!;
  await outputOf(typed!, "--check");

  const raw =
    `${ORIGIN}/api/get-item-content?owner=local&repo=blog&branch=main`;
  const expected = [
    "5 of 12\n12 in all\n",
    `${raw}&path=posts%2F2025%2Fcrumb.png&format=raw\n` +
    `${raw}&path=images%2Foven.svg&format=raw\n`,
    "posts/2026/apple-days.md\n",
    "12\n",
    "12\n",
  ];
  const programs = guidePrograms(await read("docs/guides.md"));
  const field = await outputOf(programs.pop()!);
  assert(field.includes("<mark>starter</mark>"), field);
  assertEquals(programs.length, expected.length);
  for (const [at, program] of programs.entries()) {
    assertEquals(await outputOf(program), expected[at]);
  }
  await Deno.remove(cwd, { recursive: true });
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
