// The published forms of the client: from the service as one file with its types, and as a package for npm and JSR.

import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { cp } from "node:fs/promises";
import { startService } from "../service.ts";
import { root } from "../source_files.ts";
import { run } from "./run_command.ts";

const PACKAGE = `${root}/packages/client`;

/** A folder of its own; `from` is copied into it, since packing writes beside its source. */
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

Deno.test("GET /client.js is the client without types; Deno checks code by those of its source, and runs it", async () => {
  await using service = await startService({
    env: { LOCAL_REPOS_DIR: `${root}/examples` },
  });
  const response = await service.get("/client.js");
  assertEquals(
    response.headers.get("content-type"),
    "text/javascript; charset=utf-8",
  );
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
  assertEquals(
    await source.text(),
    await Deno.readTextFile(`${PACKAGE}/client.ts`),
  );

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

Deno.test("npm pack gives a package that Node imports, with declarations for TypeScript", async () => {
  await using copy = await makeFolder(PACKAGE);
  const options = { cwd: copy.dir };
  const packed = await run("npm", ["pack", "--json"], options);
  // npm writes what the scripts print ahead of its JSON.
  const [{ filename, files }] = JSON.parse(
    packed.out.slice(packed.out.search(/^\[/m)),
  );

  const names = files.map(({ path }: { path: string }) => path).sort();
  assertEquals(names, [
    "README.md",
    "client.d.ts",
    "client.js",
    "package.json",
  ]);
  const scope = join(copy.dir, "node_modules/@repo-collections");
  await Deno.mkdir(scope, { recursive: true });
  await run("tar", ["xzf", filename, "-C", scope], options);
  await Deno.rename(join(scope, "package"), join(scope, "client"));
  await Deno.writeTextFile(
    join(copy.dir, "main.mjs"),
    'import { CollectionsClient as C } from "@repo-collections/client";\nconsole.log(typeof new C("http://h").items);',
  );
  const ran = await run("node", ["main.mjs"], options);
  assertEquals(ran.out.trim(), "function", ran.all);
  const declared = await Deno.readTextFile(join(scope, "client/client.d.ts"));
  assert(
    declared.includes("getItemBySlug<Data = FrontMatter>") &&
      !declared.includes("fetch("),
  );
});

Deno.test("the package has one name, version and licence for npm and JSR", async () => {
  const texts = ["deno.json", "package.json"].map((name) =>
    Deno.readTextFile(`${PACKAGE}/${name}`)
  );
  const [jsr, npm] = (await Promise.all(texts)).map((text) => JSON.parse(text));
  assertEquals([npm.name, npm.version, npm.license], [
    jsr.name,
    jsr.version,
    jsr.license,
  ]);
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
