// A repository of 3,000 files over a link that takes 300 ms a request, to the source and to the reader: at no moment does
// the page look dead, and nothing that is shown goes away before there is something to show in its place.

import { assert, assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { generateFiles } from "../github/generated_files.ts";
import { browserTest, keepScreenshot } from "./browser.ts";
import { serveSite } from "./served_site.ts";

const LATENCY_MS = 300;

/**
 * Watches the page from its first moment on, frame by frame: notes each one in which something is under way and nothing
 * says so, or in which a panel that had content has none.
 */
const WATCH = `
  globalThis.dead = [];
  globalThis.pending = 0;
  const send = globalThis.fetch;
  globalThis.fetch = async (...request) => {
    pending++;
    try {
      return await send(...request);
    } finally {
      pending--;
    }
  };
  const panels = { list: false, item: false };
  const look = () => {
    const progress = document.getElementById("progress");
    if (progress !== null) {
      const isShown = progress.checkVisibility();
      const isReady = document.querySelector("#list table") !== null;
      if (!isShown && (pending > 0 || !isReady)) dead.push("nothing says that something loads");
      for (const id of Object.keys(panels)) {
        const has = document.getElementById(id)?.childElementCount > 0;
        if (panels[id] && !has) dead.push(id + " went blank");
        panels[id] ||= has;
      }
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
`;

async function slowDown(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  await session.send("Network.emulateNetworkConditions", {
    offline: false,
    latency: LATENCY_MS,
    downloadThroughput: -1,
    uploadThroughput: -1,
  });
}

browserTest("3,000 files over a slow link never look dead", async (open) => {
  await using site = await serveSite(
    Object.fromEntries(generateFiles({ folders: 10, filesPerFolder: 300 })),
  );
  site.gh.latencyMs = LATENCY_MS;
  const page = await open({ viewport: { width: 1280, height: 900 } });
  await page.addInitScript(WATCH);
  await slowDown(page);
  const caption = (text: string) => page.locator("#list caption", { hasText: text }).waitFor();

  const startedAtMs = performance.now();
  await page.goto(`${site.url}?owner=octo&repo=site&collection=posts`, { waitUntil: "commit" });
  await page.locator("#progress").waitFor();
  await keepScreenshot(page, "slow-first");
  await caption("Files 1 to 50 of 3,000");
  assert(performance.now() - startedAtMs > 3 * LATENCY_MS, "the link is slow");

  await page.getByRole("link", { name: "Next" }).click();
  assertEquals(await page.locator("#progress").isVisible(), true);
  assertEquals(await page.locator("#list tbody tr").count(), 50);
  await keepScreenshot(page, "slow-next");
  await caption("Files 51 to 100 of 3,000");
  await page.locator("#list tbody a").first().click();
  assertEquals(await page.locator("#item h2").textContent(), "post-00050.md");
  assertEquals(await page.locator("#progress").isVisible(), true);
  await keepScreenshot(page, "slow-item");
  await page.locator("#item .prose h1").waitFor();
  await page.getByRole("link", { name: "Last" }).click();
  await caption("Files 2,951 to 3,000 of 3,000");
  // A thousand rows at once, after the last page was left in the middle of its loading.
  await page.goBack();
  await page.locator("#limit").fill("1000");
  await page.locator("#page").fill("");
  await page.getByRole("button", { name: "Show" }).click();
  await caption("Files 1 to 1,000 of 3,000");
  assertEquals(await page.locator("#list tbody tr").count(), 1000);
  await page.locator("#progress").waitFor({ state: "hidden" });

  assertEquals([...new Set(await page.evaluate("dead") as string[])], []);
});

browserTest("what takes long says so, and is overtaken by what is asked for next", async (open) => {
  await using site = await serveSite({ "posts/a.md": "# A\n", "docs/b.md": "# B\n" });
  const page = await open();
  await page.goto(`${site.url}?owner=octo&repo=site&collection=posts`);
  await page.locator("#list tbody tr").waitFor();
  await page.route("**/api/list-collection-items?*collection=slow*", () => {});

  await page.locator("#collection").fill("slow");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByText(/Still asking the source: \d+ s/).waitFor();
  assertEquals(await page.locator("#list").getAttribute("aria-busy"), "true");
  await page.locator("#collection").fill("docs");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByRole("link", { name: "b.md" }).waitFor();

  await page.locator("#progress").waitFor({ state: "hidden" });
  assertEquals(await page.locator(".waiting").count(), 0);
  assertEquals(await page.locator("#list").getAttribute("aria-busy"), "false");
});
