import { assertEquals } from "@std/assert";
import { root } from "../source_files.ts";

// Resident memory belongs to a process, so the test has one of its own.
const SCRIPT = `
  import { releasePages } from "./lib/work/memory.ts";
  const residentMiB = () => Deno.memoryUsage().rss >> 20;
  const make = () => Array.from({ length: 1_500_000 }, (_, n) => ({ n }));
  let objects = make();
  const full = residentMiB();
  objects = null;
  releasePages();
  const released = residentMiB();
  objects = make();
  // The heap is this large from now on.
  releasePages();
  objects = null;
  releasePages(isDue);
  console.log(JSON.stringify([full, released, residentMiB()]));
`;

Deno.test("releasePages() gives back the pages of dropped objects", async () => {
  for (const isDue of [true, false]) {
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["eval", "--no-config", SCRIPT.replace("isDue", `${isDue}`)],
      cwd: root,
    }).output();
    const sizes = JSON.parse(new TextDecoder().decode(stdout));
    const [full, ...released] = sizes;
    assertEquals(
      released.map((size: number) => size < full - 40),
      [true, isDue],
      `${sizes}`,
    );
  }
});
