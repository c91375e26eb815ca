// Runs what the README says, and holds its tables against the code.

import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { itemParameters, listParameters } from "../lib/api/parameters.ts";
import { parseDeclarations } from "../lib/collections/cms/declarations.ts";
import { readFrontMatter } from "../lib/collections/front_matter.ts";
import { ERRORS } from "../lib/errors.ts";
import { VENDOR_FILES } from "../lib/http/vendor_files.ts";
import { parseSettings, SETTING_NAMES, SETTINGS } from "../lib/settings.ts";
import { serveTask } from "./run_task.ts";
import { readSourceFiles, root } from "./source_files.ts";

const read = (path: string) => Deno.readTextFile(join(root, path));
const readme = await read("README.md");
const contributing = await read("CONTRIBUTING.md");

/** The code that a table's cell consists of, or null. */
const code = (cell: string) => cell.match(/^`([^`]*)`$/)?.[1] ?? null;

/** What README says under a heading. */
function section(heading: string): string {
  return readme.match(new RegExp(`^## ${heading}\n(.*?)^## `, "ms"))![1]!;
}

/** The rows of the table whose head begins with these cells. */
function table(...head: string[]): string[][] {
  const lines = readme.split("\n");
  const cells = (line: string) => line.split("|").slice(1, -1).map((cell) => cell.trim());
  const tables = lines.flatMap((line, at) => {
    if (!head.every((cell, column) => cells(line)[column] === cell)) return [];
    const end = lines.findIndex((line, index) => index > at && !line.startsWith("|"));
    return [lines.slice(at + 2, end).map(cells)];
  });
  assert(tables.length > 0, `there is no table of ${head}`);
  return tables.flat();
}

Deno.test("README's questions are answered as it says", async () => {
  await using service = await serveTask("start");
  const origin = "http://localhost:8000";
  const asked = [...readme.matchAll(/```sh\ncurl '([^'\n]+)'\n```\n\n```json\n(.*?)\n```/gs)];
  assert(asked.length >= 3);
  assertEquals(asked.length, readme.match(/^curl '/gm)!.length);
  for (const [, url, answer] of asked) {
    assert(url!.startsWith(`${origin}/`), url);
    const response = await fetch(url!.replace(origin, service.url));
    const text = (await response.text()).replaceAll(service.url, origin);
    const expected = JSON.parse(answer!);
    const actual = JSON.parse(text);
    if ("requestId" in expected) actual.requestId = expected.requestId;
    assertEquals(actual, expected);
  }
});

Deno.test("README's one fetch call prints what it says", async () => {
  await using service = await serveTask("start");
  const [, program, output] = readme.match(
    /```js\n(const [^`]*? fetch\(.*?)```\n\n```text\n(.*?)```/s,
  )!;
  const printed: string[] = [];
  const log = (...values: unknown[]) => printed.push(`${values.join(" ")}\n`);
  const run = Object.getPrototypeOf(async () => {}).constructor;
  await run("console", program!.replace("http://localhost:8000", service.url))({ log });
  assertEquals(printed.join(""), output);
  assertEquals(printed.length, 10);
});

const hasNode = await new Deno.Command("node", { args: ["--version"], stdout: "null" }).output()
  .then(({ success }) => success, () => false);

Deno.test("README's client runs in Node, from the files that it says to save", {
  ignore: !hasNode,
}, async () => {
  const origin = "http://localhost:8000";
  const [, program] = readme.match(/```js\n(import [^`]*?CollectionsClient.*?)```/s)!;
  const saved = [...readme.match(/^curl -O .*$/m)![0].matchAll(/-O http:\/\/[^/]+\/(\S+)/g)];
  assertEquals(saved.map(([, name]) => name), ["client.js", "client.d.ts"]);
  const folder = await Deno.makeTempDir();
  {
    await using service = await serveTask("start");
    for (const [, name] of saved) {
      const response = await fetch(`${service.url}/${name}`);
      assertEquals(response.status, 200);
      await Deno.writeTextFile(join(folder, name!), await response.text());
    }
    await Deno.writeTextFile(join(folder, "package.json"), '{ "type": "module" }');
    await Deno.writeTextFile(
      join(folder, "posts.js"),
      program!.replace(`${origin}/client.js`, "./client.js").replace(origin, service.url),
    );
    const { code, stdout } = await new Deno.Command("node", { args: ["posts.js"], cwd: folder })
      .output();
    const printed = new TextDecoder().decode(stdout).trimEnd().split("\n");
    assertEquals([code, printed.length], [0, 12]);
    assert(printed.includes("Apple days 602"), printed.join());
  }
  await Deno.remove(folder, { recursive: true });
});

Deno.test("README and CONTRIBUTING name tasks and files that there are", async () => {
  const { tasks } = JSON.parse(await read("deno.json"));
  const named = [...`${readme}\n${contributing}`.matchAll(/deno task (?:--\S+ )*([a-z:]+)/g)];
  assert(named.length >= 5);
  for (const [text, task] of named) assert(task! in tasks, text);
  for (const command of ["npx -y deno task start", "npx -y deno task test"]) {
    assert(readme.includes(`\`\`\`sh\n${command}\n\`\`\``), command);
  }
  const linked = [...`${readme}\n${contributing}`.matchAll(/\]\((?!https?:|#)([^)]+)\)/g)];
  const mentioned = [...contributing.matchAll(/`((?:lib|tests|jsr|routes)\/[a-z0-9_/.]+)`/g)];
  for (const [, path] of [...linked, ...mentioned]) await Deno.stat(join(root, path!));
  const vendored = [...readme.matchAll(/`\/vendor\/([^`]+)`/g)];
  assertEquals(vendored.length, 2);
  for (const [, name] of vendored) assert(VENDOR_FILES.has(name!), name);
});

Deno.test("CONTRIBUTING names the tests that wait for real time", async () => {
  const waits = /setTimeout\(\w+, [1-9]\d\d+\)|waitForTimeout\(/;
  const waiting = (await readSourceFiles()).filter(({ path, text }) =>
    path.startsWith("tests/") && waits.test(text)
  ).map(({ path }) => path);
  const named = contributing.match(/tests wait for\s+real\s+time.*?\n-/s)![0];
  assertEquals([...named.matchAll(/`([^`]+)`/g)].map(([, path]) => path).sort(), waiting.sort());
});

Deno.test("the ok task checks what .ci/run checks", async () => {
  const { tasks } = JSON.parse(await read("deno.json"));
  const [, checks] = (await read(".ci/run")).match(/^for check in (.*); do$/m)!;
  const commands = [...checks!.matchAll(/"([^"]+)"/g)].map(([, words]) => `deno ${words}`);
  assertEquals(tasks.ok.split(" && "), [...commands, "deno task test"]);
});

Deno.test("README's parameters are those that requests are checked by", () => {
  const schemas = { ...listParameters.shape, ...itemParameters.shape };
  const expected = [listParameters.shape, itemParameters.shape].flatMap((shape) =>
    Object.keys(shape)
  );
  const rows = table("parameter", "required", "default").filter(([name]) => !name!.includes("["));
  assertEquals(rows.map(([name]) => code(name!)), expected);
  for (const [name, required, fallback] of rows) {
    const schema = schemas[code(name!) as keyof typeof schemas];
    const value = schema.meta()?.default;
    assertEquals(
      [name, required, code(fallback!)],
      [name, schema.isOptional() ? "no" : "yes", value === undefined ? null : String(value)],
    );
  }
});

Deno.test("README's errors are those that there are", () => {
  assertEquals(
    table("status", "code").map(([status, name]) => [code(name!), Number(status)]),
    Object.entries(ERRORS).map(([name, { status }]) => [name, status]),
  );
});

Deno.test("README's events are those that are logged, at their levels", async () => {
  const sources = await readSourceFiles();
  const logged = sources.filter(({ path }) => path === "main.ts" || path.startsWith("lib/"))
    .flatMap(({ text }) => [...text.matchAll(/\blog\.(debug|info|warn|error)\(\s*"([^"]+)"/g)])
    .map(([, level, event]) => `${level} ${event}`);
  const rows = table("level", "event").map(([level, event]) => `${code(level!)} ${code(event!)}`);
  assertEquals(rows.toSorted(), logged.toSorted());
});

Deno.test("README's metrics are counted", async () => {
  await using service = await serveTask("start", { env: { METRICS: "true" } });
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  const named = [...section("Operate it").matchAll(/`(collections_\w+)`/g)];
  assert(named.length >= 4);
  for (const [, name] of named) assert(metrics.includes(`# TYPE ${name} `), name);
});

Deno.test("README's limits of front matter and of declaring files are those that hold", async () => {
  const tooMuch = [
    "x".repeat(300_000),
    "[".repeat(100) + "]".repeat(100),
    `\n  a: &a [${"x".repeat(2_000)}]\n  b: [${"*a, ".repeat(1_000)}]`,
    `[${"1, ".repeat(20_000)}]`,
  ];
  for (const value of tooMuch) {
    const yaml = `key: ${value}\n`;
    const read = await readFrontMatter(`---\n${yaml}---\n`);
    assert(read !== null && "frontMatterError" in read);
    const { warning } = await parseDeclarations(".pages.yml", yaml);
    for (const message of [read.frontMatterError.message, warning!]) {
      const limit = Number(message.match(/ than (\d+) (?:characters|levels|tokens)/)![1]);
      const named = `${limit.toLocaleString("en-US")} ${message.match(/\d (\w+)/)![1]}`;
      assert(section("Limits").includes(named), message);
    }
  }
});

Deno.test("README's settings are those of the table, with their defaults and meanings", () => {
  const rows = table("variable", "default");
  const told = rows.map((cells) => cells.map((cell) => cell.replaceAll("`", "")));
  assertEquals(
    told,
    Object.entries(SETTINGS).map(([name, [unset, meaning]]) => [name, unset, meaning]),
  );
  const defaults = Object.fromEntries(
    rows.map(([name, fallback]) => [code(name!)!, code(fallback!)])
      .filter(([, fallback]) => fallback !== null),
  );
  assert(Object.keys(defaults).length >= 10);
  assertEquals(parseSettings((name) => defaults[name]), parseSettings(() => undefined));
});

Deno.test(".env.example has every setting, commented out, with what README says", async () => {
  const lines = (await read(".env.example")).split("\n").filter((line) => /^#?\w+=/.test(line));
  const given = lines.map((line) => line.match(/^#(\w+)=(.*)$/)!.slice(1));
  assertEquals(given.map(([name]) => name), [...SETTING_NAMES]);
  const defaults = Object.fromEntries(table("variable", "default"));
  for (const [name, value] of given) {
    const fallback = code(defaults[`\`${name}\``]);
    if (fallback !== null) assertEquals(value, fallback, name);
  }
  parseSettings((name) => Object.fromEntries(given)[name]);
});

Deno.test("README's speed is what bench/RESULTS.md says", async () => {
  const results = await read("bench/RESULTS.md");
  const numbers = (text: string) => (text.match(/\d+\.\d+/g) ?? []).map(Number);
  const measured = (goal: string): number[] => {
    const line = results.split("\n").find((line) => line.startsWith(`| ${goal} |`));
    const figures = numbers(line?.split("|")[3] ?? "");
    assert(figures.length === 1 || figures.length === 3, `${goal}: ${line}`);
    return figures;
  };
  const goals: Record<string, string> = {
    "list, plain": "list hit, of the bare server",
    "list, plain, logged to file": "list hit with LOG_LEVEL=info to a file, of the bare server",
    "list, gzip": "gzip hit, of the bare server",
    "list, 304": "304, of a bare 304",
    "mix of 1,000 different pages": "mix of 1,000 keys, of the bare server",
  };
  const rows = table("requests per second", "of the bare server");
  assertEquals(rows.map(([name]) => name), Object.keys(goals));
  for (const [name, ...cells] of rows) {
    // The median, and the spread too where it is told.
    const told = cells.flatMap(numbers);
    assert(told.length === 1 || told.length === 3, name);
    assertEquals([name, ...told], [name, ...measured(goals[name!]!).slice(0, told.length)]);
  }
  const text = readme.replaceAll(/\s+/g, " ");
  const [, times] = text.match(/The list is ([\d.]+) times as fast as Hono/)!;
  assertEquals(Number(times), measured("list hit, of Hono")[0]);
  const [, connections, rounds] = text.match(/, (\d+) connections, (\d+) interleaved rounds/)!;
  const run = results.match(/^- (\d+) rounds, interleaved, .*?, (\d+) connections;/m)!;
  assertEquals([rounds, connections], run.slice(1));
  assert(text.includes("A page of 50 costs no more from 100,000 items than from 100."));
  for (const pages of ["first", "last"]) {
    const [ratio] = measured(
      `page of 50 from 100,000 items, ${pages} pages, of one from 100 items`,
    );
    assert(ratio! <= 1.1, `${pages} pages cost ${ratio}`);
  }
});
