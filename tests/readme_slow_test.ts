// The README from the top in an empty home: the last commit is cloned, and
// every block runs as it stands. Only ports differ, and npm's cache is that of
// this machine. No start prints a line for each package.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { dirname, join } from "@std/path";
import { root } from "./source_files.ts";
import { run } from "./static/run_command.ts";

const REPOSITORY = "https://github.com/repo-collections/repo-collections.git";
const TESTS = "npx -y deno task test";
const LISTENING = /"event":"listening".*"url":"([^"]+)\/"/;

const readme = await Deno.readTextFile(join(root, "README.md"));

/** A port that was free a moment ago. */
function freePort(): string {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return String(listener.addr.port);
}

/** A shell in an empty home, which keeps its folder from block to block. */
async function openShell() {
  const home = await Deno.makeTempDir();
  const cache = await run("npm", ["config", "get", "cache"], { cwd: home });
  const node = (await run("sh", ["-c", "command -v node"], { cwd: home })).out;
  const env: Record<string, string> = {
    HOME: home,
    PATH: `${dirname(node.trim())}:/usr/local/bin:/usr/bin:/bin`,
    NO_COLOR: "1",
    npm_config_cache: cache.out.trim(),
    npm_config_prefer_offline: "true",
  };
  for (const name of ["NODE_EXTRA_CA_CERTS", "DENO_TLS_CA_STORE"]) {
    const value = Deno.env.get(name);
    if (value !== undefined) env[name] = value;
  }
  const running: Deno.ChildProcess[] = [];
  let cwd = home;
  const options = { env, clearEnv: true, stdin: "null" } as const;
  return {
    env,
    async run(block: string): Promise<string> {
      const args = ["-euc", `${block}\npwd >"$HOME/.cwd"`];
      const command = new Deno.Command("bash", { ...options, args, cwd });
      const { code, stdout, stderr } = await command.output();
      const out = new TextDecoder().decode(stdout);
      assertEquals(code, 0, block + out + new TextDecoder().decode(stderr));
      cwd = (await Deno.readTextFile(join(home, ".cwd"))).trim();
      return out;
    },
    /**
     * Runs a block that serves until the shell is closed; gives its address.
     */
    async serve(block: string): Promise<string> {
      const file = await Deno.makeTempFile({ dir: home });
      const args = ["bash", "-euc", `${block} >${file} 2>&1`];
      const command = new Deno.Command("setsid", { ...options, args, cwd });
      const child = command.spawn();
      running.push(child);
      let isRunning = true;
      const ended = child.status.then(() => isRunning = false);
      for (;;) {
        await Promise.race([
          new Promise((resolve) => setTimeout(resolve, 100)),
          ended,
        ]);
        const out = await Deno.readTextFile(file).catch(() => "");
        const [, url] = out.match(LISTENING) ?? [];
        assert(isRunning, out);
        assert(!out.includes("Initialize"), out);
        if (url !== undefined) return url;
      }
    },
    async stop(): Promise<void> {
      // npx passes no signals on, and a watcher stays after SIGTERM.
      for (const { pid, status } of running.splice(0)) {
        await run("kill", ["-KILL", "--", `-${pid}`], { cwd: root });
        await status;
      }
    },
    async [Symbol.asyncDispose]() {
      await this.stop();
      await Deno.remove(home, { recursive: true });
    },
  };
}

Deno.test("the README's blocks work in an empty home", async (t) => {
  await using shell = await openShell();
  const instead = `url.file://${root}.insteadOf`;
  await shell.run(`git config --global ${instead} ${REPOSITORY}`);
  let url = "http://localhost:8000";
  for (const [, type, code] of readme.matchAll(/```(sh|js)\n(.*?)```/gs)) {
    const block = code!.replaceAll("http://localhost:8000", url).trim();
    if (block === TESTS) continue;
    await t.step(block.split("\n").at(-1)!.slice(0, 60), async () => {
      if (block.endsWith("deno task start")) {
        for (const task of ["dev", "start:parallel"]) {
          shell.env.PORT = freePort();
          await shell.serve(block.replace("start", task));
          await shell.stop();
          await shell.run("rm -rf node_modules");
        }
        shell.env.PORT = freePort();
        url = await shell.serve(block);
        shell.env.COLLECTIONS_URL = url;
      } else if (block.includes("deno task preview")) {
        const preview = await shell.serve(block.replace("8001", freePort()));
        const query = "owner=local&repo=blog&collection=posts";
        const list = `${preview}/api/list-collection-items?${query}`;
        assertEquals((await (await fetch(list)).json()).items.length, 12);
      } else if (type === "js") {
        const out = await shell.run(
          `node --input-type=module <<'END'\n${block}\nEND`,
        );
        assertMatch(out, /Apple days/);
      } else {
        await shell.run(block);
      }
    });
  }
});
