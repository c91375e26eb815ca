// The examples for site generators and frameworks, built with the client beside
// them against a running service. All share one installation, and two are built
// at a time. Astro needs Node 22, which npm has as a package.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { cp, readdir } from "node:fs/promises";
import { browserTest } from "../browser/browser.ts";
import { startService } from "../service.ts";
import { root } from "../source_files.ts";
import { run } from "./run_command.ts";

const NAMES = ["astro", "astro-live", "eleventy", "next", "react", "vue"];
const QUIET = { ASTRO_TELEMETRY_DISABLED: "1", NEXT_TELEMETRY_DISABLED: "1" };
const NODE_22 = ["--yes", "--package=node@22"];

let installed: Promise<string> | null = null;

Deno.test.afterAll(async () => {
  if (installed) await Deno.remove(await installed, { recursive: true });
});

/**
 * A folder with the client and the examples as in a clone, and their packages.
 */
async function install(): Promise<string> {
  const dir = await Deno.makeTempDir();
  // What was built or installed here is no part of a clone.
  const isOwn = (path: string) =>
    !/\/(node_modules|client\.js|dist|_site|\.next|\.astro|pictures)$/
      .test(path);
  for (const folder of ["packages/client", "examples"]) {
    const options = { recursive: true, filter: isOwn };
    await cp(`${root}/${folder}`, `${dir}/${folder}`, options);
  }
  const workspaces = NAMES.map((name) => `examples/${name}`);
  const manifest = JSON.stringify({ private: true, workspaces });
  await Deno.writeTextFile(`${dir}/package.json`, manifest);
  await run("npm", ["run", "build"], { cwd: `${dir}/packages/client` });
  const flags = ["--no-audit", "--no-fund", "--prefer-offline"];
  await run("npm", ["install", ...flags], { cwd: dir });
  return dir;
}

/** Builds an example, and gives its folder. */
async function build(
  name: string,
  env: Record<string, string>,
): Promise<string> {
  const cwd = join(await (installed ??= install()), "examples", name);
  const options = { cwd, env: { ...QUIET, ...env } };
  const command = ["npm", "run", "build"];
  await run("npx", [...NODE_22, ...command], options);
  return cwd;
}

/** The HTML files below a folder, by path. */
async function pagesIn(folder: string): Promise<ReadonlyMap<string, string>> {
  const pages = new Map<string, string>();
  for (const path of await readdir(folder, { recursive: true })) {
    if (!path.endsWith(".html")) continue;
    pages.set(`/${path}`, await Deno.readTextFile(join(folder, path)));
  }
  return pages;
}

/** A service for a build, its address, and the slugs of the published posts. */
async function startBlog(folder = `${root}/examples`) {
  const service = await startService({ env: { LOCAL_REPOS_DIR: folder } });
  const { items } = await service.list({
    owner: "local",
    repo: "blog",
    collection: "posts",
    "filter[name]": "*.md",
    "filter[frontMatter.draft]": "!true",
  });
  const url = `http://127.0.0.1:${service.listen()}`;
  return { service, url, slugs: items.map(({ slug }) => slug) };
}

/** Checks an index that links to every published post, and a page for each. */
function checkPages(
  pages: ReadonlyMap<string, string>,
  { slugs, pathOf, linkOf }: {
    slugs: readonly string[];
    pathOf: (slug: string) => string;
    linkOf: (encodedSlug: string) => string;
  },
): void {
  for (const slug of slugs) assert(pages.has(pathOf(slug)), slug);
  const index = pages.get("/index.html")!;
  const linked = [...index.matchAll(/<a href="([^"]*)"/g)];
  const addresses = slugs.map((slug) => linkOf(encodeURI(slug)));
  assertEquals(linked.map(([, href]) => href!).sort(), addresses.sort());
  assert(!index.includes("Winter opening hours"), "a draft is published");
  const flour = pages.get(pathOf("2025/which-flour-for-what"))!;
  assertMatch(flour, /<h1 id="user-content-which-flour-for-what">/);
}

Deno.test("examples of generators build an index and every post", async (t) => {
  const { service, url, slugs } = await startBlog();
  await using _service = service;
  installed ??= install();
  await installed;
  const env = { COLLECTIONS_URL: url };
  const [next, [astro, eleventy]] = await Promise.all([
    build("next", env),
    (async () => [await build("astro", env), await build("eleventy", env)])(),
  ]);
  const folders = { astro: `${astro}/dist`, eleventy: `${eleventy}/_site` };
  for (const [name, folder] of Object.entries(folders)) {
    await t.step(`${name}, with its own copies of pictures`, async () => {
      const pages = await pagesIn(folder);
      assertEquals(pages.size, slugs.length + 1);
      const pathOf = (slug: string) => `/${slug}/index.html`;
      const linkOf = (slug: string) => `/${slug}/`;
      checkPages(pages, { slugs, pathOf, linkOf });
      const flour = pages.get(pathOf("2025/which-flour-for-what"))!;
      const [, picture] = flour.match(/<img src="(\/pictures\/[^"]+)"/)!;
      assertEquals(
        await Deno.readFile(folder + picture!),
        await Deno.readFile(`${root}/examples/blog/posts/2025/crumb.png`),
      );
      const all = [...pages.values()].join("");
      assert(!/<img[^>]* src="http/.test(all), "a picture of the service");
    });
  }
  await t.step("Next.js", async () => {
    const pages = await pagesIn(`${next}/.next/server/app`);
    const pathOf = (slug: string) => `/${slug}.html`;
    const linkOf = (slug: string) => `/${slug}`;
    checkPages(pages, { slugs, pathOf, linkOf });
  });
});

Deno.test("examples/astro-live shows a change without a build", async () => {
  const dir = await Deno.makeTempDir();
  await cp(`${root}/examples/blog`, `${dir}/blog`, { recursive: true });
  const { service, url, slugs } = await startBlog(dir);
  await using _service = service;
  const cwd = await build("astro-live", {});
  const { out } = await run("npx", [...NODE_22, "which", "node"], { cwd });
  const child = new Deno.Command(out.trim(), {
    args: ["dist/server/entry.mjs"],
    cwd,
    env: { COLLECTIONS_URL: url, HOST: "127.0.0.1", PORT: "0" },
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  try {
    const site = await addressIn(child.stdout);
    const read = async (path: string) => {
      const response = await fetch(new URL(path, site));
      return { status: response.status, text: await response.text() };
    };
    const { text } = await read("/");
    assertEquals([...text.matchAll(/<li>/g)].length, slugs.length);
    assert((await read("/2026/apple-days/")).text.includes("<h1"));
    assertEquals((await read("/none/")).status, 404);
    assertEquals((await read("/drafts/winter-opening-hours/")).status, 404);

    const post = "---\ntitle: Just pushed\ndate: 2026-11-01\n---\n# New\n";
    await Deno.writeTextFile(`${dir}/blog/posts/new.md`, post);
    service.clock.advance(60_000);
    assertMatch((await read("/")).text, /<li><a href="\/new\/">Just pushed</);
    assertMatch((await read("/new/")).text, /<h1[^>]*>New<\/h1>/);
  } finally {
    child.kill();
    await child.status;
    await Deno.remove(dir, { recursive: true });
  }
});

/** The first address that a server prints; the rest is read and dropped. */
async function addressIn(
  output: ReadableStream<Uint8Array<ArrayBuffer>>,
): Promise<string> {
  const texts = output.pipeThrough(new TextDecoderStream());
  let text = "";
  let found: string | undefined;
  for await (const part of texts.values({ preventCancel: true })) {
    text += part;
    const [address] = text.match(/http:\/\/[\d.]+:\d+/) ?? [];
    if (address === undefined) continue;
    found = address;
    break;
  }
  if (found === undefined) throw new Error(`Cannot find an address: ${text}`);
  void texts.pipeTo(new WritableStream());
  return found;
}

for (const name of ["react", "vue"]) {
  browserTest(
    `examples/${name} lists posts and opens one`,
    async (open, { url }) => {
      const cwd = await build(name, { VITE_COLLECTIONS_URL: url });
      await using site = Deno.serve(
        { hostname: "127.0.0.1", port: 0, onListen() {} },
        async ({ url }) => {
          const { pathname } = new URL(url);
          if (pathname === "/favicon.ico") return new Response();
          const file = pathname === "/" ? "/index.html" : pathname;
          const type = file.endsWith(".js") ? "text/javascript" : "text/html";
          const body = await Deno.readFile(`${cwd}/dist${file}`);
          return new Response(body, { headers: { "content-type": type } });
        },
      );
      const page = await open();
      await page.goto(`http://127.0.0.1:${site.addr.port}/`);
      await page.locator("article h2").first().waitFor();
      const titles = await page.locator("article h2").allTextContents();
      assertEquals([titles.length, titles[0]], [10, "Apple days"]);
      await page.getByRole("link", { name: "Grüße aus Köln" }).click();
      await page.locator("article h1").waitFor();
      assertEquals(await page.locator("h1").textContent(), "Grüße aus Köln");
      await page.getByRole("link", { name: "All posts" }).click();
      await page.locator("article h2").first().waitFor();
      await page.goto(`http://127.0.0.1:${site.addr.port}/#none`);
      await page.getByRole("alert").waitFor();
    },
    { reports: /404/ },
  );
}
