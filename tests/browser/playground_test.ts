// The playground as a person uses it: a place is typed or pasted, the list is sorted, filtered and paged, files are opened.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Page } from "playwright-core";
import { startService } from "../service.ts";
import { startSite } from "../site.ts";
import { browserTest } from "./browser.ts";
import { serveExamples, serveSite } from "./served_site.ts";

const post = (n: number) =>
  `---\ntitle: Post ${n}\ndate: 2025-01-${n + 10}\ntags: [${
    n % 3 === 0 ? "news" : "notes"
  }]\n---\n# Post ${n}\n`;
const FILES = {
  ...Object.fromEntries(
    Array.from({ length: 12 }, (_, n) => [`posts/p${String(n).padStart(2, "0")}.md`, post(n)]),
  ),
  "docs/guide/start.md": "# Start\n",
};

const searchOf = (page: Page) => decodeURIComponent(new URL(page.url()).search);
const rows = (page: Page) => page.locator(".list a[data-path]");
const where = (page: Page, text: string) =>
  page.locator(".pager .where", { hasText: text }).waitFor();
const titles = (page: Page) => rows(page).allTextContents();

/** Types a repository address and goes there. */
async function type(page: Page, text: string): Promise<void> {
  await page.locator("#repository").fill(text);
  await page.keyboard.press("Enter");
}

browserTest("the playground opens on the example, at least 12 rows of it in view", async (open) => {
  await using served = await serveExamples();
  for (const [width, height, least] of [[1440, 900, 12], [390, 844, 8]] as const) {
    const page = await open(served.url, { viewport: { width, height } });
    await where(page, "12 items");

    assertEquals(await titles(page).then((all) => all[0]), "Keeping a starter alive");
    const isInView = `[...document.querySelectorAll(".list a[data-path]")].filter((row) => {
      const { top, bottom } = row.closest("tr").getBoundingClientRect();
      return top >= 0 && bottom <= document.querySelector(".list .request").getBoundingClientRect().top;
    }).length`;
    const inView = await page.evaluate<number>(isInView);
    assert(inView >= least, `${inView} rows are in view at ${width}x${height}`);
  }
});

browserTest("rows show title, date and tags, folders are groups", async (open) => {
  await using served = await serveExamples();
  const page = await open(served.url);
  await where(page, "12 items");

  const heads = await page.locator(".list thead th").allInnerTexts();
  assertEquals(heads.join(), "Title,Date,Tags,Author,Size");
  assertEquals(await page.locator(".group").allInnerTexts(), ["2024", "2025", "2026"]);
  const first = await page.locator(".list tbody tr:not(.group)").first().innerText();
  assertMatch(first, /^Keeping a starter alive\s+keeping-a-starter-alive\.md\s+2024-04-21\s/);
  await page.getByRole("link", { name: "2025" }).first().click();
  await where(page, "5 items");
  assertEquals(await page.locator(".crumbs a").allTextContents(), ["/", "posts", "2025"]);
  await page.locator(".crumbs").getByRole("link", { name: "posts" }).click();
  await where(page, "12 items");
});

browserTest("owner/repo alone leads to the whole repository and its own branch", async (open) => {
  await using site = await startSite(FILES, { branch: "master" });
  const page = await open(`http://127.0.0.1:${site.service.listen()}/`);
  assertEquals(await page.locator(".problem").count(), 0);
  assertEquals(await page.title(), "Repo Collections");

  await type(page, "octo/site");
  await where(page, "13 items");
  assertEquals(searchOf(page), "?owner=octo&repo=site&collection=/&branch=HEAD");
  assertEquals(await page.evaluate("document.activeElement.dataset.path"), "docs/guide/start.md");

  await type(page, "octo/site/docs");
  await where(page, "1 item");
  await type(page, "nonsense");
  await page.getByText("This names no repository.").waitFor();
  assertEquals(await page.evaluate("document.activeElement.id"), "repository");
});

browserTest("a pasted address of any of the four hosts leads to its list or file", async (open) => {
  await using site = await serveSite(FILES);
  const page = await open(`${site.url}?owner=local&repo=blog&collection=posts`);
  await where(page, "12 items");
  const paste = (text: string) =>
    page.evaluate(`{
      const clipboardData = new DataTransfer();
      clipboardData.setData("text", ${JSON.stringify(text)});
      const event = new ClipboardEvent("paste", { clipboardData, cancelable: true, bubbles: true });
      document.getElementById("repository").dispatchEvent(event);
    }`);

  await paste("https://github.com/octo/site/tree/main/docs/guide");
  await where(page, "1 item");
  assertEquals(searchOf(page), "?owner=octo&repo=site&collection=docs/guide&branch=main");
  for (
    const address of [
      "https://github.com/octo/site/blob/main/posts/p03.md",
      "https://raw.githubusercontent.com/octo/site/refs/heads/main/posts/p03.md",
      "https://cdn.jsdelivr.net/gh/octo/site@main/posts/p03.md",
    ]
  ) {
    await paste("https://github.com/octo/site");
    await where(page, "13 items");
    assertEquals(searchOf(page), "?owner=octo&repo=site&collection=/&branch=HEAD", address);
    await paste(address);
    await page.getByRole("heading", { name: "Post 3" }).first().waitFor();
    await where(page, "12 items");
    assertEquals(
      searchOf(page),
      "?owner=octo&repo=site&collection=posts&branch=main&path=posts/p03.md",
    );
  }
  assertMatch(await page.title(), /^p03\.md, posts in octo\/site/);
});

browserTest("a header sorts, up, down and not at all, and a deep link has it all", async (open) => {
  await using served = await serveExamples();
  const page = await open(served.url);
  await where(page, "12 items");
  const sort = async (name: string, direction: string) => {
    await page.locator("thead").getByRole("link", { name }).click();
    await page.locator(`th[aria-sort="${direction}"]`, { hasText: name }).waitFor();
    await rows(page).first().waitFor();
  };

  await sort("Date", "descending");
  assertEquals((await titles(page))[0], "Winter opening hours");
  await sort("Date", "ascending");
  assertEquals((await titles(page))[0], "Opening day");
  await sort("Title", "ascending");
  assertEquals((await titles(page))[0], "Apple days");
  await page.getByRole("link", { name: "Rain and rye" }).click();
  await page.locator("#file-title", { hasText: "Rain and rye" }).waitFor();

  const other = await open(page.url());
  await other.locator("#file-title", { hasText: "Rain and rye" }).waitFor();
  assertEquals(await titles(other), await titles(page));
  assertEquals(await other.locator("tr.current a[data-path]").innerText(), "Rain and rye");
});

browserTest("tags, typed filters and facets filter, and chips take that back", async (open) => {
  await using served = await serveExamples();
  const page = await open(served.url);
  await where(page, "12 items");

  await page.locator(".list tbody").getByRole("link", { name: "news" }).first().click();
  await where(page, "3 items");
  assertEquals(await page.locator(".chips").innerText(), "tags: news ×");
  await page.keyboard.press("/");
  await page.keyboard.type("draft=false");
  await page.keyboard.press("Enter");
  await where(page, "2 items");
  assertMatch(
    searchOf(page),
    /&filter\[frontMatter\.tags\]=news&filter\[frontMatter\.draft\]=false$/,
  );
  await page.getByRole("link", { name: "Remove the filter tags: news" }).click();
  await where(page, "10 items");
  await page.locator("#filter").fill("date>=2026-05-01");
  await page.keyboard.press("Enter");
  await where(page, "2 items");
  await page.goBack();
  await where(page, "10 items");

  await page.getByRole("button", { name: "Facets" }).click();
  await page.locator(".facets").getByRole("link", { name: "bakery 3" }).click();
  await where(page, "3 items");
  await page.locator("#filter").fill("nothing");
  await page.keyboard.press("Enter");
  await page.getByText("No item matches the filters.").waitFor();
  await page.getByRole("link", { name: "Remove them" }).click();
  await where(page, "12 items");
});

browserTest("Next shows the next page from its first row on, and back is back", async (open) => {
  await using site = await serveSite(FILES);
  const page = await open(`${site.url}?owner=octo&repo=site&collection=posts&limit=5`, {
    viewport: { width: 1000, height: 500 },
  });
  await where(page, "1–5 of 12");

  await page.getByRole("link", { name: "Next" }).press("Enter");
  await where(page, "6–10 of 12");
  assertEquals(await page.evaluate("document.activeElement.textContent"), "Post 5");
  assertEquals(await page.locator(".list .body").evaluate((body) => body.scrollTop), 0);
  await page.getByRole("link", { name: "Next" }).click();
  await where(page, "11–12 of 12");
  assertEquals(await page.getByRole("link", { name: "Next" }).count(), 0);
  await page.goBack();
  await where(page, "6–10 of 12");
  await page.goto(`${site.url}?owner=octo&repo=site&collection=posts&limit=5&page=9`);
  await page.getByRole("link", { name: "Show the first page" }).click();
  await where(page, "1–5 of 12");
  await page.getByLabel("Options").click();
  await page.getByLabel("Rows a page").selectOption("25");
  await where(page, "12 items");
});

browserTest(
  "a panel's request is one line, with code, headers and JSON on demand",
  async (open) => {
    await using site = await serveSite(FILES);
    const page = await open(
      `${site.url}?owner=octo&repo=site&collection=posts&limit=5&filter[name]=!it's%20$(x)`,
      { permissions: ["clipboard-read", "clipboard-write"] },
    );
    await where(page, "1–5 of 12");
    const line = page.locator(".list .line");

    assertMatch(await line.innerText(), /200 · \d+ ms · [\d.]+ KB · fresh \d+ s\s+Copy/);
    await line.getByRole("button", { name: "Copy" }).click();
    await line.getByText("Copied").waitFor();
    const address = await page.evaluate<string>("navigator.clipboard.readText()");
    assertEquals((await (await fetch(address)).json()).items.length, 5);
    await line.getByRole("button", { name: /^200/ }).click();
    assertMatch(
      await page.locator(".exchange").innerText(),
      /GET http[^]*cache-status[^]*"totalItems": 12/,
    );
    await page.locator(".exchange").getByRole("button", { name: "fetch" }).click();
    await page.locator(".exchange").getByText("Copied").waitFor();
    const code = await page.evaluate<string>("navigator.clipboard.readText()");
    const run = new Function(`return (async () => { ${code} return items; })()`);
    assertEquals((await run()).length, 5);
    await page.locator(".exchange").getByRole("button", { name: "curl" }).click();
    await page.locator(".exchange").getByText("Copied").waitFor();
    const command = await page.evaluate<string>("navigator.clipboard.readText()");
    const { stdout } = await new Deno.Command("sh", { args: ["-c", command] }).output();
    assertEquals(JSON.parse(new TextDecoder().decode(stdout)).items.length, 5);
  },
);

browserTest("every kind of file has its preview", async (open) => {
  const notebook = {
    cells: [
      { cell_type: "markdown", source: ["# Words\n"] },
      { cell_type: "code", source: "print(1)", outputs: [{ text: ["1\n"] }] },
    ],
    metadata: { kernelspec: { language: "python" } },
  };
  await using site = await serveSite({
    "files/image.svg": '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"></svg>',
    "files/broken.png": new Uint8Array([1, 2, 0, 3]),
    "files/data.json": '{ "a": { "b": { "c": [1, 2] } }, "html": "<b>x</b>" }\n',
    "files/bad.json": "{ nope",
    "files/table.csv": 'name,words\n"A, B","say ""hi"""\n',
    "files/code.ts": "const a: number = 1; // one\n",
    "files/work.ipynb": JSON.stringify(notebook),
    "files/LICENSE": "Do what you want.\n",
    "files/empty.md": "",
    "files/bytes.bin": new Uint8Array([0, 1, 2, 255]),
    "files/wrong.md": "---\ntitle: [\n---\n# Broken\n",
    "files/front.md": "---\ntitle: A\ntags: [x, y]\nnested: { a: 1 }\n---\n# Heading\n",
  });
  const page = await open(`${site.url}?owner=octo&repo=site&collection=files`);
  await rows(page).first().waitFor();
  const choose = (name: string) => page.locator(`a[data-path="files/${name}"]`).click();
  const file = page.locator(".file .body");
  const shows = (selector: string, hasText: string | RegExp) =>
    file.locator(selector, { hasText }).first().waitFor();

  await choose("image.svg");
  await shows("figcaption", "40 × 30 pixels");
  await choose("broken.png");
  await file.getByText("This image cannot be shown").waitFor();
  await choose("data.json");
  await shows("summary", /a:\s*\{ \} 1 key/);
  assertEquals(await file.locator(".leaf", { hasText: "<b>x</b>" }).count(), 1);
  assertEquals(await file.locator("details[open]").count(), 2);
  await file.locator("summary", { hasText: "b:" }).click();
  await shows("summary", /c:\s*\[ \] 2 elements/);
  await choose("bad.json");
  await file.getByText("This is not valid JSON").waitFor();
  await choose("table.csv");
  await shows("td", 'say "hi"');
  assertEquals(await file.locator("td").first().textContent(), "A, B");
  await choose("code.ts");
  await shows(".hljs-keyword", "const");
  await choose("work.ipynb");
  await shows(".output", "1");
  await choose("LICENSE");
  await shows("pre", "Do what you want.");
  await choose("empty.md");
  await file.getByText("This file is empty.").waitFor();
  await choose("bytes.bin");
  await file.getByText("This file is not text: 4 B").waitFor();
  await choose("wrong.md");
  await file.getByText("The front matter does not parse, line").waitFor();
  await choose("front.md");
  await shows(".prose h1", "Heading");
  assertEquals(await file.locator(".front-matter dt").allTextContents(), [
    "title",
    "tags",
    "nested",
  ]);
  await page.getByRole("link", { name: "Source" }).click();
  await shows("pre", "title: A");
  assertMatch(searchOf(page), /path=files\/front\.md&view=source$/);
  const download = page.waitForEvent("download");
  await file.getByRole("link", { name: "Download" }).click();
  assertEquals((await download).suggestedFilename(), "front.md");
  assertEquals(
    await file.getByRole("link", { name: "View on GitHub" }).getAttribute("href"),
    `${site.gh.webUrl}/octo/site/blob/main/files/front.md`,
  );
});

browserTest("problems say what to do, and lead there", async (open) => {
  await using site = await serveSite(FILES);
  const page = await open(`${site.url}?owner=octo&repo=site&collection=post`);
  await page.getByRole("heading", { name: "Collection not found" }).waitFor();
  const about = page.getByRole("link", { name: "About collection-not-found" });
  assertEquals(await about.getAttribute("href"), `${site.url}problems/collection-not-found`);
  await page.getByRole("link", { name: "posts", exact: true }).click();
  await where(page, "12 items");
  await page.locator("#branch").fill("none");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "the default branch" }).click();
  await where(page, "12 items");
  await page.goto(`${site.url}?owner=octo&repo=site&collection=posts&limit=1001&branch=a..b`);
  await page.locator(".errors li", { hasText: "limit" }).waitFor();
  assertEquals(await page.locator(".errors li").count(), 2);

  await page.goto(`${site.url}?owner=octo&repo=site&collection=posts`);
  await where(page, "12 items");
  await page.route("**/api/**", (route) => route.abort());
  await page.getByRole("link", { name: "Post 1", exact: true }).click();
  await page.getByRole("heading", { name: "The service did not answer" }).waitFor();
  await page.unroute("**/api/**");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.locator(".file .meta").waitFor();
});

browserTest("a preview opens on its own repositories, and names no others", async (open) => {
  const dir = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${dir}/notes/ideas`, { recursive: true });
    await Deno.writeTextFile(`${dir}/notes/ideas/one.md`, "# One\n");
    await using service = await startService({
      env: { LOCAL_REPOS_DIR: dir, ALLOWED_REPOS: "local/*" },
    });
    const page = await open(`http://127.0.0.1:${service.listen()}/`);
    await where(page, "1 item");

    assertEquals(await page.locator("#repository").inputValue(), "local/notes");
    assertEquals(await page.locator(".examples a").allTextContents(), ["local/notes"]);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
