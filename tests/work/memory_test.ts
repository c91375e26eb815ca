import { assert, assertEquals } from "@std/assert";
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

/** Runs a script in a process of its own. Returns what it prints as JSON. */
async function printed(script: string): Promise<number[]> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-config", script],
    cwd: root,
    stderr: "inherit",
  }).output();
  return JSON.parse(new TextDecoder().decode(stdout));
}

const BUFFERS = `
  import { collectSoon } from "./lib/work/memory.ts";
  const before = Deno.memoryUsage().external;
  collectSoon();
  const grownMiB = (Deno.memoryUsage().external - before) / (1 << 20);
  let collected = 0;
  const registry = new FinalizationRegistry(() => collected++);
  let buffers = [];
  let live = [];
  for (let n = 0; n < 40; n++) {
    buffers.push(new ArrayBuffer(1 << 20));
    registry.register(buffers[n]);
    // Old objects are not collected with young ones.
    live = live.concat(Array.from({ length: 10_000 }, (_, n) => ({ n })));
  }
  buffers = [];
  // How soon V8 is done depends on how busy the processor is.
  const turns = isAsked ? 10_000 : 100;
  for (let turn = 0; turn < turns && collected < 25; turn++) {
    if (isAsked && turn % 20 === 0) collectSoon();
    live[turn] = { turn };
    await new Promise((resolve) => setTimeout(resolve));
  }
  console.log(JSON.stringify([collected, grownMiB, live.length]));
`;

Deno.test("collectSoon() has dropped buffers collected", async () => {
  const run = (isAsked: boolean) =>
    printed(BUFFERS.replaceAll("isAsked", `${isAsked}`));
  const [collected, grownMiB] = await run(true);
  assert(collected! >= 25, `${collected}`);
  // V8 would stop the thread to collect.
  assert(grownMiB! < 32, `${grownMiB} MiB`);
  // Unasked, V8 collects them by chance only.
  const counts: number[] = [];
  do counts.push((await run(false))[0]!); while (
    counts.at(-1)! >= 25 && counts.length < 5
  );
  assert(counts.at(-1)! < 25, `${counts}`);
});

const OUTSIDE = `
  import { releasePages } from "./lib/work/memory.ts";
  const externalMiB = () => Deno.memoryUsage().external >> 20;
  releasePages(true);
  const sizes = [1, 2].map(() => {
    new Uint8Array(20 << 20);
    releasePages();
    return externalMiB();
  });
  console.log(JSON.stringify(sizes));
`;

Deno.test("releasePages() counts memory outside the heap", async () => {
  const [one, two] = await printed(OUTSIDE);
  // One is not worth a collection.
  assertEquals([one! >= 20, two! >= 40], [true, false], `${one}, ${two}`);
});

Deno.test("releasePages() gives back the pages of dropped objects", async () => {
  for (const isDue of [true, false]) {
    const sizes = await printed(SCRIPT.replace("isDue", `${isDue}`));
    const [full, ...released] = sizes;
    assertEquals(
      released.map((size) => size < full! - 40),
      [true, isDue],
      `${sizes}`,
    );
  }
});
