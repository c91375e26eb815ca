// The example that keeps a folder in step, as a process of its own.

import { assertEquals } from "@std/assert";
import { startService } from "../service.ts";
import { root } from "../source_files.ts";

/** Runs the example until it is in step; gives what it wrote and removed. */
async function sync(cwd: string, url: string): Promise<string[]> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-lock", "--allow-all", "sync.js", "copy"],
    cwd,
    env: { COLLECTIONS_URL: url, NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
  }).spawn();
  let text = "";
  for await (
    const part of child.stdout.pipeThrough(new TextDecoderStream())
  ) {
    text += part;
    if (text.includes("in step")) break;
  }
  child.kill();
  await child.status;
  return text.split("\n").filter((line) => /^(wrote|removed)/.test(line))
    .sort();
}

async function filesIn(folder: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for await (const { name } of Deno.readDir(folder)) {
    if (name.startsWith(".")) continue;
    files[name] = await Deno.readTextFile(`${folder}/${name}`);
  }
  return files;
}

Deno.test("examples/sync keeps a folder in step, and other files", async () => {
  const cwd = await Deno.makeTempDir();
  try {
    const posts = `${cwd}/repos/blog/posts`;
    await Deno.mkdir(posts, { recursive: true });
    await Deno.mkdir(`${cwd}/copy/posts`, { recursive: true });
    const client = `${root}/packages/client/client.ts`;
    const imports = { "@repo-collections/client": `file://${client}` };
    await Deno.writeTextFile(`${cwd}/deno.json`, JSON.stringify({ imports }));
    await Deno.copyFile(`${root}/examples/sync/sync.js`, `${cwd}/sync.js`);
    for (const name of ["a", "b", "c"]) {
      await Deno.writeTextFile(`${posts}/${name}.md`, name);
    }
    await Deno.writeTextFile(`${cwd}/copy/posts/mine.txt`, "mine");
    await using service = await startService({
      env: { LOCAL_REPOS_DIR: `${cwd}/repos` },
    });
    const url = `http://127.0.0.1:${service.listen()}`;
    assertEquals(await sync(cwd, url), [
      "wrote posts/a.md",
      "wrote posts/b.md",
      "wrote posts/c.md",
    ]);

    await Deno.writeTextFile(`${posts}/a.md`, "changed");
    await Deno.remove(`${posts}/b.md`);
    await Deno.rename(`${posts}/c.md`, `${posts}/d.md`);
    service.clock.advance(60_000);
    assertEquals(await sync(cwd, url), [
      "removed posts/b.md",
      "removed posts/c.md",
      "wrote posts/a.md",
      "wrote posts/d.md",
    ]);
    const expected = { "a.md": "changed", "d.md": "c", "mine.txt": "mine" };
    assertEquals(await filesIn(`${cwd}/copy/posts`), expected);
  } finally {
    await Deno.remove(cwd, { recursive: true });
  }
});
