// Pages that people begin with: the example that is a blog, served from elsewhere, and README's five lines.

import { assertEquals, assertMatch } from "@std/assert";
import { browserTest, keepScreenshot } from "./browser.ts";
import { serveExamples, serveSite } from "./served_site.ts";

const html = await Deno.readTextFile(new URL("../../examples/page/index.html", import.meta.url));

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="12" height="12"></svg>';

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

/** The example page for a service elsewhere than where it says, and the paths that its own host was asked for. */
function serveExamplePage(serviceUrl: string) {
  const text = html.replace('"http://localhost:8000"', `"${serviceUrl.replace(/\/$/, "")}"`);
  const asked: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    asked.push(new URL(request.url).pathname);
    return new Response(text, { headers: { "content-type": "text/html; charset=utf-8" } });
  });
  return {
    url: `http://localhost:${server.addr.port}`,
    asked,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

browserTest("the example page shows a blog from any repository, newest first", async (open) => {
  await using served = await serveExamples();
  await using elsewhere = serveExamplePage(served.url);
  const page = await open({ viewport: { width: 900, height: 900 } });

  await page.goto(`${elsewhere.url}/?owner=local&repo=blog&collection=posts`);
  await page.locator("article").first().waitFor();

  const dates = await page.locator("article time").allTextContents();
  assertEquals(dates, dates.toSorted().reverse());
  assertEquals(new Set(dates).size > 3, true);
  await page.waitForFunction("document.querySelector('article img')?.naturalWidth > 0");
  await keepScreenshot(page, "blog-page");
});

browserTest("the example page runs no code of a host that its address names", async (open) => {
  await using served = await serveExamples();
  await using elsewhere = serveExamplePage(served.url);
  const page = await open();

  await page.goto(`${elsewhere.url}/?service=${elsewhere.url}/evil`);
  await page.locator("article").first().waitFor();

  assertEquals(elsewhere.asked.filter((path) => path.startsWith("/evil")), []);
});

browserTest("the example page says that its service is down", async (open) => {
  await using elsewhere = serveExamplePage("http://127.0.0.1:1");
  const page = await open();

  await page.goto(elsewhere.url);

  await page.getByText("The service at http://127.0.0.1:1 does not answer.").waitFor();
});

browserTest("the example page leads relative addresses to the repository", async (open) => {
  const folder = "posts/c# 100%?";
  await using site = await serveSite({
    [`${folder}/a.md`]: `![Here](img/x%20y.svg) ![Root](/root.svg) ![Bad](%E0)

[Next](next.md#part) [Folder](../) [Root](/root.svg) [Bad](%E0) [Else](https://example.test/) [Part](#x)
`,
    [`${folder}/img/x y.svg`]: SVG,
    "root.svg": SVG,
  });
  await using elsewhere = serveExamplePage(site.url);
  const page = await open();
  // Its own name for the branch, as a page has that shows another than main.
  await page.goto(`${elsewhere.url}/?owner=octo&repo=site&collection=posts&branch=main`);
  await page.locator("article").waitFor();

  await page.waitForFunction(
    "[...document.querySelectorAll('article img')].filter((image) => image.naturalWidth === 12).length === 2",
  );
  const hrefs = await page.locator("article a").evaluateAll((links) =>
    links.map((link) => (link as unknown as { href: string }).href)
  );
  const web = `${site.gh.webUrl}/octo/site/blob/main`;
  assertEquals(hrefs, [
    `${web}/posts/c%23%20100%25%3F/next.md#part`,
    `${web}/posts/`,
    `${web}/root.svg`,
    `${elsewhere.url}/%E0`,
    "https://example.test/",
    `${elsewhere.url}/?owner=octo&repo=site&collection=posts&branch=main#x`,
  ]);
});
