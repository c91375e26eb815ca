// The example blog's statements about the service are right.

import { assert, assertEquals } from "@std/assert";
import { startService } from "../service.ts";
import { root } from "../source_files.ts";

const POST = `${root}/examples/blog/posts/2026/our-shop-window-reads-this-blog.md`;

Deno.test("the shop window's lines give the titles of what is published, newest first", async () => {
  await using service = await startService({ env: { LOCAL_REPOS_DIR: `${root}/examples` } });
  const [, code] = (await Deno.readTextFile(POST)).match(/```js\n(.*?)```/s)!;
  const run = Object.getPrototypeOf(async () => {}).constructor;

  const titles = await run("fetch", `${code}; return titles;`)((url: URL) => service.get(url.href));

  assertEquals(
    titles.join("; "),
    "Apple days; Our shop window reads this blog; Grüße aus Köln; Which flour for what; Rain and rye; " +
      "What a year of Mondays taught us; Baking by numbers; The oven that leaned; " +
      "Keeping a starter alive; Opening day",
  );
});

Deno.test("the example page is short, makes two kinds of call, and loads DOMPurify alone", async () => {
  const html = await Deno.readTextFile(`${root}/examples/page/index.html`);
  const [, script, ...others] = html.split(/<script[^>]*>|<\/script>/);
  assertEquals(others.length, 1, "one script");
  assert(script!.trim().split("\n").length <= 80);
  assertEquals(script!.match(/\bimport\b.*?[;,)]|\bsrc=/g), [
    "import(`${service}/vendor/dompurify.js`)",
  ]);
  const calls = [...script!.matchAll(/\bask\("([a-z-]+)"/g)].map(([, call]) => call);
  assertEquals(calls.toSorted(), ["get-item-content", "list-collection-items"]);
  assertEquals(script!.split("fetch(").length, 2);
});
