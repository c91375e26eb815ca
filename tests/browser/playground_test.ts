// The playground's whole path, as a person goes it.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Page } from "playwright-core";
import { startService } from "../service.ts";
import { startSite } from "../site.ts";
import { browserTest, keepScreenshot } from "./browser.ts";
import { serveExamples, serveSite } from "./served_site.ts";

const FILES = {
  ...Object.fromEntries(
    Array.from(
      { length: 12 },
      (_, n) => [`posts/p${String(n).padStart(2, "0")}.md`, `# Post ${n}\n`],
    ),
  ),
  "docs/guide/start.md": "# Start\n",
};

/** The search part of the address that the page shows. */
const searchOf = (page: Page) => new URL(page.url()).search;

const caption = (page: Page, text: string) => page.locator("#list caption", { hasText: text });

const rows = (page: Page) => page.locator("#list tbody tr");

/** What a screen reader says of a field after its name. */
const describedBy = (page: Page, id: string) =>
  page.evaluate<string>(`
    (document.getElementById("${id}").getAttribute("aria-describedby") ?? "").split(" ")
      .map((id) => document.getElementById(id)?.innerText ?? "").join(" ").replace(/\\s+/g, " ").trim()
  `);

browserTest("the playground opens on the example, with a list and its first item", async (open) => {
  await using served = await serveExamples();
  const page = await open({ viewport: { width: 1280, height: 900 } });

  await page.goto(served.url);
  await page.locator("#item .prose").waitFor();

  assertEquals(await rows(page).count(), 12);
  assertEquals(await page.locator("#list caption").textContent(), "12 files in posts at main");
  assertEquals(await page.locator("#item h2").textContent(), "keeping-a-starter-alive.md");
  const title = page.locator(".front-matter tr", {
    has: page.locator("th", { hasText: /^title$/ }),
  });
  assertEquals(await title.locator("td").textContent(), "Keeping a starter alive");
  assertMatch(await page.locator("#list .facts").innerText(), /200 OK[^]*ms[^]*KB[^]*Checked with/);
  const path = "posts%2F2024%2Fkeeping-a-starter-alive.md";
  assertEquals(searchOf(page), `?owner=local&repo=blog&collection=posts&path=${path}`);
  assert(await page.locator("#progress").isHidden());
  await keepScreenshot(page, "playground");
});

browserTest(
  "without local folders the playground asks for a repository, and is no error",
  async (open) => {
    await using site = await startSite(FILES);
    const page = await open({ viewport: { width: 1280, height: 900 } });

    await page.goto(`http://127.0.0.1:${site.service.listen()}/`);
    await page.getByText("Name a repository above").waitFor();

    assertEquals(await page.locator(".problem").count(), 0);
    assertEquals(await page.title(), "Repo Collections");
    assertEquals(await page.locator("#repository").inputValue(), "");
    assertEquals(await page.locator("#collection").inputValue(), "");
    const tries = page.locator(".examples a:visible");
    assertEquals(await tries.allTextContents(), ["Astro’s docs at GitHub"]);
    assertEquals(
      (await page.locator(".examples").innerText()).trim(),
      "Try Astro’s docs at GitHub.",
    );
    await keepScreenshot(page, "playground-no-example");
    // Asked for by name it is a problem like any other.
    await page.locator("#repository").fill("local/blog");
    await page.locator("#collection").fill("posts");
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByRole("heading", { name: "Repository not found" }).waitFor();
  },
);

browserTest("where other repositories are served, nothing is there to try", async (open) => {
  await using service = await startService({ env: { ALLOWED_REPOS: "octo/*" } });
  const page = await open();

  await page.goto(`http://127.0.0.1:${service.listen()}/`);
  await page.getByText("Name a repository above").waitFor();

  assertEquals(await page.locator(".examples").isVisible(), false);
});

browserTest(
  "a pasted address fills the form, and the view can be shared and gone back from",
  async (open) => {
    await using site = await serveSite(FILES);
    await site.repository.branch("next");
    const page = await open();
    await page.goto(`${site.url}?owner=octo&repo=site&collection=posts&limit=5`);
    await rows(page).nth(4).waitFor();

    await page.locator("#repository").fill("https://github.com/octo/site/tree/next/docs/guide");
    await page.keyboard.press("Tab");
    assertEquals(await page.locator("#repository").inputValue(), "octo/site");
    assertEquals(await page.locator("#collection").inputValue(), "docs/guide");
    assertEquals(await page.locator("#branch").inputValue(), "next");
    await page.getByRole("button", { name: "Show" }).click();
    await caption(page, "1 file in docs/guide at next").waitFor();
    assertEquals(
      searchOf(page),
      "?owner=octo&repo=site&collection=docs%2Fguide&branch=next&limit=5",
    );

    const other = await open();
    await other.goto(page.url());
    await caption(other, "1 file in docs/guide at next").waitFor();
    await page.goBack();
    await caption(page, "Files 1 to 5 of 12 in posts at main").waitFor();
    assertEquals(await page.locator("#collection").inputValue(), "posts");
  },
);

browserTest("the address of a file opens the file beside its folder", async (open) => {
  await using site = await serveSite(FILES);
  const page = await open();
  await page.goto(site.url);

  await page.locator("#repository").fill("https://github.com/octo/site/blob/main/posts/p03.md");
  await page.keyboard.press("Enter");
  await page.locator("#item .prose h1", { hasText: "Post 3" }).waitFor();

  assertEquals(await page.locator("tr.current").count(), 1);
  assertMatch(await page.title(), /^p03\.md, posts in octo\/site/);
});

browserTest("pages are walked by links, by keyboard too, and forth and back", async (open) => {
  await using site = await serveSite(FILES);
  const page = await open();
  await page.goto(`${site.url}?owner=octo&repo=site&collection=posts&limit=5`);
  const next = page.getByRole("link", { name: "Next" });
  await next.focus();

  await page.keyboard.press("Enter");
  await caption(page, "Files 6 to 10 of 12").waitFor();
  assertEquals(await page.evaluate("document.activeElement.textContent"), "Next");
  await page.keyboard.press("Enter");
  await page.getByText("Page 3 of 3").waitFor();
  assertEquals(await rows(page).count(), 2);
  assertEquals(await next.count(), 0);
  await page.getByRole("link", { name: "First" }).click();
  await caption(page, "Files 1 to 5 of 12").waitFor();
  await page.goBack();
  await page.getByText("Page 3 of 3").waitFor();
  await page.goForward();
  await page.getByText("Page 1 of 3").waitFor();
});

browserTest("an item is shown as it is: text, image, source, bytes", async (open) => {
  await using site = await serveSite({
    "files/a.md": "---\ntitle: A\ntags: [x, y]\nnested: { a: 1 }\n---\n# Heading\n\n- [x] done\n",
    "files/b.svg": '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"></svg>',
    "files/c.json": '{ "a": [1, 2] }\n',
    "files/d.bin": new Uint8Array([0, 1, 2, 255]),
    "files/e.md": "---\ntitle: [\n---\n# Broken\n",
  });
  const page = await open({ viewport: { width: 1280, height: 900 } });
  await page.goto(`${site.url}?owner=octo&repo=site&collection=files`);
  const choose = (name: string) => page.getByRole("link", { name }).click();

  await choose("a.md");
  await page.locator("#item .prose h1").waitFor();
  assertEquals(await page.locator(".front-matter th").allTextContents(), [
    "title",
    "tags",
    "nested",
  ]);
  assertEquals(await page.locator(".tag").allTextContents(), ["x", "y"]);
  await page.getByRole("link", { name: "Raw", exact: true }).click();
  await page.locator("#item .source", { hasText: "title: A" }).waitFor();
  assertMatch(searchOf(page), /path=files%2Fa\.md&view=raw$/);
  await choose("b.svg");
  await page.locator("#item .picture img").waitFor();
  await page.waitForFunction("document.querySelector('.picture img').naturalWidth === 40");
  await choose("c.json");
  await page.locator("#item .source", { hasText: '{ "a": [1, 2] }' }).waitFor();
  await choose("d.bin");
  await page.getByRole("link", { name: "Save the file" }).waitFor();
  await choose("e.md");
  await page.getByText("The front matter does not parse").waitFor();
});

browserTest(
  "another folder begins at its first page, unless another page is typed",
  async (open) => {
    await using site = await serveSite(FILES);
    const page = await open();
    const submit = () => page.getByRole("button", { name: "Show" }).click();
    await page.goto(`${site.url}?owner=octo&repo=site&collection=posts&page=2&limit=5`);
    await caption(page, "Files 6 to 10 of 12 in posts").waitFor();

    await page.locator("#collection").fill("docs");
    await submit();
    await caption(page, "1 file in docs").waitFor();
    assertEquals(searchOf(page), "?owner=octo&repo=site&collection=docs&limit=5");

    await page.locator("#page").fill("2");
    await page.locator("#collection").fill("docs/guide");
    await submit();
    await page.getByText("This page is past the end: there is 1 page.").waitFor();
    assertEquals(await page.locator(".pager").getByText("Page 2").count(), 0);
    await page.getByRole("link", { name: "Previous" }).click();
    await caption(page, "1 file in docs/guide").waitFor();
  },
);

browserTest(
  "a list is sorted and filtered, and its pages and its address keep that",
  async (open) => {
    await using served = await serveExamples();
    const page = await open({ viewport: { width: 1280, height: 900 } });
    await page.goto(served.url);
    await rows(page).first().waitFor();
    assertEquals(await page.locator("#sort").isVisible(), false);

    await page.getByRole("link", { name: "the newest of them" }).click();
    await page.locator("#list .title", { hasText: "Apple days · 2026-09-27" }).waitFor();
    assertEquals(await page.locator("#sort").inputValue(), "-frontMatter.date");
    assertEquals(await page.locator("#filter").inputValue(), "frontMatter.draft=!true");
    await keepScreenshot(page, "sorted");

    await page.locator("#filter").fill("2025* & name=!*.png");
    await page.locator("#limit").fill("2");
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByText("No file fits the filter.").waitFor();
    await page.locator("#filter").fill("path=2025/* & name=!*.png");
    await page.getByRole("button", { name: "Show" }).click();
    await caption(page, "Files 1 to 2 of 4").waitFor();
    await page.getByRole("link", { name: "Next" }).click();
    await caption(page, "Files 3 to 4 of 4").waitFor();
    assertEquals(
      await rows(page).last().locator(".title").textContent(),
      "Baking by numbers · 2025-01-18",
    );
    const other = await open();
    await other.goto(page.url());
    await caption(other, "Files 3 to 4 of 4").waitFor();
    assertEquals(await other.locator("#filter").inputValue(), "path=2025/* & name=!*.png");

    await page.locator("#recursive").uncheck();
    await page.locator("#filter").fill("");
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByText("There is no file in this collection.").waitFor();
    assertMatch(searchOf(page), /&recursive=false$/);

    await page.locator("#filter").fill("draft=true");
    await page.getByRole("button", { name: "Show" }).click();
    await page.locator(".errors").waitFor();
    assertEquals(await page.locator("#filter").getAttribute("aria-invalid"), "true");
    assertMatch(await describedBy(page, "filter"), /for not: .*filter\[draft\] must be/);

    // The field's own words stay, and the problem's go with it.
    await page.locator("#filter").fill("");
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByText("There is no file in this collection.").waitFor();
    assertMatch(await describedBy(page, "filter"), /for not: \S+$/);
  },
);

browserTest("problems say what to do, and lead there", async (open) => {
  await using site = await serveSite(FILES);
  const page = await open({ viewport: { width: 1280, height: 900 } });

  await page.goto(`${site.url}?owner=octo&repo=site&collection=post`);
  await page.getByRole("heading", { name: "Collection not found" }).waitFor();
  await keepScreenshot(page, "problem");
  await page.getByRole("link", { name: "posts", exact: true }).click();
  await caption(page, "12 files in posts at main").waitFor();

  await page.locator("#branch").fill("none");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByRole("link", { name: "the default branch" }).click();
  await caption(page, "12 files in posts at HEAD").waitFor();

  await page.locator("#limit").fill("1001");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByText("must be at most 1000").waitFor();
  assertEquals(await page.locator("#limit").getAttribute("aria-invalid"), "true");
  assertEquals(await describedBy(page, "limit"), "limit must be at most 1000");
  assertEquals(await page.locator("#list .problem").getByText('See "errors"').count(), 0);
  const about = page.getByRole("link", { name: "About invalid-parameters" });
  assertEquals(await about.getAttribute("href"), `${site.url}problems/invalid-parameters`);

  await page.locator("#repository").fill("nonsense");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByText("This names no repository.").waitFor();
  assertEquals(await page.evaluate("document.activeElement.id"), "repository");
});

browserTest("a service that went away is said, and asked again", async (open) => {
  await using site = await serveSite(FILES);
  const page = await open();
  await page.goto(`${site.url}?owner=octo&repo=site&collection=posts`);
  await rows(page).first().waitFor();
  await page.route("**/api/**", (route) => route.abort());
  await page.getByRole("link", { name: "p01.md" }).click();
  await page.getByRole("heading", { name: "The service did not answer" }).waitFor();
  await page.unroute("**/api/**");

  await page.getByRole("button", { name: "Try again" }).click();

  await page.locator("#item .prose h1", { hasText: "Post 1" }).waitFor();
});
