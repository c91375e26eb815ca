// The packed client in the tools that people build with: bundlers, whose output
// runs in Node, and TypeScript.

import { assert, assertEquals } from "@std/assert";
import { cp, readdir, stat } from "node:fs/promises";
import { startService } from "../service.ts";
import { root } from "../source_files.ts";
import { run } from "./run_command.ts";

const TOOLS = [
  "vite@8.3.8",
  "webpack@5.112.2",
  "webpack-cli@7.3.1",
  "esbuild@0.28.2",
  "parcel@2.16.4",
  "typescript@7.0.2",
  "oldest@npm:typescript@5.0.4",
  "@types/node@22",
];

/** Each writes its output into `out/<name>`. */
const BUNDLERS: Readonly<Record<string, readonly string[]>> = {
  vite: ["vite", "build", "--outDir=out/vite"],
  webpack: ["webpack", "--mode=production", "--output-path=out/webpack"],
  esbuild: ["esbuild", "src/index.js", "--bundle", "--outdir=out/esbuild"],
  parcel: ["parcel", "build", "src/index.js", "--dist-dir=out/parcel"],
};

/** Checks as a reader's project would; the declarations are checked too. */
const STRICT = ["--noEmit", "--strict", "--exactOptionalPropertyTypes"];
const NODE = ["--lib", "es2022", "--types", "node"];
const DOM = ["--lib", "es2022,dom", "--typeRoots", "none"];
const COMPILERS: Readonly<Record<string, readonly string[]>> = {
  "with the types of Node and without those of the DOM": [
    "typescript/bin/tsc",
    ...NODE,
    "--module",
    "nodenext",
    "--target",
    "es2022",
  ],
  "for a bundler": [
    "typescript/bin/tsc",
    ...DOM,
    "--module",
    "esnext",
    "--moduleResolution",
    "bundler",
  ],
  "by the oldest supported version": [
    "oldest/bin/tsc",
    ...DOM,
    "--module",
    "esnext",
    "--moduleResolution",
    "node",
    "--target",
    "es2022",
  ],
};

/** Every call, so that every type is resolved. */
const TYPED = `
import { assetUrl, CollectionsClient, ProblemError, savePictures, SchemaError } from "@repo-collections/client";
import type { ClientOptions, Schema } from "@repo-collections/client";

interface Post { title: string }
const options: ClientOptions = { fetch, headers: { "x-key": "k" }, reuse: true };
const posts = { owner: "local", repo: "blog", collection: "posts" };
export async function read(schema: Schema<Post>, signal: AbortSignal): Promise<string[]> {
  const client = new CollectionsClient(new URL("http://h"), options);
  const titles: string[] = [];
  try {
    for await (const { frontMatter } of client.items(posts, { schema, signal })) {
      if (frontMatter) titles.push(frontMatter.title);
    }
    const item = await client.collection(posts, { schema }).bySlug("a", { includeHtml: true });
    titles.push(item.frontMatter?.title ?? assetUrl(item, "a.png"));
    titles.push(await savePictures(client, ({ name }) => name)(item.html));
    const handle = client.collection<Post>(posts);
    const newest = await handle.first({ sort: "-frontMatter.title", fields: ["frontMatter.title"] });
    titles.push(newest?.frontMatter?.title ?? "");
    // @ts-expect-error: it was not asked for.
    newest?.slug;
    // @ts-expect-error: no such key of the front matter.
    void handle.list({ sort: "frontMatter.titel" });
    const bytes: Uint8Array = await client.bytes(item);
    titles.push(new TextDecoder().decode(bytes));
    await new Response(await client.bytes(item)).text();
  } catch (error) {
    if (error instanceof ProblemError) titles.push(error.problem.title);
    if (error instanceof SchemaError) titles.push(error.path);
  }
  // @ts-expect-error: a package has no service of its own.
  new CollectionsClient();
  // @ts-expect-error: front matter has the type that was given.
  const wrong: number = (await client.listItems<Post>(posts)).items[0]?.frontMatter?.title;
  return [...titles, String(wrong)];
}
`;

Deno.test("the packed client works in bundlers and for TypeScript", async (t) => {
  await using service = await startService({
    env: { LOCAL_REPOS_DIR: `${root}/examples` },
  });
  const url = `http://127.0.0.1:${service.listen()}`;
  const cwd = await Deno.makeTempDir();
  try {
    await cp(`${root}/packages/client`, `${cwd}/client`, { recursive: true });
    const packed = await run("npm", ["pack"], { cwd: `${cwd}/client` });
    const client = `./client/${packed.out.trim().split("\n").at(-1)}`;
    const files = {
      "package.json": JSON.stringify({ type: "module" }),
      "vite.config.js": "export default { build: { modulePreload: false } };",
      "index.html": '<script type="module" src="/src/index.js"></script>',
      "src/index.js":
        `import { CollectionsClient } from "@repo-collections/client";
new CollectionsClient("${url}").listItems({ owner: "local", repo: "blog", collection: "posts" })
  .then(({ items }) => console.log(items[0].slug));`,
      "typed.ts": TYPED,
    };
    await Deno.mkdir(`${cwd}/src`);
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(`${cwd}/${name}`, text);
    }
    const flags = ["--no-audit", "--no-fund"];
    await run("npm", ["install", ...flags, client, ...TOOLS], { cwd });

    await t.step("in Node as it is", async () => {
      const { out } = await run("node", ["src/index.js"], { cwd });
      assertEquals(out.trim(), "2024/keeping-a-starter-alive");
    });
    for (const [name, command] of Object.entries(BUNDLERS)) {
      await t.step(`built by ${name}, without other files`, async () => {
        await run("npx", [...command], { cwd });
        const scripts: string[] = [];
        for (
          const path of await readdir(`${cwd}/out/${name}`, { recursive: true })
        ) {
          const file = `${cwd}/out/${name}/${path}`;
          if (!(await stat(file)).isFile()) continue;
          assert(/\.(js|html|map)$/.test(path), path);
          if (path.endsWith(".js")) scripts.push(file);
        }
        assertEquals(scripts.length, 1, scripts.join());
        const { out } = await run("node", scripts, { cwd });
        assertEquals(out.trim(), "2024/keeping-a-starter-alive");
      });
    }
    for (const [name, [compiler, ...options]] of Object.entries(COMPILERS)) {
      await t.step(`checked ${name}`, async () => {
        const args = [`node_modules/${compiler}`, ...STRICT, ...options];
        await run("node", [...args, "typed.ts"], { cwd });
      });
    }
  } finally {
    await Deno.remove(cwd, { recursive: true });
  }
});
