// The files of deploy/ as the programs that read them see them. Debian has
// these programs in the packages prometheus, caddy and systemd. Where one is
// missing its test is skipped with a line that says so.

import { assert } from "@std/assert";
import { join } from "@std/path";
import { root } from "../source_files.ts";

const decoder = new TextDecoder();

async function output(program: string, args: readonly string[]) {
  const command = new Deno.Command(program, { args: [...args], cwd: root });
  const { success, stdout, stderr } = await command.output();
  return { success, text: decoder.decode(stdout) + decoder.decode(stderr) };
}

/** Registers a test that needs a program. */
async function testWith(
  program: string,
  { name, fn }: { readonly name: string; readonly fn: () => Promise<void> },
): Promise<void> {
  const isThere = await output(program, ["--help"]).then(
    () => true,
    () => false,
  );
  if (!isThere) console.warn(`Skipped "${name}": there is no ${program}`);
  Deno.test({ name, ignore: !isThere, fn });
}

async function mustPass(program: string, ...args: string[]): Promise<string> {
  const { success, text } = await output(program, args);
  assert(success, text);
  return text;
}

await testWith("promtool", {
  name: "promtool accepts the alerts, which fire when they should",
  async fn() {
    await mustPass("promtool", "check", "rules", "deploy/alerts.yml");
    await mustPass("promtool", "test", "rules", "tests/deploy/alerts.yml");
  },
});

await testWith("caddy", {
  name: "caddy accepts the Caddyfile",
  async fn() {
    const args = ["--adapter", "caddyfile", "--config", "deploy/Caddyfile"];
    const text = await mustPass("caddy", "validate", ...args);
    assert(text.includes("Valid configuration") && !/"warn"/.test(text), text);
  },
});

await testWith("systemd-analyze", {
  name: "systemd-analyze accepts the unit and finds it confined",
  async fn() {
    const unit = "deploy/repo-collections.service";
    const security = ["security", "--offline=true", "--threshold=20"];
    await mustPass("systemd-analyze", ...security, unit);
    const dir = await Deno.makeTempDir();
    // Deno is elsewhere on this machine.
    const text = (await Deno.readTextFile(join(root, unit)))
      .replace("/usr/local/bin/deno", "/bin/true");
    const file = join(dir, "repo-collections.service");
    await Deno.writeTextFile(file, text);
    const verified = await mustPass("systemd-analyze", "verify", file);
    await Deno.remove(dir, { recursive: true });
    assert(verified.trim() === "", verified);
  },
});
