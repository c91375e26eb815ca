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

const REPOSITORY = new URL(
  "https://github.com/repo-collections/repo-collections/blob/HEAD/",
);

Deno.test("guideResponse() links sections and files that exist", async () => {
  await using service = await startService();
  const pages = new Map<string, string>();
  for (const path of PAGES) {
    const response = await service.get(path);
    assertEquals(response.status, 200, path);
    pages.set(path, await response.text());
  }
  const files = new Set<string>();
  for (const [path, html] of pages) {
    const [, content = ""] = html.match(/<main[^>]*>(.*)<\/main>/s)!;
    assertEquals([...content.matchAll(/<a>.*?<\/a>/gs)].flat(), [], path);
    for (const [, href = ""] of content.matchAll(/<a href="([^"]*)"/g)) {
      if (href.startsWith(REPOSITORY.href)) {
        files.add(new URL(href).pathname.slice(REPOSITORY.pathname.length));
      }
      const { pathname, hash, host } = new URL(href, `http://h${path}`);
      if (host !== "h") continue;
      const id = decodeURIComponent(hash.slice(1));
      const target = pages.get(pathname);
      assert(target?.includes(id && `id="${id}"`), `${path}: ${href}`);
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
  for (const name of ["none", "..%2Fapi", "constructor"]) {
    assertEquals((await service.get(`/guides/${name}`)).status, 404, name);
  }
  const redirected = await service.get("/guides/");
  assertEquals(redirected.headers.get("location"), "../guides");
  const { headers } = await service.get("/guides");
  assertMatch(headers.get("content-security-policy")!, /^default-src 'none'; /);
});
