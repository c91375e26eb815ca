// jsr/config.ts in a copy of the project's configuration, against a registry
// made of the stand-ins and against none.

import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { cp } from "node:fs/promises";
import { root } from "../source_files.ts";
import { serveRegistry } from "./registry.ts";

const packages = ["fresh_core", "std_assert", "std_http", "std_path"];
const main = `
  import { App } from "fresh";
  import { eTag } from "@std/http";
  const app = new App({ mode: "development" })
    .route("/", { handler: async () => new Response(await eTag("a")) });
  console.log((await app.handler()(new Request("http://localhost/"))).status);`;

/** A folder with what the script reads, and a service that needs Fresh. */
async function copyConfig() {
  const dir = await Deno.makeTempDir({ prefix: "a copy " });
  for (
    const file of [
      "jsr",
      "deno.json",
      "deno.lock",
      "tests/deno.json",
      "bench/deno.json",
    ]
  ) {
    await cp(join(root, file), join(dir, file), { recursive: true });
  }
  await Deno.writeTextFile(join(dir, "main.ts"), main);
  return {
    read: (name: string) => Deno.readTextFile(join(dir, name)),
    /** Makes files as if they had been written at another time. */
    async touch(timeMs: number, ...names: string[]) {
      for (const name of names) {
        await Deno.utime(join(dir, name), timeMs / 1000, timeMs / 1000);
      }
    },
    async run(args: readonly string[], env: Record<string, string>) {
      const options = {
        args: [...args],
        cwd: dir,
        env: { NO_COLOR: "1", ...env },
      };
      const { stdout, stderr } = await new Deno.Command(
        Deno.execPath(),
        options,
      ).output();
      const [out, err] = [stdout, stderr].map((bytes) =>
        new TextDecoder().decode(bytes).trim()
      );
      return { stdout: out!, stderr: err! };
    },
    [Symbol.asyncDispose]: () => Deno.remove(dir, { recursive: true }),
  };
}

const choose = ["task", "-q", "config"];

Deno.test("config takes the published packages if a registry answers", async () => {
  await using registry = await serveRegistry(
    packages.map((name) => join(root, "jsr", name)),
  );
  await using copy = await copyConfig();
  const env = { JSR_URL: registry.url };
  const lock = await copy.read("deno.lock");

  const said = "JSR answers: using the published packages, which the first " +
    "start installs";
  assertEquals(await copy.run(choose, env), {
    stdout: "deno.online.json",
    stderr: said,
  });
  const dev = { stdout: "deno.online.dev.json", stderr: "" };
  assertEquals(await copy.run([...choose, "dev"], env), dev);
  const config = JSON.parse(await copy.read("deno.online.json"));
  assertEquals([config.links, config.workspace], [undefined, undefined]);
  const { stdout, stderr } = await copy.run([
    "run",
    "--config=deno.online.json",
    "main.ts",
  ], env);
  assertEquals(stdout, "200", stderr);
  assert(
    registry.requested.includes("/@fresh/core/2.3.3/mod.ts"),
    registry.requested.join(),
  );
  assertEquals(await copy.read("deno.lock"), lock);
});

Deno.test("config takes the stand-ins if no registry answers", async () => {
  const registry = await serveRegistry([]);
  await using copy = await copyConfig();
  const env = { JSR_URL: registry.url };
  const lock = await copy.read("deno.lock");
  const said = "JSR does not answer: using the stand-ins in jsr/; " +
    "delete deno.offline.json to ask again. The first start installs packages " +
    "from npm";

  assertEquals(await copy.run(choose, env), {
    stdout: "deno.offline.json",
    stderr: said,
  });
  await registry[Symbol.asyncDispose]();
  assertEquals(await copy.run(choose, env), {
    stdout: "deno.offline.json",
    stderr: "",
  });
  const { stdout, stderr } = await copy.run([
    "run",
    "--config=deno.offline.json",
    "main.ts",
  ], env);
  assertEquals(stdout, "200", stderr);
  assertEquals(await copy.read("deno.lock"), lock);
  await copy.touch(
    Date.now() - 86_400_001,
    "deno.json",
    "deno.lock",
    "deno.offline.json",
  );
  assertEquals((await copy.run(choose, env)).stderr, said);
  await copy.touch(Date.now() + 60_000, "deno.json");
  assertEquals((await copy.run(choose, env)).stderr, said);
});

Deno.test("deno.lock names every npm package that is declared", async () => {
  const { specifiers } = JSON.parse(
    await Deno.readTextFile(join(root, "deno.lock")),
  );
  const locked = Object.keys(specifiers).map((specifier) =>
    specifier.replace(/@[^@]*$/, "")
  );
  for (const file of ["deno.json", "tests/deno.json", "bench/deno.json"]) {
    const { imports } = JSON.parse(await Deno.readTextFile(join(root, file)));
    for (const specifier of Object.values<string>(imports)) {
      const name = specifier.replace(/@[^@]*$/, "");
      assert(
        name.startsWith("jsr:") || locked.includes(name),
        `${name}: run deno task lock`,
      );
    }
  }
});
