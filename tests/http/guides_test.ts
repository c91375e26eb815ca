// The documents as pages: all of them are there, with links to each other that
// lead somewhere.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { startService } from "../service.ts";
import { root } from "../source_files.ts";

const PAGES = [
  "/guides",
  "/guides/api",
  "/guides/client",
  "/guides/operations",
  "/guides/growing",
  "/guides/caching",
  "/guides/limits",
  "/guides/performance",
  "/guides/security",
];

Deno.test("guideResponse() links documents to each other's sections", async () => {
  await using service = await startService();
  const pages = new Map<string, string>();
  for (const path of PAGES) {
    const response = await service.get(path);
    assertEquals(response.status, 200, path);
    pages.set(path, await response.text());
  }
  let count = 0;
  for (const [path, html] of pages) {
    const [, content = ""] = html.match(/<main[^>]*>(.*)<\/main>/s)!;
    for (const [, href] of content.matchAll(/<a href="([^"]*)"/g)) {
      const { pathname, hash, host } = new URL(href!, `http://h${path}`);
      if (host !== "h") continue;
      const target = pages.get(pathname);
      assert(target !== undefined, `${path}: ${href}`);
      const id = decodeURIComponent(hash.slice(1));
      assert(
        id === "" || target.includes(`id="${id}"`),
        `${path}: ${href}`,
      );
      count++;
    }
  }
  assert(count > 60, `${count}`);
});

Deno.test("guideResponse() links other files to the repository", async () => {
  await using service = await startService();
  const files = new Set<string>();
  for (const path of PAGES) {
    const html = await (await service.get(path)).text();
    const [, content = ""] = html.match(/<main[^>]*>(.*)<\/main>/s)!;
    assertEquals([...content.matchAll(/<a>.*?<\/a>/gs)].flat(), [], path);
    const start =
      "https://github.com/repo-collections/repo-collections/blob/HEAD/";
    for (const [, href = ""] of content.matchAll(/<a href="([^"]*)"/g)) {
      if (!href.startsWith(start)) continue;
      const { pathname } = new URL(href);
      files.add(pathname.slice(new URL(start).pathname.length));
    }
  }
  for (const file of files) await Deno.stat(join(root, file));
  assert(files.has("deploy/nginx.conf") && files.has("README.md"));
});

Deno.test("guideResponse() has every guide that the reference names", async () => {
  await using service = await startService();
  const script = await (await service.get("/assets/x/reference.ts")).text();
  const guides = await (await service.get("/guides")).text();
  const [, list = ""] = script.match(/GUIDES = \[(.*?)\]/s)!;
  const titles = [...list.matchAll(/"([^"]+)"/g)].map(([, title]) => title!);
  assert(titles.length >= 11);
  for (const title of titles) {
    const id = title.toLowerCase().replaceAll(" ", "-");
    assert(guides.includes(`<h2 id="user-content-${id}">${title}</h2>`), title);
  }
});

Deno.test("guideResponse() refuses other names, a slash leads back", async () => {
  await using service = await startService();
  assertEquals((await service.get("/guides/none")).status, 404);
  assertEquals((await service.get("/guides/..%2Fapi")).status, 404);
  assertEquals((await service.get("/guides/constructor")).status, 404);
  const redirected = await service.get("/guides/");
  assertEquals(redirected.headers.get("location"), "../guides");
  const policy = (await service.get("/guides")).headers
    .get("content-security-policy")!;
  assertMatch(policy, /^default-src 'none'; /);
});
