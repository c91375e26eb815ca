// The example page that is a blog: served from elsewhere, of the repository that its address names.

import { assertEquals } from "@std/assert";
import { browserTest, keepScreenshot } from "./browser.ts";
import { serveExamples } from "./served_site.ts";

const html = await Deno.readTextFile(new URL("../../examples/page/index.html", import.meta.url));

browserTest("the example page shows a blog from any repository, newest first", async (open) => {
  await using served = await serveExamples();
  await using elsewhere = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(html, { headers: { "content-type": "text/html; charset=utf-8" } }),
  );
  const page = await open({ viewport: { width: 900, height: 900 } });

  await page.goto(
    `http://localhost:${elsewhere.addr.port}/?service=${
      served.url.replace(/\/$/, "")
    }&owner=local&repo=blog&collection=posts`,
  );
  await page.locator("article").first().waitFor();

  const dates = await page.locator("article time").allTextContents();
  assertEquals(dates, dates.toSorted().reverse());
  assertEquals(new Set(dates).size > 3, true);
  await page.waitForFunction("document.querySelector('article img')?.naturalWidth > 0");
  await keepScreenshot(page, "blog-page");
});
