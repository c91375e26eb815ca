// Resident memory belongs to a process, so each test has one of its own.

import { assert } from "@std/assert";
import { root } from "../source_files.ts";

/** The resident memory with 1.5 million objects, and without them, in MiB. */
async function residentMiB(dropped: string): Promise<readonly number[]> {
  const script = `
    import { releasePages } from "./lib/work/memory.ts";
    const shown = [];
    const show = () => shown.push(Deno.memoryUsage().rss >> 20);
    let objects = Array.from({ length: 1_500_000 }, (_, n) => ({ n }));
    show();
    ${dropped}
    releasePages();
    show();
    console.log(JSON.stringify(shown));
  `;
  const command = new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-config", script],
    cwd: root,
  });
  const { stdout } = await command.output();
  return JSON.parse(new TextDecoder().decode(stdout));
}

Deno.test("releasePages() gives back the pages of dropped objects", async () => {
  const [full = 0, released = 0] = await residentMiB("objects = null;");
  assert(released < full - 40, `${full} MiB became ${released}`);
});

Deno.test("releasePages() keeps the objects that are in use", async () => {
  const [full = 0, released = 0] = await residentMiB("");
  assert(released > full - 40, `${full} MiB became ${released}`);
});
