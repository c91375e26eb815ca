// The published forms of the client: from the service as one file with its
// types, and as a package for npm and JSR.

import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { cp } from "node:fs/promises";
import { startService } from "../service.ts";
import { root } from "../source_files.ts";
import { run } from "./run_command.ts";

const PACKAGE = `${root}/packages/client`;

const MAIN = `import { CollectionsClient as C } from "@repo-collections/client";
console.log(typeof new C("http://h").items);`;
const PACKED = [
  "LICENSE",
  "README.md",
  "client.d.ts",
  "client.js",
  "package.json",
];

/**
 * A folder of its own; `from` is copied into it, since packing writes beside
 * its source.
 */
async function makeFolder(
  from?: string,
): Promise<AsyncDisposable & { dir: string }> {
  const dir = await Deno.makeTempDir();
  if (from !== undefined) await cp(from, dir, { recursive: true });
  return {
    dir,
    [Symbol.asyncDispose]: () => Deno.remove(dir, { recursive: true }),
  };
}

Deno.test("GET /client.js is the client without types", async () => {
  await using service = await startService({
    env: { LOCAL_REPOS_DIR: `${root}/examples` },
  });
  const response = await service.get("/client.js");
  assertEquals(
    response.headers.get("content-type"),
    "text/javascript; charset=utf-8",
  );
  const headers = { "accept-encoding": "gzip" };
  const coded = await service.get("/client.js", { headers });
  const { length } = await coded.bytes();
  const readme = await Deno.readTextFile(`${root}/README.md`);
  const [, size] = /is ([\d.]+) kB with gzip/.exec(readme)!;
  assertEquals((length / 1000).toFixed(1), size);
  const code = await response.text();
  assert(
    !/^(import|interface|type|export (interface|type)|export .* from)\b/m.test(
      code,
    ),
  );
  const types = new URL(
    response.headers.get("x-typescript-types")!,
    "http://localhost/client.js",
  );
  const source = await service.get(types.pathname);
  assertEquals(
    source.headers.get("content-type"),
    "application/typescript; charset=utf-8",
  );
  const served = (await source.text()).replace(
    ' = new URL(".", import.meta.url)',
    "",
  );
  assertEquals(served, await Deno.readTextFile(`${PACKAGE}/client.ts`));

  const url = `http://127.0.0.1:${service.listen()}`;
  await using folder = await makeFolder();
  const runWith = async (line: string) => {
    const code =
      `import { CollectionsClient } from "${url}/client.js";\nconst client = new CollectionsClient();\n` +
      `const { items } = await client.listItems({ owner: "local", repo: "blog", collection: "posts" });\n${line}\n`;
    await Deno.writeTextFile(`${folder.dir}/main.ts`, code);
    const flags = [
      "--check",
      "--reload",
      "--no-lock",
      "--allow-net",
      "--allow-import",
    ];
    return await run("deno", ["run", ...flags, "main.ts"], {
      cwd: folder.dir,
      mayFail: true,
    });
  };
  const good = await runWith("console.log(items[0]!.slug);");
  assertEquals(good.out.trim(), "2024/keeping-a-starter-alive", good.all);
  const bad = await runWith(
    "const slug: number = items[0]!.slug; console.log(slug);",
  );
  assert(!bad.success && bad.all.includes("TS2322"), bad.all);
});

/** The text of each file of a packed package. */
async function unpacked(
  dir: string,
  file: string,
): Promise<Map<string, string>> {
  await run("tar", ["xzf", file], { cwd: dir });
  const names = Array.from(
    Deno.readDirSync(`${dir}/package`),
    ({ name }) => name,
  );
  const texts = names.sort().map((name) =>
    Deno.readTextFile(`${dir}/package/${name}`)
  );
  return new Map(
    (await Promise.all(texts)).map((text, at) => [names[at]!, text]),
  );
}

Deno.test("GET /client.tgz is what npm pack gives, and Node imports it", async () => {
  await using copy = await makeFolder(PACKAGE);
  const { out } = await run("npm", ["pack", "--json"], { cwd: copy.dir });
  // npm writes what the scripts print ahead of its JSON.
  const [{ filename }] = JSON.parse(out.slice(out.search(/^\[/m)));
  const packed = await unpacked(copy.dir, filename);
  assertEquals([...packed.keys()], PACKED);
  assertEquals(
    packed.get("client.d.ts"),
    await Deno.readTextFile(`${PACKAGE}/client.d.ts`),
    "client.d.ts is older than client.ts: run `npm run build` beside it",
  );

  await using service = await startService();
  await using folder = await makeFolder();
  const { dir } = folder;
  const response = await service.get("/client.tgz");
  await Deno.writeFile(`${dir}/client.tgz`, await response.bytes());
  const served = await unpacked(dir, "client.tgz");
  assertEquals([...served.keys()], PACKED);
  for (const name of PACKED.filter((name) => name !== "client.js")) {
    assertEquals(served.get(name), packed.get(name), name);
  }
  for (const from of [copy.dir, dir]) {
    const scope = join(from, "node_modules/@repo-collections");
    await Deno.mkdir(scope, { recursive: true });
    await Deno.rename(join(from, "package"), join(scope, "client"));
    await Deno.writeTextFile(join(from, "main.mjs"), MAIN);
    const ran = await run("node", ["main.mjs"], { cwd: from });
    assertEquals(ran.out.trim(), "function", ran.all);
  }
});

Deno.test("the package has one name, version and licence", async () => {
  const read = (path: string) => Deno.readTextFile(`${root}/${path}`);
  const [jsr, npm] = [
    JSON.parse(await read("packages/client/deno.json")),
    JSON.parse(await read("packages/client/package.json")),
  ];
  assertEquals([npm.name, npm.version, npm.license], [
    jsr.name,
    jsr.version,
    jsr.license,
  ]);
  assertEquals(await read("packages/client/LICENSE"), await read("LICENSE"));
});

Deno.test("deno publish accepts the package as it is", async () => {
  await using copy = await makeFolder(PACKAGE);
  const flags = ["--dry-run", "--allow-dirty", "--no-lock"];
  const dry = await run("deno", ["publish", ...flags], { cwd: copy.dir });
  assert(
    dry.all.includes("client.ts") && !dry.all.includes("package.json"),
    dry.all,
  );
});
