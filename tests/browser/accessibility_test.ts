// Pages for everyone: axe finds nothing, nothing sticks out at 320 pixels, and the keyboard gets everywhere.

import { assert, assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { browserTest, keepScreenshot } from "./browser.ts";
import { serveExamples } from "./served_site.ts";

const axe = await Deno.readTextFile(
  new URL("../../node_modules/axe-core/axe.min.js", import.meta.url),
);

/** What axe finds, one line a finding, outside of what a selector of `without` names. */
async function findings(page: Page, without: string[] = []): Promise<string[]> {
  // Twice what a change of colour takes: axe measures what it sees.
  await page.waitForTimeout(400);
  await page.evaluate(axe);
  return await page.evaluate(
    `axe.run({ exclude: ${JSON.stringify(without)} }).then(({ violations }) => violations.map(
    ({ id, impact, nodes }) => id + " (" + impact + "): " + nodes.map((node) => node.html.slice(0, 200)).join(" | "),
  ))`,
  );
}

const VIEWS = [
  { name: "posts", path: "", wait: "#item .prose" },
  {
    name: "code",
    path: "?owner=local&repo=blog&collection=data&path=data%2Fauthors.json",
    wait: "#item .source",
  },
  {
    name: "image",
    path: "?owner=local&repo=blog&collection=images&path=images%2Foven.svg",
    wait: ".picture img",
  },
  {
    name: "table",
    path:
      "?owner=local&repo=blog&collection=posts&limit=5&includeContent=true&page=2&path=posts%2F2024%2Fkeeping-a-starter-alive.md",
    wait: ".prose table",
  },
  {
    name: "sorted",
    path:
      "?owner=local&repo=blog&collection=posts&sort=-frontMatter.date&includeFrontMatter=true&limit=5",
    wait: "#list .title",
  },
  { name: "missing", path: "?owner=local&repo=blog&collection=post", wait: ".problem" },
  {
    name: "bad",
    path: "?owner=local&repo=blog&collection=posts&limit=0&branch=a..b",
    wait: ".errors",
  },
  { name: "explained", path: "problems/invalid-parameters", wait: "main" },
];

for (const { name, path, wait } of VIEWS) {
  browserTest(
    `axe finds nothing in the view "${name}", light and dark, wide and narrow`,
    async (open) => {
      await using served = await serveExamples();
      for (const [colorScheme, width] of [["light", 1280], ["dark", 320]] as const) {
        const page = await open({ colorScheme, viewport: { width, height: 900 } });
        await page.goto(served.url + path);
        await page.locator(wait).first().waitFor();

        assertEquals(await findings(page), [], `${colorScheme} at ${width}`);
        const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
        assert(overflow as number <= 0, `${overflow} px stick out at ${width}`);
        await keepScreenshot(page, `${name}-${colorScheme}-${width}`);
      }
    },
  );
}

browserTest("the reference shows both operations and asks nothing elsewhere", async (open) => {
  await using served = await serveExamples();
  for (const colorScheme of ["light", "dark"] as const) {
    const page = await open({ colorScheme });
    await page.goto(`${served.url}reference`);
    await page.getByText("/api/get-item-content").first().waitFor();

    await page.getByText("includeContent").first().waitFor();
    // Swagger UI's own part is as it is published.
    assertEquals(await findings(page, ["#reference"]), []);
    await keepScreenshot(page, `reference-${colorScheme}`);
  }
});

browserTest(
  "the keyboard reaches the results, the files and the content, and is never lost",
  async (open) => {
    await using served = await serveExamples();
    const page = await open({ viewport: { width: 400, height: 800 } });
    await page.goto(`${served.url}?owner=local&repo=blog&collection=posts`);
    await page.locator("#list caption").waitFor();
    const focused = () => page.evaluate("document.activeElement.textContent.trim()");

    await page.keyboard.press("Tab");
    assertEquals(await focused(), "Skip to the results");
    await page.keyboard.press("Enter");
    assertEquals(await page.evaluate("document.activeElement.id"), "results");
    const link = page.getByRole("link", { name: "rain-and-rye.md" });
    await link.focus();
    await page.keyboard.press("Enter");
    await page.locator("#item .prose").waitFor();
    // Below each other, the content is where the reader is taken.
    assertEquals(await focused(), "rain-and-rye.md");
    assertEquals(await page.evaluate("document.activeElement.localName"), "h2");
    await page.locator("#announcer", { hasText: "Showing rain-and-rye.md" }).waitFor({
      state: "attached",
    });
    await page.keyboard.press("Tab");
    assertEquals(await focused(), "Preview");
  },
);

browserTest("going back on a narrow screen leads to the file in the list", async (open) => {
  await using served = await serveExamples();
  const page = await open({ viewport: { width: 400, height: 800 } });
  await page.goto(`${served.url}?owner=local&repo=blog&collection=posts`);
  await page.getByRole("link", { name: "rain-and-rye.md" }).press("Enter");
  await page.locator("#item .prose").waitFor();

  await page.goBack();
  await page.getByText("Choose a file").waitFor({ state: "attached" });

  const focused = "document.activeElement.dataset.path";
  assertEquals(await page.evaluate(focused), "posts/2025/rain-and-rye.md");
});
