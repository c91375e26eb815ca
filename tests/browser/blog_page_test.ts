// The pages of the documentation: the example blog, served from another origin, and README's five lines.

import { assertEquals, assertMatch } from "@std/assert";
import { assertAccessible, browserTest, saveScreenshot, servePage, waitUntil } from "./browser.ts";

const html = await Deno.readTextFile(new URL("../../examples/page/index.html", import.meta.url));

const readme = await Deno.readTextFile(new URL("../../README.md", import.meta.url));

browserTest("README's five lines list posts", async (open, site) => {
  const lines = readme.match(/```html\n(.*?)```/s)![1]!;
  const service = site.url.replace(/\/$/, "");
  await using elsewhere = servePage(lines.replaceAll("http://localhost:8000", service));
  const list = (await open(elsewhere.url)).locator("#list");
  await list.getByText("2026/winter-opening-hours").waitFor();
  assertEquals((await list.textContent())!.trim().split("\n").length, 12);
  assertEquals(lines.trim().split("\n").length, 5);
});

/** The example page with another service address than its own. */
function serveExamplePage(serviceUrl: string) {
  const address = `"${serviceUrl.replace(/\/$/, "")}"`;
  return servePage(html.replace('"http://localhost:8000"', address));
}

browserTest(
  "the example page is a blog: index, tags with counts, posts, neighbours",
  async (open, site) => {
    await using elsewhere = serveExamplePage(site.url);
    const address = `${elsewhere.url}/?owner=local&repo=blog&collection=posts`;
    const page = await open(address, { viewport: { width: 900, height: 900 } });
    const titles = page.locator("article h2");
    await titles.first().waitFor();
    const dates = await page.locator("article time").allTextContents();
    assertEquals([dates.length, dates], [10, dates.toSorted().reverse()]);
    assertEquals(await page.getByText("Winter opening hours").count(), 0);
    assertMatch(await page.locator("article p").first().innerText(), /^Mrs Hartley/);
    await assertAccessible(page, "index");
    await saveScreenshot(page, "blog-index");

    await page.getByRole("link", { name: "flour (2)" }).click();
    await page.getByRole("heading", { name: "Posts about flour" }).waitFor();
    assertEquals(await titles.allTextContents(), ["Which flour for what", "Rain and rye"]);
    await titles.getByRole("link", { name: "Which flour for what" }).click();
    await waitUntil(page, "document.querySelector('article img')?.naturalWidth > 0");
    assertEquals(await page.locator("h1").allTextContents(), ["Which flour for what"]);
    await assertAccessible(page, "post");
    await saveScreenshot(page, "blog-post");

    const neighbors = page.getByRole("navigation", { name: "Other posts" });
    assertEquals(await neighbors.getByRole("link").allTextContents(), [
      "← Grüße aus Köln",
      "→ Rain and rye",
    ]);
    await neighbors.getByRole("link", { name: "Grüße aus Köln" }).click();
    await page.getByRole("heading", { name: "Grüße aus Köln" }).waitFor();
  },
);

browserTest(
  "the example page has contents, links between posts, no hostile HTML",
  async (open, site) => {
    await using elsewhere = serveExamplePage(site.url);
    const collection = "?owner=octo&repo=site&collection=posts&branch=main";
    const page = await open(`${elsewhere.url}/${collection}&post=a`);
    const contents = page.getByRole("navigation", { name: "Contents" }).getByRole("link");
    await contents.first().waitFor();

    assertEquals(await contents.allTextContents(), ["One", "Two"]);
    const ids = await contents.evaluateAll((links) =>
      links.map((link) => (link as unknown as { hash: string }).hash)
    );
    assertEquals(ids, ["#user-content-one", "#user-content-two"]);
    assertEquals(await page.locator(ids.join(", ")).count(), 2);
    assertEquals(await page.evaluate("globalThis.hit"), undefined);
    await page.locator("article").getByRole("link", { name: "b" }).click();
    await page.getByRole("heading", { name: "B" }).waitFor();
    assertEquals(new URL(page.url()).search, `${collection}&post=b`);
  },
  {
    files: {
      "posts/a.md": "---\ntitle: A\n---\n# A\n\n## One\n\n[b](b.md#two) " +
        "<img src=x onerror='globalThis.hit=1'>\n\n## Two\n",
      "posts/b.md": "---\ntitle: B\n---\n# B\n",
    },
  },
);

browserTest(
  "the example page runs no code of a host that its address names",
  async (open, site) => {
    await using elsewhere = serveExamplePage(site.url);
    const page = await open(`${elsewhere.url}/?service=${elsewhere.url}/evil&post=2026/apple-days`);
    await page.locator("article").first().waitFor();

    assertEquals(elsewhere.requested.filter((path) => path.startsWith("/evil")), []);
  },
);

browserTest("the example page says that its service is down", async (open, site) => {
  await using down = serveExamplePage("http://127.0.0.1:1");
  const page = await open(down.url);
  await page.getByText("The service at http://127.0.0.1:1 does not answer.").waitFor();

  await using elsewhere = serveExamplePage(site.url);
  await page.goto(`${elsewhere.url}/?post=none`);
  await page.locator("main", { hasText: '"none"' }).waitFor();
});
