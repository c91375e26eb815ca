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
    async run(args: readonly string[], jsrUrl: string) {
      const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: [...args],
        cwd: dir,
        env: { NO_COLOR: "1", JSR_URL: jsrUrl },
      }).output();
      const [out, err] = [stdout, stderr].map((bytes) =>
        new TextDecoder().decode(bytes).trim()
      );
      return { stdout: out!, stderr: err! };
    },
    [Symbol.asyncDispose]: () => Deno.remove(dir, { recursive: true }),
  };
}

const choose = ["task", "-q", "config"];

/** Runs the service with a configuration, which leaves deno.lock as it is. */
async function assertServes(
  copy: Awaited<ReturnType<typeof copyConfig>>,
  { config, jsrUrl }: { config: string; jsrUrl: string },
): Promise<void> {
  // An earlier run may have had a registry at the same port.
  const reload = `--reload=${jsrUrl}`;
  const args = ["run", reload, `--config=${config}`, "main.ts"];
  const { stdout, stderr } = await copy.run(args, jsrUrl);
  assertEquals(stdout, "200", stderr);
  assertEquals(
    await copy.read("deno.lock"),
    await Deno.readTextFile(join(root, "deno.lock")),
  );
}

Deno.test("config takes the published packages if a registry answers", async () => {
  await using registry = await serveRegistry(
    packages.map((name) => join(root, "jsr", name)),
  );
  await using copy = await copyConfig();
  const { url } = registry;

  assertEquals(await copy.run(choose, url), {
    stdout: "deno.online.json",
    stderr: "JSR answers: using the published packages, which the first " +
      "start installs",
  });
  assertEquals(await copy.run([...choose, "dev"], url), {
    stdout: "deno.online.dev.json",
    stderr: "",
  });
  const config = JSON.parse(await copy.read("deno.online.json"));
  assertEquals([config.links, config.workspace], [undefined, undefined]);
  await assertServes(copy, { config: "deno.online.json", jsrUrl: url });
  const { requested } = registry;
  assert(requested.includes("/@fresh/core/2.3.3/mod.ts"), requested.join());
});

Deno.test("config takes the stand-ins if no registry answers", async () => {
  await using copy = await copyConfig();
  const jsrUrl = "http://127.0.0.1:1";
  const config = "deno.offline.json";
  const chosen = () => copy.run(choose, jsrUrl);
  const stderr = "JSR does not answer: using the stand-ins in jsr/; " +
    "delete deno.offline.json to ask again. The first start installs packages " +
    "from npm";

  assertEquals(await chosen(), { stdout: config, stderr });
  assertEquals(await chosen(), { stdout: config, stderr: "" });
  await assertServes(copy, { config, jsrUrl });
  const beforeMs = Date.now() - 86_400_001;
  await copy.touch(beforeMs, "deno.json", "deno.lock", config);
  assertEquals((await chosen()).stderr, stderr);
  await copy.touch(Date.now() + 60_000, "deno.json");
  assertEquals((await chosen()).stderr, stderr);
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
