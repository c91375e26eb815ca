// Accessibility: axe finds nothing in any view, nothing overflows sideways, and
// everything is reachable by keyboard. Each view leaves its pictures in the
// ignored folder `screenshots`.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Page } from "playwright-core";
import {
  assertAccessible,
  browserTest,
  button,
  link,
  saveScreenshot,
  shown,
  waitForItems,
} from "./browser.ts";

const POSTS = "?owner=local&repo=blog&collection=posts";
const NUMBERS = `${POSTS}&path=posts%2F2025%2Fbaking-by-numbers.md`;

/**
 * A view: its name, its address, what it has when it is there, and what a
 * reader does there.
 */
type View = [
  name: string,
  path: string,
  wait: string,
  act?: (page: Page) => Promise<void>,
];

const VIEWS: View[] = [
  ["home", "", ".list tbody"],
  [
    "file",
    `${POSTS}&path=posts%2F2025%2Fwhich-flour-for-what.md`,
    ".prose table",
  ],
  ["source", `${NUMBERS}&view=source`, ".hljs-section"],
  ["code", NUMBERS, ".prose pre .hljs-keyword"],
  ["json", `${POSTS}&path=data%2Fauthors.json`, ".tree details"],
  ["image", `${POSTS}&path=images%2Foven.svg`, ".picture img"],
  ["sorted", `${POSTS}&sort=-frontMatter.date&limit=5`, ".pager a"],
  [
    "filtered",
    `${POSTS}&filter[frontMatter.tags]=news`,
    ".chips",
    async (page) => {
      await button(page, "Facets").click();
      await shown(page, ".facets dl");
    },
  ],
  ["empty", `${POSTS}&filter[name]=none`, ".empty"],
  ["error", "?owner=local&repo=blog&collection=post", ".problem"],
  ["bad", `${POSTS}&limit=0&page=0`, ".errors"],
  ["request", POSTS, ".json", async (page) => {
    await button(page, "Headers").click();
    await page.getByLabel("Options").click();
  }],
  ["request-narrow", `${POSTS}&view=request`, ".json"],
  ["item-request", `${NUMBERS}&view=request&includeNeighbors=true`, ".json"],
  ["folders", POSTS, ".folders .node", async (page) => {
    await button(page, "Folders in posts", true)
      .click();
    await shown(page, ".folders ul ul a");
  }],
  ["fault", POSTS, ".list tbody", async (page) => {
    await page.locator("#repository").fill("nonsense");
    await page.keyboard.press("Enter");
    await shown(page, "#fault");
  }],
  ["waiting", "", ".list tbody", async (page) => {
    await page.route("**/api/**", () => {});
    await link(page.locator("thead"), "Title").click();
    await shown(page, ".list .progress-line");
  }],
  ["reference", "reference", ".samples .hljs span"],
  ["guides", "guides", ".copied button"],
  ["guide", "guides/operations", ".copied button"],
  ["guide-api", "guides/api", ".copied .hljs"],
  ["found", `${NUMBERS}&search=number`, ".list mark"],
  ["problem", "problems/invalid-parameters", "main"],
];

const SIZES = [[1440, 900], [820, 1180], [390, 844], [320, 640]] as const;

for (const [name, path, wait, act] of VIEWS) {
  browserTest(`axe finds nothing in the view "${name}"`, async (open) => {
    const page = await open(path);
    await page.locator(wait).first().waitFor({ state: "attached" });
    await act?.(page);
    for (const [width, height] of SIZES) {
      await page.setViewportSize({ width, height });
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        await assertAccessible(page, `${colorScheme} at ${width}`);
        if (width > 320) {
          await saveScreenshot(page, `${name}-${width}-${colorScheme}`);
        }
      }
    }
  });
}

browserTest(
  "the keyboard alone filters, walks rows, opens a file and comes back",
  async (open) => {
    const page = await open(POSTS);
    await shown(page, ".list tbody");
    const focused = (what: string) =>
      page.evaluate(`document.activeElement.${what}`);

    await page.keyboard.press("/");
    assertEquals(await focused("id"), "filter");
    await page.keyboard.type("#flour\n");
    await waitForItems(page, "2 items");
    assertEquals(await focused("textContent"), "Rain and rye");
    await page.keyboard.press("ArrowDown");
    assertEquals(await focused("textContent"), "Which flour for what");
    await page.keyboard.press("Enter");
    await shown(page, ".file .meta");
    await page.keyboard.press("Escape");
    await page.locator(".file").waitFor({ state: "detached" });
    assertEquals(await focused("textContent"), "Which flour for what");
    // Nothing that can be used is out of the keyboard's reach.
    const reached = new Set<unknown>();
    for (let presses = 0; presses < 150; presses++) {
      await page.keyboard.press("Tab");
      reached.add(
        await focused("id || document.activeElement.textContent.trim()"),
      );
    }
    for (
      const name of [
        "repository",
        "filter",
        "Copy",
        "Reference",
        "Title",
        "flour",
      ]
    ) {
      assertEquals([name, reached.has(name)], [name, true]);
    }
  },
);

browserTest(
  "on a phone a file takes the screen, and Back leads to its row",
  async (open) => {
    const page = await open(POSTS, {
      viewport: { width: 390, height: 844 },
      hasTouch: true,
    });
    await link(page, "Rain and rye").tap();
    await shown(page, ".file .meta");
    assertEquals(
      await page.evaluate("document.activeElement.id"),
      "file-title",
    );
    assertEquals(await page.locator(".pane.list").isVisible(), false);

    await link(page, "Back").tap();
    await shown(page, ".pane.list");
    const focused = await page.evaluate("document.activeElement.dataset.path");
    assertEquals(focused, "posts/2025/rain-and-rye.md");
    await page.goBack();
    await shown(page, "#file-title", "Rain and rye");
  },
);

browserTest(
  "each answer of the reference has its own request, which Try it carries over",
  async (open) => {
    const page = await open("reference");
    for (const id of ["listCollectionItems", "getItemContent"]) {
      const section = page.locator(`#${id}`);
      const [request, answer] = [0, 1].map((at) =>
        section.locator(".sample").nth(at).locator("pre")
      );
      const select = section.locator(".sample-head select");
      const names = await select.locator("option").allInnerTexts();
      const requests = new Set<string>();
      for (const name of names) {
        await select.selectOption(name);
        // It is shown in pieces, and again when it is highlighted.
        await answer!.filter({ has: page.locator(".hljs") })
          .filter({ hasText: /\n\}$/ }).waitFor();
        const [, url = ""] = (await request!.innerText()).match(
          /"(http[^"]+)"/,
        )!;
        const shown = JSON.parse(await answer!.innerText());
        // One origin is shown, and the local folder has moved on since.
        const [actual, expected] = [await (await fetch(url)).json(), shown]
          .map(({ repository: _, links: _1, contentUrl: _2, ...others }) =>
            JSON.stringify(others).replaceAll(/http:[^"]*\/api/g, "")
          );
        assertEquals(actual, expected, name);
        requests.add(url);
        const href = await link(section, "Try it").getAttribute("href");
        const tried = await open(new URL(href!, page.url()).href);
        await tried.locator(".json").waitFor();
        const copied = await tried.locator(".code-box pre a").getAttribute(
          "href",
        );
        const pairs = (url: string) => [...new URL(url).searchParams].sort();
        assertEquals(pairs(copied!), pairs(url), name);
        await tried.context().close();
      }
      assertEquals(requests.size, names.length);
    }
  },
);

browserTest(
  "every parameter of the reference has an example",
  async (open) => {
    const page = await open("reference");
    const limit = await page.locator("#listCollectionItems-limit").innerText();
    assertMatch(
      limit.replaceAll(/\s+/g, " "),
      /^limit integer .* Default 50 1 to 1,000$/,
    );
    const without = page.locator(".parameter:not(:has(.example, table))");
    assertEquals(await without.locator("dt code").allInnerTexts(), []);
    // Every example that can be tried leads to an answer.
    const links = page.locator(".parameter dd a[href^='./?']");
    const hrefs = await links.evaluateAll((all) =>
      all.map((link) => (link as unknown as { href: string }).href)
    );
    assert(hrefs.length > 30, `${hrefs.length}`);
    const tried = await open("");
    for (const href of hrefs) {
      if (href.includes("includeHistory")) continue;
      await tried.goto(href);
      await tried.locator(".json").waitFor();
      assertEquals(
        await tried.locator(".facts strong").innerText(),
        "200",
        href,
      );
    }
  },
);

browserTest(
  "contents mark what is being read",
  async (open) => {
    const page = await open("reference");
    const marked = page.locator(".contents [aria-current]");
    await marked.getByText("About").waitFor();
    await page.evaluate(
      "document.getElementById('getItemContent-slug').scrollIntoView()",
    );
    await marked.getByText("slug").waitFor();
    assertEquals(
      await marked.getAttribute("href"),
      "#getItemContent-slug",
    );

    await page.goto(new URL("guides", page.url()).href);
    await page.evaluate(
      "document.getElementById('user-content-drafts').scrollIntoView()",
    );
    const section = page.locator(".sections [aria-current]");
    await section.getByText("Drafts").waitFor();
  },
);
