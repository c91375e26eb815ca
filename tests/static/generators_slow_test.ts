// The examples for Astro and Eleventy, built by the published generators from the published client and a running service.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { cp, readdir } from "node:fs/promises";
import { startService } from "../service.ts";
import { root } from "../source_files.ts";
import { run } from "./run_command.ts";

const SLUGS = [
  "2024/keeping-a-starter-alive",
  "2024/opening-day",
  "2024/the-oven-that-leaned",
  "2025/baking-by-numbers",
  "2025/rain-and-rye",
  "2025/what a year of mondays taught us",
  "2025/which-flour-for-what",
  "2026/Grüße aus Köln",
  "2026/apple-days",
  "2026/our-shop-window-reads-this-blog",
];

/** Builds an example with the packed client; gives the HTML files that came out, by path. */
async function build(example: string, output: string): Promise<Map<string, string>> {
  await using service = await startService({ env: { LOCAL_REPOS_DIR: `${root}/examples` } });
  const dir = await Deno.makeTempDir();
  try {
    await cp(`${root}/packages/client`, `${dir}/client`, { recursive: true });
    const packed = await run("npm", ["pack"], { cwd: `${dir}/client` });
    const cwd = `${dir}/site`;
    await cp(`${root}/examples/${example}`, cwd, { recursive: true });
    const client = `../client/${packed.out.trim().split("\n").at(-1)}`;
    await run("npm", ["install", "--no-audit", "--no-fund", client], { cwd });
    const url = `http://127.0.0.1:${service.listen()}`;
    const env = { COLLECTIONS_URL: url, ASTRO_TELEMETRY_DISABLED: "1" };
    await run("npm", ["run", "build"], { cwd, env });
    const paths = await readdir(`${cwd}/${output}`, { recursive: true });
    const pages = paths.filter((path) => path.endsWith(".html"));
    const texts = pages.map((path) => Deno.readTextFile(`${cwd}/${output}/${path}`));
    return new Map((await Promise.all(texts)).map((text, at) => [`/${pages[at]}`, text]));
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

/** The pages of the example blog: an index of all published posts, and each of them with its HTML. */
function assertBlog(files: ReadonlyMap<string, string>): void {
  const posts = [...files.keys()].filter((path) => path !== "/index.html").sort();
  assertEquals(posts, SLUGS.map((slug) => `/${slug}/index.html`).sort());
  const index = files.get("/index.html")!;
  assertEquals(index.match(/<a /g)?.length, SLUGS.length);
  assert(!index.includes("Winter opening hours"), "a draft is published");
  const flour = files.get("/2025/which-flour-for-what/index.html")!;
  assertMatch(flour, /<h1 id="user-content-which-flour-for-what">/);
  assertMatch(
    flour,
    /<img src="http:[^"]+\/api\/get-item-content\?[^"]*crumb\.png[^"]*format=raw"/,
  );
}

for (const [example, output] of [["astro", "dist"], ["eleventy", "_site"]] as const) {
  Deno.test(`the example for ${example} builds a page for every post`, async () => {
    assertBlog(await build(example, output));
  });
}
