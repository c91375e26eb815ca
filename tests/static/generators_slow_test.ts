// The examples for Astro and Eleventy, built by the published generators from the client beside them and a running service.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { cp, readdir } from "node:fs/promises";
import { startService } from "../service.ts";
import { root } from "../source_files.ts";
import { run } from "./run_command.ts";

const PUBLISHED = {
  owner: "local",
  repo: "blog",
  collection: "posts",
  "filter[name]": "*.md",
};

/** Builds an example; gives the HTML files that came out, by path, and the published posts. */
async function build(example: string, output: string) {
  await using service = await startService({
    env: { LOCAL_REPOS_DIR: `${root}/examples` },
  });
  const dir = await Deno.makeTempDir();
  try {
    const cwd = `${dir}/examples/${example}`;
    for (const folder of ["packages/client", `examples/${example}`]) {
      const isOwn = (path: string) =>
        !/\/(node_modules|client\.js)$/.test(path);
      const options = { recursive: true, filter: isOwn };
      await cp(`${root}/${folder}`, `${dir}/${folder}`, options);
    }
    await run("npm", ["install", "--no-audit", "--no-fund"], { cwd });
    const url = `http://127.0.0.1:${service.listen()}`;
    const env = { COLLECTIONS_URL: url, ASTRO_TELEMETRY_DISABLED: "1" };
    await run("npm", ["run", "build"], { cwd, env });
    const paths = await readdir(`${cwd}/${output}`, { recursive: true });
    const pages = paths.filter((path) => path.endsWith(".html"));
    const texts = pages.map((path) =>
      Deno.readTextFile(`${cwd}/${output}/${path}`)
    );
    const { items } = await service.list({
      ...PUBLISHED,
      "filter[frontMatter.draft]": "!true",
    });
    return {
      slugs: items.map(({ slug }) => slug),
      pages: new Map(
        (await Promise.all(texts)).map((text, at) => [`/${pages[at]}`, text]),
      ),
    };
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

for (
  const [example, output] of [["astro", "dist"], ["eleventy", "_site"]] as const
) {
  Deno.test(`the example for ${example} builds an index, and a page with its HTML for every post`, async () => {
    const { slugs, pages } = await build(example, output);
    const paths = slugs.map((slug) => `/${slug}/index.html`);
    assertEquals([...pages.keys()].sort(), ["/index.html", ...paths].sort());
    const index = pages.get("/index.html")!;
    const addresses = slugs.map((slug) =>
      `/${slug.split("/").map(encodeURIComponent).join("/")}/`
    );
    const linked = [...index.matchAll(/<a href="([^"]*)"/g)].map(([, href]) =>
      href!
    );
    assertEquals(linked.sort(), addresses.sort());
    assert(!index.includes("Winter opening hours"), "a draft is published");
    const flour = pages.get("/2025/which-flour-for-what/index.html")!;
    assertMatch(flour, /<h1 id="user-content-which-flour-for-what">/);
    assertMatch(
      flour,
      /<img src="http:[^"]+\/api\/get-item-content\?[^"]*crumb\.png[^"]*format=raw"/,
    );
  });
}
