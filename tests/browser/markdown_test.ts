// Markdown of strangers in the playground: nothing in it runs, nothing is loaded from elsewhere, and what is relative
// leads to the repository.

import { assert, assertEquals } from "@std/assert";
import type { Locator } from "playwright-core";
import { browserTest } from "./browser.ts";
import { serveSite } from "./served_site.ts";

const HOSTILE = `# Hostile

<script>globalThis.hit = "script"</script>
<img src="x" onerror="globalThis.hit = 'onerror'">
<a id="js" href="javascript:globalThis.hit='link'">run</a>
<svg onload="globalThis.hit='svg'"><use href="https://evil.test/x.svg"/></svg>
<iframe srcdoc="<script>parent.hit='frame'</script>"></iframe>
<style>body { display: none }</style>
<p class="progress" style="position: fixed">dressed up</p>
<form action="https://evil.test/"><input name="repository" value="x"><button>Go</button></form>
<meta http-equiv="refresh" content="0; url=https://evil.test/">
<a id="form" name="list" href="#">clobber</a>
<img src="https://evil.test/pixel.png" alt="pixel">
<img srcset="https://evil.test/pixel.png 2x" src="//evil.test/p.png">

[scheme](JaVaScRiPt:globalThis.hit=1) ![pic](https://evil.test/pic.png "t")
`;

const FRIENDLY = `# Friendly

![Here](img/a%20b.svg) ![Up](../root.svg) ![Root](/root.svg)

[Next](./next.md#part) [Elsewhere](https://example.test/) [Part](#part)

| a | b |
| - | - |
| 1 | 2 |
`;

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="12" height="12"></svg>';

browserTest("hostile Markdown does nothing", async (open) => {
  await using site = await serveSite({ "posts/hostile.md": HOSTILE });
  const page = await open();

  await page.goto(`${site.url}?owner=octo&repo=site&collection=posts&path=posts%2Fhostile.md`);
  const prose = page.locator("#item .prose");
  await prose.locator("h1").waitFor();
  await page.getByText("run", { exact: true }).click({ force: true });

  assertEquals(await page.evaluate("globalThis.hit"), undefined);
  assertEquals(new URL(page.url()).hostname, "127.0.0.1");
  for (const bad of ["script", "style", "iframe", "form", "button", "svg", "meta", "[onerror]"]) {
    assertEquals(await prose.locator(bad).count(), 0, bad);
  }
  assertEquals(await prose.locator("[style], .progress, #form, #list").count(), 0);
  assertEquals(await prose.locator("a[href^='javascript' i]").count(), 0);
  // Pictures from elsewhere are links; the browser's own watch fails the test if one was asked for.
  assert(await prose.getByText("Picture elsewhere: pixel").isVisible());
  assertEquals(await page.locator("body").isVisible(), true);
  // Chromium reports what the policy stops while the cleaner reads, in a document where nothing would run anyway.
}, { reports: /^(Executing|Applying) inline .* violates the following Content Security Policy/ });

browserTest("relative addresses in Markdown lead to the repository", async (open) => {
  await using site = await serveSite({
    "posts/2026/friendly.md": FRIENDLY,
    "posts/2026/next.md": "# Next one\n",
    "posts/2026/img/a b.svg": SVG,
    "posts/root.svg": SVG,
    "root.svg": SVG,
  });
  const page = await open();
  await page.goto(
    `${site.url}?owner=octo&repo=site&collection=posts&path=posts%2F2026%2Ffriendly.md`,
  );
  await page.locator("#item .prose h1").waitFor();

  await page.locator(".prose img").last().scrollIntoViewIfNeeded();
  await page.waitForFunction(
    "[...document.querySelectorAll('.prose img')].filter((image) => image.naturalWidth === 12).length === 3",
  );
  const elsewhere = page.getByRole("link", { name: "Elsewhere" });
  assertEquals(await elsewhere.getAttribute("rel"), "noopener noreferrer nofollow");
  // Headings have no addresses here, so a link to one looks like the text around it.
  const part = page.locator(".prose a", { hasText: "Part" });
  assertEquals(await part.getAttribute("href"), null);
  const colorOf = (element: Locator) =>
    element.evaluate((element) =>
      (globalThis as unknown as { getComputedStyle(of: unknown): { color: string } })
        .getComputedStyle(element).color
    );
  assertEquals(await colorOf(part), await colorOf(page.locator(".prose p").last()));
  assert(await colorOf(part) !== await colorOf(elsewhere));
  await page.getByRole("link", { name: "Next", exact: true }).click();
  await page.locator("#item .prose h1", { hasText: "Next one" }).waitFor();
  assertEquals(new URL(page.url()).searchParams.get("path"), "posts/2026/next.md");
});
