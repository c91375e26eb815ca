// The playground as a person uses it: a place is typed or pasted, the list is
// sorted, filtered and paged, files are opened.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Page } from "playwright-core";
import { root } from "../source_files.ts";
import {
  browserTest,
  button,
  link,
  POSTS,
  says,
  shown,
  waitForItems,
} from "./browser.ts";

const searchOf = (page: Page) => decodeURIComponent(new URL(page.url()).search);
const rows = (page: Page) => page.locator(".list a[data-path]");
const titles = (page: Page) => rows(page).allTextContents();
const focused = (page: Page, what: string) =>
  page.evaluate(`document.activeElement.${what}`);

/** Fills a field and sends it. */
async function enter(page: Page, field: string, text: string): Promise<void> {
  await page.locator(field).fill(text);
  await page.keyboard.press("Enter");
}

/** Waits for an action, and for the items that the list then shows. */
async function leadsTo(
  page: Page,
  items: string,
  action: Promise<unknown>,
): Promise<void> {
  await action;
  await waitForItems(page, items);
}

browserTest(
  "the playground opens on the example, at least 12 rows of it in view",
  async (open) => {
    const isInView =
      `[...document.querySelectorAll(".list a[data-path]")].filter((row) => {
    const { top, bottom } = row.closest("tr").getBoundingClientRect();
    return top >= 0 && bottom <= document.querySelector(".list .request").getBoundingClientRect().top;
  }).length`;
    for (
      const [width, height, least] of [[1440, 900, 12], [390, 844, 8]] as const
    ) {
      const page = await open("", {
        viewport: { width, height },
        items: "12 items",
      });
      const inView = await page.evaluate<number>(isInView);
      assert(
        inView >= least,
        `${inView} rows are in view at ${width}x${height}`,
      );
    }
  },
);

browserTest(
  "rows show title, date and tags, folders are groups",
  async (open) => {
    const page = await open("", { items: "12 items" });

    const heads = await page.locator(".list thead th").allInnerTexts();
    assertEquals(heads.join(), "Title,Date,Tags,Author,Size");
    assertEquals(await page.locator(".group").allInnerTexts(), [
      "2024",
      "2025",
      "2026",
    ]);
    const first = await page.locator(".list tbody tr:not(.group)").first()
      .innerText();
    assertMatch(
      first,
      /^Keeping a starter alive\s+keeping-a-starter-alive\.md\s+2024-04-21\s/,
    );
    await leadsTo(
      page,
      "5 items",
      link(page, "2025").first().click(),
    );
    const crumbs = page.locator(".crumbs a");
    assertEquals(await crumbs.allTextContents(), ["/", "posts", "2025"]);
    await leadsTo(page, "12 items", crumbs.nth(1).click());
  },
);

browserTest(
  "owner/repo alone leads to the whole repository and its own branch",
  async (open) => {
    const page = await open("");
    await leadsTo(page, "13 items", enter(page, "#repository", "octo/site"));
    assertEquals(
      searchOf(page),
      "?owner=octo&repo=site&collection=/&branch=HEAD",
    );
    assertEquals(await focused(page, "dataset.path"), "docs/guide/start.md");

    await leadsTo(page, "1 item", enter(page, "#repository", "octo/site/docs"));
    await enter(page, "#repository", "nonsense");
    await says(page, "This names no repository at GitHub.");
  },
  { branch: "master", env: {} },
);

browserTest(
  "a pasted address of any of the four hosts leads to its list or file",
  async (open) => {
    const page = await open("?owner=local&repo=blog&collection=posts", {
      items: "12 items",
    });
    const paste = (text: string) =>
      page.evaluate(`{
      const clipboardData = new DataTransfer();
      clipboardData.setData("text", ${JSON.stringify(text)});
      const event = new ClipboardEvent("paste", { clipboardData, cancelable: true, bubbles: true });
      document.getElementById("repository").dispatchEvent(event);
    }`);

    await leadsTo(
      page,
      "1 item",
      paste("https://github.com/octo/site/tree/main/docs/guide"),
    );
    assertEquals(
      searchOf(page),
      "?owner=octo&repo=site&collection=docs/guide&branch=main",
    );
    const addresses = [
      "https://github.com/octo/site/blob/main/posts/p03.md",
      "https://raw.githubusercontent.com/octo/site/refs/heads/main/posts/p03.md",
      "https://cdn.jsdelivr.net/gh/octo/site@main/posts/p03.md",
    ];
    for (const address of addresses) {
      await leadsTo(page, "13 items", paste("https://github.com/octo/site"));
      assertEquals(
        searchOf(page),
        "?owner=octo&repo=site&collection=/&branch=HEAD",
      );
      await paste(address);
      await page.getByRole("heading", { name: "Post 3" }).first().waitFor();
      await waitForItems(page, "12 items");
      assertEquals(
        searchOf(page),
        `${POSTS}&branch=main&path=posts/p03.md`,
        address,
      );
    }
  },
);

browserTest(
  "a header sorts, up, down and not at all, and a deep link has it all",
  async (open) => {
    const page = await open("", { items: "12 items" });
    const sort = async (name: string, direction: string) => {
      await page.locator("thead").getByRole("link", { name }).click();
      await page.locator(`th[aria-sort="${direction}"]`, { hasText: name })
        .waitFor();
      await rows(page).first().waitFor();
    };

    await sort("Date", "descending");
    assertEquals((await titles(page))[0], "Winter opening hours");
    await sort("Date", "ascending");
    assertEquals((await titles(page))[0], "Opening day");
    await sort("Title", "ascending");
    assertEquals((await titles(page))[0], "Apple days");
    await link(page, "Rain and rye").click();
    await shown(page, "#file-title", "Rain and rye");

    const other = await open(page.url());
    await shown(other, "#file-title", "Rain and rye");
    assertEquals(await titles(other), await titles(page));
    assertEquals(
      await other.locator("tr.current a[data-path]").innerText(),
      "Rain and rye",
    );
  },
);

browserTest(
  "a header sorts by the key that is shown, or not at all",
  async (open) => {
    const named = await open("?owner=octo&repo=site&collection=named", {
      items: "2 items",
    });
    assertEquals(await titles(named), ["Zoe", "Adam"]);
    await link(named.locator("thead"), "Title").click();
    await named.locator('th[aria-sort="ascending"]').waitFor();
    await rows(named).first().waitFor();
    assertEquals(await titles(named), ["Adam", "Zoe"]);

    const mixed = await open("?owner=octo&repo=site&collection=mixed", {
      items: "2 items",
    });
    assertEquals(await mixed.locator("thead th").allInnerTexts(), [
      "Title",
      "X,y",
      "Size",
    ]);
    assertEquals(await mixed.locator("thead a").allInnerTexts(), ["Size"]);
  },
  {
    files: {
      "named/a.md": "---\nname: Zoe\n---\n",
      "named/z.md": "---\nname: Adam\n---\n",
      "mixed/a.md": "---\nlabel: A\n---\n",
      "mixed/b.md": '---\ntitle: B\n"x,y": 1\n---\n',
    },
  },
);

browserTest(
  "tags, typed filters and facets filter, and chips take that back",
  async (open) => {
    const page = await open("", { items: "12 items" });

    const tag = link(page.locator(".list tbody"), "news")
      .first();
    await leadsTo(page, "3 items", tag.click());
    assertEquals(await page.locator(".chips").innerText(), "tags: news ×");
    await leadsTo(page, "2 items", enter(page, "#filter", "draft=false"));
    const filters =
      "&filter[frontMatter.tags]=news&filter[frontMatter.draft]=false";
    assert(searchOf(page).endsWith(filters), searchOf(page));
    const chip = link(page, "Remove the filter tags: news");
    await leadsTo(page, "10 items", chip.click());
    const hint = await page.locator("#filter").getAttribute("placeholder");
    await leadsTo(
      page,
      "7 items",
      enter(page, "#filter", hint!.split(", ").at(-1)!),
    );
    await leadsTo(page, "10 items", page.goBack());

    await button(page, "Facets").click();
    const facet = link(page.locator(".facets"), "bakery 3");
    await leadsTo(page, "3 items", facet.click());
    await enter(page, "#filter", "name=nothing");
    await says(page, "No item matches the filters.");
    await leadsTo(
      page,
      "12 items",
      link(page, "Remove them").click(),
    );
  },
);

browserTest(
  "typed text is searched for, with its hits marked",
  async (open) => {
    const page = await open("", { items: "12 items" });

    await enter(page, "#filter", "sourdough");
    await shown(page, ".list mark");
    const marked = await page.locator(".list mark").allTextContents();
    assertEquals(new Set(marked.map((text) => text.toLowerCase())).size, 1);
    assert(searchOf(page).endsWith("&search=sourdough"), searchOf(page));

    await enter(page, "#filter", "nowhere");
    const names = "Look for them in the names of files";
    await link(page, names).click();
    await says(page, "No item matches the filters.");
    const filter = "&filter[name][contains]=nowhere";
    assert(searchOf(page).endsWith(filter), searchOf(page));
  },
);

browserTest(
  "markup in what is found stays text",
  async (open) => {
    const page = await open(`${POSTS}&search=apple`, { items: "1 item" });

    const text = await page.locator(".snippet").innerText();
    assertMatch(text, /<b onclick="x">apple<\/b> &amp;/);
    assertEquals(await page.locator(".snippet b").count(), 0);
  },
  { files: { "posts/a.md": 'An <b onclick="x">apple</b> &amp; a pear\n' } },
);

browserTest(
  "a collection that is too large to search leads to its titles",
  async (open) => {
    const page = await open(POSTS, { items: "12 items" });
    await page.route("**search=**", (route) =>
      route.fulfill({
        status: 422,
        json: {
          title: "Collection too large",
          detail: "It cannot be searched.",
          code: "collection-too-large",
        },
      }));

    await enter(page, "#filter", "POST 3");
    const titles = link(page, "in titles only");
    await leadsTo(page, "1 item", titles.click());
  },
);

browserTest(
  "folders and collections lead to their lists",
  async (open) => {
    const page = await open("", { items: "12 items" });
    const nav = page.getByRole("navigation", {
      name: "Collections and folders",
    });
    const follow = (name: RegExp) =>
      nav.getByRole("link", { name }).first().click();

    // What is in a folder is requested when it is opened.
    const inside = button(nav, "Folders in posts", true);
    await inside.click();
    await leadsTo(page, "5 items", follow(/^2025/));
    const current = nav.locator("[aria-current]");
    await current.getByText("2025").waitFor();
    assertEquals(await current.count(), 1);
    await inside.click();
    assertEquals(await link(nav, /^2025/).count(), 0);
    await leadsTo(page, "12 items", follow(/^posts/));
    await leadsTo(page, "3 items", follow(/^docs/));
    await leadsTo(page, "18 items", follow(/^All files/));

    const narrow = await open("", {
      items: "12 items",
      viewport: { width: 390, height: 844 },
    });
    await narrow.getByText("Collections and folders").click();
    await leadsTo(
      narrow,
      "3 items",
      link(narrow.locator(".folders"), /^docs/).first()
        .click(),
    );
  },
);

browserTest(
  "a data file is a table of its rows",
  async (open) => {
    const page = await open("?owner=octo&repo=site&collection=/&path=m.csv");
    const rows = link(page, "Show its rows");
    await leadsTo(page, "2 items", rows.click());

    const cells = page.locator(".data tbody tr");
    assertEquals(await cells.allInnerTexts(), [
      "1\tAnn\t<b>core</b>",
      "2\tBob\t",
    ]);
    // A phone shows them too.
    await page.setViewportSize({ width: 390, height: 844 });
    assert(await cells.first().locator("td").last().isVisible());
    await page.setViewportSize({ width: 1440, height: 900 });
    await link(page, "name").click();
    await leadsTo(page, "1 item", enter(page, "#filter", "ann"));
    assertEquals(await page.locator(".data mark").allTextContents(), ["Ann"]);
  },
  { files: { "m.csv": "name,__proto__\nAnn,<b>core</b>\nBob,\n" } },
);

browserTest(
  "facets are requested once for a list, after a problem too",
  async (open) => {
    const page = await open(POSTS, { items: "2 items" });
    const requests: string[] = [];
    page.on("request", (request) => {
      const facets = new URL(request.url()).searchParams.get("facets");
      if (facets !== null) requests.push(facets);
    });
    const facets = button(page, "Facets");
    // A page that repeats its request does so in the time of these.
    const pass = () =>
      page.evaluate(
        "(async () => { for (let n = 9; n--;) await fetch('./'); })()",
      );

    await page.route("**facets=**", (route) => {
      const problem = {
        title: "Bad",
        detail: "Cannot count.",
        code: "invalid-parameters",
      };
      return route.fulfill({ status: 400, body: JSON.stringify(problem) });
    });
    await facets.click();
    await says(page, "Cannot count.");
    await pass();
    assertEquals(requests, ["frontMatter.tags"]);

    await page.unroute("**facets=**");
    await facets.click();
    await facets.click();
    await link(page.locator(".facets"), "a 2").waitFor();
    // No filter means these: "!" in front negates.
    assertEquals(
      (await page.locator(".facets span").allTextContents()).sort(),
      [" 1", "!a 1"],
    );
    assertEquals(await page.locator(".list tr a.tag").allTextContents(), [
      "a",
      "a",
    ]);
    assertEquals(await page.locator(".list tr span.tag").allTextContents(), [
      "!a",
      "",
    ]);
    await enter(page, "#branch", "none");
    await says(page, "There is nothing to count.");
    await pass();
    assertEquals(requests.length, 2);
  },
  {
    files: {
      "posts/1.md": '---\ntags: [a, "!a", ""]\n"x,y": [a]\n"Q.": [a]\n---\n',
      "posts/2.md": "---\ntags: [a]\n---\n",
    },
  },
);

browserTest(
  "Next shows the next page from its first row on",
  async (open, { url }) => {
    const viewport = { width: 1000, height: 500 };
    const page = await open(`${POSTS}&limit=5`, {
      viewport,
      items: "1–5 of 12",
    });
    const next = link(page, "Next", true);

    await leadsTo(page, "6–10 of 12", next.press("Enter"));
    assertEquals(await focused(page, "textContent"), "Post 5");
    assertEquals(
      await page.locator(".list .body").evaluate((body) => body.scrollTop),
      0,
    );
    await leadsTo(page, "11–12 of 12", next.click());
    assertEquals(await next.count(), 0);
    await leadsTo(page, "6–10 of 12", page.goBack());
    await page.goto(`${url}${POSTS}&limit=5&page=9`);
    await leadsTo(
      page,
      "1–5 of 12",
      link(page, "Show the first page").click(),
    );
    const options = page.getByLabel("Options");
    const size = page.getByLabel("Rows a page");
    await options.click();
    assertEquals(await size.inputValue(), "5");
    await size.press("Escape");
    assertEquals(await size.isVisible(), false);
    assertEquals(await focused(page, "ariaLabel"), "Options");
    await options.press("Enter");
    await leadsTo(page, "12 items", size.selectOption("25"));
  },
);

browserTest(
  "beside the list are its request, as code, and its answer",
  async (open, site) => {
    const permissions = ["clipboard-read", "clipboard-write"];
    const address = `${POSTS}&limit=5&filter[name]=!it's%20$(x)`;
    const page = await open(address, { permissions, items: "1–5 of 12" });
    const panel = page.locator(".api");
    const json = panel.locator(".json");
    const copy = async (tab: string) => {
      await button(panel, tab).click();
      await panel.locator(".code-head").getByText("Copy").click();
      await says(panel, "Copied");
      return await page.evaluate<string>("navigator.clipboard.readText()");
    };
    const itemsOf = async (name: string, args: string[]) => {
      const { stdout, stderr } = await new Deno.Command(name, { args })
        .output();
      const text = new TextDecoder().decode(stdout);
      assert(text !== "", new TextDecoder().decode(stderr));
      return JSON.parse(text).items.length;
    };

    assertMatch(
      await panel.locator(".facts").innerText(),
      /200 · \d+ ms · [\d.]+ KB · fresh \d+ s/,
    );
    const sent = await copy("Address");
    assertEquals((await (await fetch(sent)).json()).items.length, 5);
    assertEquals(
      await panel.locator(".pair").allInnerTexts(),
      // Spaces stay as they are in the address.
      decodeURIComponent(sent.slice(sent.indexOf("?"))).replaceAll(" ", "%20")
        .split(/(?=&)/),
    );
    const run = new Function(
      `return (async () => { ${await copy("fetch")} return items; })()`,
    );
    assertEquals((await run()).length, 5);
    assertEquals(await itemsOf("sh", ["-c", await copy("curl")]), 5);
    const code = (await copy("Client"))
      .replace(/^import .*\/client\.js";/, "")
      .replace("CollectionsClient()", `CollectionsClient("${site.url}")`);
    const { CollectionsClient } = await import(
      "../../packages/client/client.ts"
    );
    const byClient = new Function(
      "CollectionsClient",
      `return (async () => { ${code} return items; })()`,
    );
    assertEquals((await byClient(CollectionsClient)).length, 5);
    const python = `${await copy("Python")}print(json.dumps(answer))`;
    assertEquals(await itemsOf("python3", ["-c", python]), 5);

    await button(panel, "Headers").click();
    assertMatch(
      await panel.locator(".headers").innerText(),
      /cache-status\s+collections/i,
    );
    await says(json, '"name": "p00.md"');
    // What is closed is not there.
    assertEquals(await json.getByText("totalItems").count(), 0);
    await json.locator("summary", { hasText: "pagination" }).click();
    await says(json, '"totalItems": 12');
  },
);

browserTest(
  "the answer is one tab stop, in which arrows move and fold",
  async (open) => {
    const page = await open(POSTS, { items: "12 items" });
    const json = page.locator(".json");
    assertEquals(await json.locator("[tabindex='0']").count(), 1);
    await json.locator("summary").first().focus();
    await page.keyboard.press("ArrowDown");
    assertMatch(`${await focused(page, "textContent")}`, /"repository"/);
    await page.keyboard.press("ArrowRight");
    await says(json, '"owner": "octo"');
    await page.keyboard.press("ArrowLeft");
    await json.getByText('"owner": "octo"').waitFor({ state: "detached" });
  },
);

browserTest(
  "a long value of an answer is cut, a long list shown in parts",
  async (open) => {
    const page = await open(`${POSTS}&limit=1000&includeContent=`, {
      items: "250 items",
    });
    const json = page.locator(".json");
    // The first is open.
    const closed = json.locator("details:not([open])", {
      hasText: /name: \d/,
    });
    assertEquals(await closed.count(), 99);
    await json.getByRole("button", { name: "150 more" }).click();
    await json.getByRole("button", { name: "50 more" }).waitFor();
    await json.locator("summary", { hasText: "frontMatter" }).click();
    await says(json, "99,700 more characters");
  },
  {
    files: Object.fromEntries(
      Array.from({ length: 250 }, (_, at) => [
        `posts/${String(at).padStart(3, "0")}.md`,
        at === 0 ? `---\na: ${"x".repeat(100_000)}\n---\n` : "# A\n",
      ]),
    ),
  },
);

/** The parameters of the request that a panel shows. */
const parametersOf = (page: Page) =>
  page.locator(".pair").allInnerTexts().then((pairs) =>
    pairs.map((pair) => decodeURIComponent(pair.slice(1)))
  );

/**
 * Waits until the request has a parameter, or the text that one begins with.
 */
const hasParameter = (page: Page, text: string) =>
  page.locator(".pair").getByText(text, { exact: false }).waitFor();

browserTest(
  "every parameter of a list can be set beside it",
  async (open) => {
    const page = await open(POSTS, { items: "12 items" });
    const panel = page.locator(".api");
    const set = async (name: string, value: string) => {
      const field = panel.locator(`[name="${name}"]`);
      await field.fill(value);
      await field.press("Enter");
      await hasParameter(page, `${name}=${value}`);
      await rows(page).first().waitFor();
      assertEquals(await focused(page, "name"), name);
    };
    const check = async (name: string) => {
      await panel.getByLabel(name, { exact: true }).click();
      await rows(page).first().waitFor();
    };

    await set("search", "post");
    await set("sort", "-frontMatter.title");
    await set("limit", "5");
    await set("facets", "frontMatter.tags");
    await set("linkTemplate", "/p/{slug}");
    for (const name of ["markdown", "data", "includeHtml", "includeContent"]) {
      await check(name);
    }
    await check("recursive");
    await check("includeFrontMatter");
    await set("page", "2");
    await waitForItems(page, "6–10 of 12");
    assertEquals(await parametersOf(page), [
      "owner=octo",
      "repo=site",
      "collection=posts",
      "page=2",
      "limit=5",
      "sort=-frontMatter.title",
      "recursive=false",
      "search=post",
      "kind=markdown,data",
      "includeHtml=true",
      "includeContent=true",
      "linkTemplate=/p/{slug}",
      "facets=frontMatter.tags",
    ]);
    // The elements of a list are chosen one after the other.
    await set("fields", "slug");
    await panel.locator("summary[aria-label='Choose fields']").click();
    const fields = panel.getByRole("group", { name: "fields" });
    assert(await fields.getByLabel("slug", { exact: true }).isChecked());
    for (const key of ["path", "frontMatter.title"]) {
      await fields.getByLabel(key, { exact: true }).click();
      await rows(page).first().waitFor();
    }
    await fields.getByLabel("path", { exact: true }).click();
    await hasParameter(page, "fields=slug,frontMatter.title");
    // A list with fields has nothing beside them.
    assertEquals(
      (await parametersOf(page)).filter((pair) => /^include/.test(pair)),
      [],
    );
    await page.keyboard.press("Escape");
    assertEquals(await focused(page, "ariaLabel"), "Choose fields");
    await rows(page).first().waitFor();
    assertEquals(await titles(page), [
      "Post 6",
      "Post 5",
      "Post 4",
      "Post 3",
      "Post 2",
    ]);
    await rows(page).first().click();
    await shown(page, "#file-title", "Post 6");
    assertMatch(searchOf(page), /&slug=p06$/);
  },
);

browserTest(
  "filters are set by what they are about, how and with what",
  async (open) => {
    const page = await open(POSTS, { items: "12 items" });
    const row = (at: number) => page.locator(".filter-row").nth(at);
    const fill = async (
      at: number,
      subject: string,
      sign: string,
      text = "",
    ) => {
      await row(at).locator("select").selectOption(sign);
      await row(at).locator("input").last().fill(text);
      await row(at).locator("input").first().fill(subject);
      await page.keyboard.press("Enter");
    };

    await leadsTo(page, "4 items", fill(0, "frontMatter.tags", "is", "news"));
    await leadsTo(
      page,
      "3 items",
      fill(1, "frontMatter.date", "≥", "2025-01-12"),
    );
    await leadsTo(page, "3 items", fill(2, "frontMatter.title", "exists"));
    await leadsTo(page, "2 items", fill(3, "name", "is not", "p03.md"));
    assertEquals((await parametersOf(page)).slice(3, -1), [
      "filter[frontMatter.tags]=news",
      "filter[frontMatter.date][gte]=2025-01-12",
      "filter[frontMatter.title][exists]=true",
      "filter[name]=!p03.md",
    ]);
    // Another operator, and one filter less.
    const sign = row(1).locator("select");
    await leadsTo(page, "1 item", sign.selectOption("<"));
    const remove = button(page, "Remove filter 2");
    await leadsTo(page, "3 items", remove.click());
    assertEquals(await row(1).locator("select").inputValue(), "[exists]");
    const subject = row(1).locator("input").first();
    assertEquals(await subject.inputValue(), "frontMatter.title");
    await leadsTo(page, "1 item", page.goBack());
    assertEquals(
      await row(1).locator("input").last().inputValue(),
      "2025-01-12",
    );
  },
);

browserTest(
  "the request of a file is a tab away, with its parameters",
  async (open) => {
    const page = await open(`${POSTS}&sort=-frontMatter.date`, {
      items: "12 items",
    });
    await link(page, "Post 10").click();
    await shown(page, ".file .prose");
    await link(page.locator(".file"), "Request").click();
    const json = page.locator(".file .json");
    await says(json, '"path": "posts/p10.md"');
    assertEquals(await parametersOf(page), [
      "owner=octo",
      "repo=site",
      "path=posts/p10.md",
      "includeHtml=true",
    ]);
    await page.getByLabel("includeNeighbors").click();
    await says(json, '"next"');
    assertEquals((await parametersOf(page)).slice(-3), [
      "collection=posts",
      "includeNeighbors=true",
      "sort=-frontMatter.date",
    ]);
    await page.getByLabel("includeHtml").click();
    await json.getByText('"html"').waitFor({ state: "detached" });
    await enter(page, '.file [name="slug"]', "p03");
    await says(json, '"path": "posts/p03.md"');
    // The list is as it was.
    await waitForItems(page, "12 items");
    assertEquals((await titles(page))[0], "Post 11");
    await link(page.locator(".file"), "Source").click();
    await shown(page, ".file pre", "# Post 3");
    await page.keyboard.press("Escape");
    await page.locator(".file").waitFor({ state: "detached" });
  },
);

browserTest(
  "a list with addresses of pages has a link to its feed",
  async (open) => {
    const page = await open(
      `${POSTS}&limit=100&linkTemplate=%2Fp%2F%7Bslug%7D`,
      {
        items: "12 items",
      },
    );
    const feed = link(page, "Feed");
    assertEquals(await feed.count(), 0);
    await link(page.locator(".list tbody"), "news")
      .first().click();
    await enter(
      page,
      '.api [name="linkTemplate"]',
      "https://example.com/p/{slug}",
    );
    const response = await fetch((await feed.getAttribute("href"))!);
    assertEquals(
      response.headers.get("content-type"),
      "application/atom+xml; charset=utf-8",
    );
    const entries = (await response.text()).match(/<entry>/g);
    assertEquals(entries?.length, 4);
  },
);

browserTest(
  "with history, rows and files say when they were changed",
  async (open, site) => {
    site.gh.addToken("token");
    const page = await open(`${POSTS}&includeHistory=true`, {
      items: "12 items",
    });
    const heads = await page.locator(".list thead th").allInnerTexts();
    assertEquals(heads.join(), "Title,Date,Tags,Changed,Size");
    const changed = page.locator(".list tbody tr").first().locator(".k-date")
      .last();
    assertMatch(await changed.innerText(), /^\d{4}-\d\d-\d\d$/);
    const header = link(page.locator("thead"), "Changed");
    await header.click();
    await shown(page, 'th[aria-sort="descending"]', "Changed");
    await rows(page).first().waitFor();
    assertMatch(searchOf(page), /&sort=-lastChanged\.date&/);
    await rows(page).first().click();
    assertMatch(
      await page.locator(".file .history").innerText(),
      /^Changed \d{4}-\d\d-\d\d by .+: .+\s+[0-9a-f]{7}\s+Created \d{4}-\d\d-\d\d$/,
    );
  },
  { env: { GITHUB_TOKEN: "token" } },
);

browserTest(
  "the repository's field stays where it is, as does what is below",
  async (open) => {
    const page = await open(POSTS, { items: "12 items" });
    const boxes = () =>
      page.evaluate<string>(
        `JSON.stringify(["#repository", ".crumbs", ".pages", ".list table"].map((name) =>
          document.querySelector(name).getBoundingClientRect()))`,
      );
    const before = await boxes();
    await page.locator("#repository").focus();
    assertEquals(await boxes(), before);
    await enter(page, "#repository", "nonsense");
    // An error takes room of its own.
    const fault = await page.locator("#fault").boundingBox();
    const bar = await page.locator(".bar").boundingBox();
    const list = await page.locator(".pane.list").boundingBox();
    assert(fault!.y + fault!.height <= bar!.y + bar!.height);
    assert(bar!.y + bar!.height <= list!.y);
    const field = await page.locator("#repository").boundingBox();
    assert(field!.y + field!.height <= fault!.y);
    assertEquals(
      await page.getByLabel("Repository", { exact: true }).count(),
      1,
    );
  },
);

browserTest(
  "on a phone the list and its request take turns",
  async (open) => {
    const page = await open(POSTS, {
      viewport: { width: 390, height: 844 },
      items: "12 items",
    });
    assertEquals(await page.locator(".api").isVisible(), false);
    await link(page, "Request", true).click();
    await shown(page, ".api .json");
    assertEquals(await page.locator(".pane.list").isVisible(), false);
    await page.getByText("Parameters").click();
    await page.locator('[name="limit"]').fill("5");
    await page.keyboard.press("Enter");
    await page.locator(".api .json", { hasText: '"items"' }).waitFor();
    await link(page, "List", true).click();
    await waitForItems(page, "1–5 of 12");
  },
);

const SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"></svg>';
const NOTEBOOK = {
  cells: [
    { cell_type: "markdown", source: ["# Words\n"] },
    {
      cell_type: "code",
      source: "print(1)",
      outputs: [{ text: ["1\n"] }, { data: { "image/png": "iVB\nORw" } }],
    },
  ],
};

/** Files, and what shows that their preview is there. */
const KINDS: [
  name: string,
  content: string | Uint8Array,
  selector: string,
  shown: string,
][] = [
  ["empty.md", "", "*", "This file is empty."],
  ["image.svg", SVG, "figcaption", "40 × 30 pixels"],
  [
    "broken.png",
    new Uint8Array([1, 2, 0, 3]),
    "*",
    "This image cannot be shown",
  ],
  [
    "data.json",
    '{ "a": { "b": [1, 2] }, "html": "<b>x</b>" }\n',
    ".leaf",
    "<b>x</b>",
  ],
  ["bad.json", "{ nope", "*", "This is not valid JSON"],
  ["table.csv", 'name,words\n"A, B","say ""hi"""\n', "td", 'say "hi"'],
  ["code.ts", "const a: number = 1; // one\n", ".hljs-keyword", "const"],
  ["work.ipynb", JSON.stringify(NOTEBOOK), ".output", "1"],
  ["cells.ipynb", '{ "cells": "abc" }', "*", "This is shown as plain text"],
  ["cell.ipynb", '{ "cells": [null] }', ".code", "null"],
  ["outputs.ipynb", '{ "cells": [{ "outputs": {} }] }', ".code", "outputs"],
  [
    "data.ipynb",
    '{ "cells": [{ "outputs": [{ "data": null }] }] }',
    ".code",
    "outputs",
  ],
  ["LICENSE", "Do what you want.\n", "pre", "Do what you want."],
  [
    "bytes.bin",
    new Uint8Array([0, 1, 2, 255]),
    "*",
    "This file is not text: 4 B",
  ],
  [
    "wrong.md",
    "---\ntitle: [\n---\n# Broken\n",
    "*",
    "The front matter does not parse, line",
  ],
  [
    "front.md",
    "---\ntitle: A\nnested: { a: 1 }\n---\n# Heading\n",
    ".prose h1",
    "Heading",
  ],
];

browserTest("every kind of file has its preview", async (open, site) => {
  const page = await open("?owner=octo&repo=site&collection=files");
  await rows(page).first().waitFor();
  const file = page.locator(".file .body");
  const shows = (selector: string, hasText: string | RegExp) =>
    file.locator(selector, { hasText }).first().waitFor();
  for (const [name, , selector, shown] of KINDS) {
    await page.locator(`a[data-path="files/${name}"]`).click();
    await shows(selector, shown);
    if (name === "work.ipynb") {
      await shows(".words", "# Words");
      await shows(".hljs.language-python", "print(1)");
      const picture = file.getByRole("img", { name: "Output" });
      assertMatch((await picture.getAttribute("src"))!, /;base64,iVBORw$/);
    }
    if (name !== "data.json") continue;
    await shows("summary", /a:\s*\{ \} 1 key/);
    await file.locator("summary", { hasText: "b:" }).click();
    await shows(".leaf", "2");
  }

  const keys = await file.locator(".front-matter dt").allTextContents();
  assertEquals(keys, ["title", "nested"]);
  await link(page, "Source").click();
  await shows("pre", "title: A");
  assertMatch(searchOf(page), /path=files\/front\.md&view=source$/);
  const download = page.waitForEvent("download");
  await link(file, "Download").click();
  assertEquals((await download).suggestedFilename(), "front.md");
  const address = await link(file, "View on GitHub").getAttribute("href");
  assertEquals(address, `${site.gh.webUrl}/octo/site/blob/main/files/front.md`);
}, {
  files: Object.fromEntries(
    KINDS.map(([name, content]) => [`files/${name}`, content]),
  ),
});

browserTest("problems say what to do, and lead there", async (open, site) => {
  const page = await open("?owner=octo&repo=site&collection=post");
  await page.getByRole("heading", { name: "Collection not found" }).waitFor();
  const about = link(page, "About collection-not-found");
  assertEquals(
    await about.getAttribute("href"),
    `${site.url}problems/collection-not-found`,
  );
  await leadsTo(
    page,
    "12 items",
    link(page, "posts", true).click(),
  );
  await enter(page, "#branch", "none");
  await page.getByRole("heading", { name: "Branch not found" }).waitFor();
  assertEquals(await focused(page, "id"), "branch");
  assertEquals(
    await page.locator("#announcer").textContent(),
    "Branch not found",
  );
  await leadsTo(
    page,
    "12 items",
    link(page, "the default branch").click(),
  );
  await page.goto(`${site.url}${POSTS}&limit=1001&branch=a..b`);
  await shown(page, ".errors li", "limit");
  assertEquals(await page.locator(".errors li").count(), 2);

  await leadsTo(page, "12 items", page.goto(site.url + POSTS));
  await page.route("**/api/**", (route) => route.abort());
  await link(page, "Post 1", true).click();
  await page.getByRole("heading", { name: "The service did not answer" })
    .waitFor();
  await page.unroute("**/api/**");
  await button(page, "Try again").click();
  await shown(page, ".file .meta");
});

browserTest(
  "a preview opens on its own repositories, and names no others",
  async (open) => {
    const page = await open("");
    await rows(page).first().waitFor();
    assertEquals(
      await page.locator("#repository").inputValue(),
      "local/client",
    );
    await page.locator(".examples a").first().waitFor({ state: "attached" });
    assertEquals(await page.locator(".examples a").allTextContents(), [
      "local/client",
    ]);
  },
  { env: { LOCAL_REPOS_DIR: `${root}/packages`, ALLOWED_REPOS: "local/*" } },
);
