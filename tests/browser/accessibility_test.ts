// Pages for everyone: axe finds nothing in any view, nothing sticks out sideways, and the keyboard gets everywhere. Each view
// leaves its pictures in the ignored folder `screenshots`.

import { assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { assertAccessible, browserTest, keepScreenshot } from "./browser.ts";
import { serveExamples } from "./served_site.ts";

const POSTS = "?owner=local&repo=blog&collection=posts";
const FLOUR = `${POSTS}&path=posts%2F2025%2Fwhich-flour-for-what.md`;

interface View {
  readonly name: string;
  readonly path: string;
  readonly wait: string;
  /** What a reader does there. */
  readonly act?: (page: Page) => Promise<void>;
}

const VIEWS: readonly View[] = [
  { name: "home", path: "", wait: ".list tbody" },
  { name: "file", path: FLOUR, wait: ".prose table" },
  {
    name: "source",
    path: `${POSTS}&path=posts%2F2025%2Fbaking-by-numbers.md&view=source`,
    wait: ".hljs-section",
  },
  {
    name: "code",
    path: `${POSTS}&path=posts%2F2025%2Fbaking-by-numbers.md`,
    wait: ".prose pre",
  },
  { name: "json", path: `${POSTS}&path=data%2Fauthors.json`, wait: ".tree details" },
  { name: "image", path: `${POSTS}&path=images%2Foven.svg`, wait: ".picture img" },
  { name: "sorted", path: `${POSTS}&sort=-frontMatter.date&limit=5`, wait: ".pager a" },
  {
    name: "filtered",
    path: `${POSTS}&filter[frontMatter.tags]=news`,
    wait: ".chips",
    async act(page) {
      await page.getByRole("button", { name: "Facets" }).click();
      await page.locator(".facets dl").first().waitFor();
    },
  },
  { name: "empty", path: `${POSTS}&filter[name]=none`, wait: ".empty" },
  { name: "error", path: "?owner=local&repo=blog&collection=post", wait: ".problem" },
  { name: "bad", path: `${POSTS}&limit=0&page=0`, wait: ".errors" },
  {
    name: "request",
    path: POSTS,
    wait: ".list tbody",
    async act(page) {
      await page.locator(".list .facts").click();
      await page.getByLabel("Options").click();
    },
  },
  {
    name: "waiting",
    path: "",
    wait: ".list tbody",
    async act(page) {
      await page.route("**/api/**", () => {});
      await page.locator("thead").getByRole("link", { name: "Title" }).click();
      await page.locator(".list .progress-line").waitFor();
    },
  },
  { name: "reference", path: "reference", wait: ".samples .hljs span" },
  { name: "problem", path: "problems/invalid-parameters", wait: "main" },
];

const SIZES = [[1440, 900], [820, 1180], [390, 844], [320, 640]] as const;

for (const { name, path, wait, act } of VIEWS) {
  browserTest(`axe finds nothing in the view "${name}"`, async (open) => {
    await using served = await serveExamples();
    const page = await open({ viewport: { width: 1440, height: 900 } });
    await page.goto(served.url + path);
    await page.locator(wait).first().waitFor({ state: "attached" });
    await act?.(page);
    for (const [width, height] of SIZES) {
      await page.setViewportSize({ width, height });
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        await assertAccessible(page, `${colorScheme} at ${width}`);
        if (width > 320) await keepScreenshot(page, `${name}-${width}-${colorScheme}`);
      }
    }
  });
}

browserTest("the keyboard alone filters, walks rows, opens a file and comes back", async (open) => {
  await using served = await serveExamples();
  for (const width of [1440, 390]) {
    const page = await open({ viewport: { width, height: 844 } });
    await page.goto(served.url + POSTS);
    await page.locator(".list tbody").first().waitFor();
    const focused = (what: string) => page.evaluate(`document.activeElement.${what}`);

    await page.keyboard.press("/");
    assertEquals(await focused("id"), "filter");
    await page.keyboard.type("#flour\n");
    await page.locator(".pager .where", { hasText: "2 items" }).waitFor();
    assertEquals(await focused("textContent"), "Rain and rye");
    await page.keyboard.press("ArrowDown");
    assertEquals(await focused("textContent"), "Which flour for what");
    await page.keyboard.press("Enter");
    await page.locator(".file .meta").waitFor();
    if (width === 390) {
      assertEquals(await focused("id"), "file-title");
      assertEquals(await page.locator(".pane.list").isVisible(), false);
    }
    await page.keyboard.press("Escape");
    await page.locator(".file").waitFor({ state: "detached" });
    assertEquals(await focused("textContent"), "Which flour for what");
    // Nothing that can be used is out of the keyboard's reach.
    const reached = new Set<string>();
    for (let presses = 0; presses < 60; presses++) {
      await page.keyboard.press("Tab");
      reached.add(await focused("id || document.activeElement.textContent.trim()") as string);
    }
    const tags = width > 800 ? ["flour"] : [];
    for (const name of ["repository", "filter", "Copy", "Reference", "Title", ...tags]) {
      assertEquals(reached.has(name), true, `${name} is not reached at ${width}`);
    }
  }
});

browserTest("on a phone a file takes the screen, and Back leads to its row", async (open) => {
  await using served = await serveExamples();
  const page = await open({ viewport: { width: 390, height: 844 }, hasTouch: true });
  await page.goto(served.url + POSTS);
  await page.getByRole("link", { name: "Rain and rye" }).tap();
  await page.locator(".file .meta").waitFor();
  assertEquals(await page.locator(".pane.list").isVisible(), false);

  await page.getByRole("link", { name: "Back" }).tap();
  await page.locator(".pane.list").waitFor();
  assertEquals(
    await page.evaluate("document.activeElement.dataset.path"),
    "posts/2025/rain-and-rye.md",
  );
  await page.goBack();
  await page.locator("#file-title", { hasText: "Rain and rye" }).waitFor();
});
