import { assert } from "@std/assert";
import { root } from "../source_files.ts";

// Resident memory belongs to a process, so the test has one of its own.
const SCRIPT = `
  import { releasePages } from "./lib/work/memory.ts";
  const residentMiB = () => Deno.memoryUsage().rss >> 20;
  let objects = Array.from({ length: 1_500_000 }, (_, n) => ({ n }));
  const full = residentMiB();
  objects = null;
  releasePages();
  console.log(JSON.stringify([full, residentMiB()]));
`;

Deno.test("releasePages() gives back the pages of dropped objects", async () => {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-config", SCRIPT],
    cwd: root,
  }).output();
  const [full, released] = JSON.parse(new TextDecoder().decode(stdout));
  assert(released < full - 40, `${full} MiB became ${released}`);
});
