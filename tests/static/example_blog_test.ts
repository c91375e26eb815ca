// What the example blog says of the service is so.

import { assertEquals } from "@std/assert";
import { startService } from "../service.ts";
import { root } from "../source_files.ts";

const POST = `${root}/examples/blog/posts/2026/our-shop-window-reads-this-blog.md`;

Deno.test("the shop window's lines give the titles of what is published, newest first", async () => {
  await using service = await startService({ env: { LOCAL_REPOS_DIR: `${root}/examples` } });
  const [, code] = (await Deno.readTextFile(POST)).match(/```js\n(.*?)```/s)!;
  const run = Object.getPrototypeOf(async () => {}).constructor;

  const titles = await run("fetch", `${code}; return titles;`)((url: URL) => service.get(url.href));

  assertEquals(titles, [
    "Apple days",
    "Our shop window reads this blog",
    "Grüße aus Köln",
    "Which flour for what",
    "Rain and rye",
    "What a year of Mondays taught us",
    "Baking by numbers",
    "The oven that leaned",
    "Keeping a starter alive",
    "Opening day",
  ]);
});
