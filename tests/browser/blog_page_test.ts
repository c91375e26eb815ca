// Pages that people begin with: the example that is a blog, served from elsewhere, and README's five lines.

import { assertEquals, assertMatch } from "@std/assert";
import { browserTest, keepScreenshot } from "./browser.ts";
import { serveExamples } from "./served_site.ts";

const html = await Deno.readTextFile(new URL("../../examples/page/index.html", import.meta.url));

const readme = await Deno.readTextFile(new URL("../../README.md", import.meta.url));

browserTest("README's five lines list posts, and its client reads them", async (open) => {
  await using served = await serveExamples();
  const code = (language: string) =>
    readme.match(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "s"))![1]!
      .replaceAll("http://localhost:8000", served.url.replace(/\/$/, ""));
  await using elsewhere = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(code("html"), { headers: { "content-type": "text/html" } }),
  );
  const page = await open();

  await page.goto(`http://localhost:${elsewhere.addr.port}/`);
  await page.locator("#list", { hasText: "2026/winter-opening-hours" }).waitFor();
  assertEquals((await page.locator("#list").textContent())!.trim().split("\n").length, 12);
  const all = Promise.withResolvers<string[]>();
  const written: string[] = [];
  page.on("console", (message) => {
    if (written.push(message.text()) === 12) all.resolve(written);
  });
  await page.addScriptTag({ type: "module", content: code("js") });

  assertMatch((await all.promise)[0]!, /^\w.* \d+$/);
  assertEquals(code("html").trim().split("\n").length, 5);
});

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
