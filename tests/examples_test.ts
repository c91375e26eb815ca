import { assert, assertEquals } from "@std/assert";
import { configFlag } from "./run_task.ts";
import { readSourceFiles, root } from "./source_files.ts";

Deno.test("the examples in lib/ do what they say", async () => {
  const files = (await readSourceFiles())
    .filter(({ path, text }) =>
      path.startsWith("lib/") && text.includes("@example")
    )
    .map(({ path }) => path);
  const args = [
    "test",
    "--doc",
    "--no-check",
    "--no-prompt",
    "--allow-read",
    await configFlag(),
    ...files,
  ];
  const command = new Deno.Command(Deno.execPath(), {
    args,
    cwd: root,
    env: { NO_COLOR: "1" },
  });
  const { code, stdout, stderr } = await command.output();
  const output = new TextDecoder().decode(stdout) +
    new TextDecoder().decode(stderr);
  assertEquals(code, 0, output);
  const [, passed] = output.match(/(\d+) passed/)!;
  assert(Number(passed) >= 10, output);
});
