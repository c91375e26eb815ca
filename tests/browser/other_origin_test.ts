// Pages of another origin: what they may request, what they may read, the
// client as they load it; README's five lines and the example blog of the
// documentation.

import { assertEquals, assertMatch } from "@std/assert";
import type { Page } from "playwright-core";
import type { GitFiles } from "../github/git_repository.ts";
import { root } from "../source_files.ts";
import {
  assertAccessible,
  browserTest,
  link,
  POSTS,
  says,
  shown,
} from "./browser.ts";
import { type ServedSite, waitUntil } from "./browser.ts";

const example = await Deno.readTextFile(`${root}/examples/page/index.html`);
const readme = await Deno.readTextFile(`${root}/README.md`);

/**
 * Serves one page from another origin than the service's: `localhost`, and
 * another port.
 */
function servePage(html: string) {
  const requested: string[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => {
      requested.push(new URL(request.url).pathname);
      return new Response(html, {
        headers: { "content-type": "text/html; charset=utf-8" },
      });
    },
  );
  const url = `http://localhost:${server.addr.port}`;
  return { url, requested, [Symbol.asyncDispose]: () => server.shutdown() };
}

/**
 * A test with a page of another origin than the service's, whose address is put
 * in the place of the documented one.
 */
function pageTest(
  name: string,
  { html = "", path = "", ...options }: {
    html?: string;
    path?: string;
    files?: GitFiles;
  },
  body: (
    page: Page,
    site: ServedSite,
    elsewhere: ReturnType<typeof servePage>,
  ) => Promise<void>,
): void {
  browserTest(name, async (open, site) => {
    const service = site.url.replace(/\/$/, "");
    await using elsewhere = servePage(
      html.replaceAll("http://localhost:8000", service),
    );
    await body(await open(elsewhere.url + path), site, elsewhere);
  }, options);
}

pageTest(
  "a page elsewhere calls the operations and the client",
  {},
  async (page, site) => {
    const seen = await page.evaluate(async (url) => {
      const posts = { owner: "octo", repo: "site", collection: "posts" };
      const address = `${url}api/list-collection-items?${new URLSearchParams(
        posts,
      )}`;
      const list = await fetch(`${address}&limit=3`, { cache: "no-store" });
      const names = ["etag", "link", "age", "cache-status", "x-request-id"];
      const { items } = await list.json();
      const item = await (await fetch(items[0].contentUrl)).json();
      const missing = await (await fetch(`${address}none`)).json();

      const { CollectionsClient } = await import(`${url}client.js`);
      const client = new CollectionsClient(undefined, { reuse: true });
      let count = 0;
      for await (const _ of client.items({ ...posts, pageSize: 5 })) count++;
      const again = await client.listItems({ ...posts, page: 1, limit: 5 });
      const unread = names.filter((name) => !list.headers.has(name));
      return [
        unread,
        item.content.slice(-9),
        missing.code,
        count,
        again.items.length,
      ];
    }, site.url);

    assertEquals(seen, [[], "# Post 0\n", "collection-not-found", 12, 5]);
    // The client revalidates, for which the browser sends a preflight.
    const lines = site.service.logLines("request").map(({ method, status }) =>
      `${method} ${status}`
    );
    assertEquals(lines.filter((line) => /304|OPTIONS/.test(line)), [
      "OPTIONS 204",
      "GET 304",
    ]);
  },
);

const [, lines = ""] = readme.match(/```html\n(.*?)```/s) ?? [];

pageTest("README's first page lists posts", { html: lines }, async (page) => {
  const list = page.locator("#list");
  await list.getByText("2026/winter-opening-hours").waitFor();
  assertEquals((await list.textContent())!.trim().split("\n").length, 11);
  assertEquals(lines.trim().split("\n").length, 6);
});

const guides = await Deno.readTextFile(`${root}/docs/guides.md`);
const [, firstPage = ""] =
  guides.match(/## A first page.*?```html\n(.*?)```/s) ?? [];

pageTest(
  "the guides' first page lists titles",
  { html: firstPage },
  async (page) => {
    const titles = page.locator("#list li");
    await titles.getByText("Winter opening hours").waitFor();
    assertEquals(await titles.count(), 11);
  },
);

const BLOG = {
  html: example,
  path: "/?owner=local&repo=blog&collection=posts",
};

pageTest(
  "the example page is a blog: index, tags, posts, neighbours",
  BLOG,
  async (page, site) => {
    const titles = page.locator("article h2");
    await titles.first().waitFor();
    const dates = await page.locator("article time").allTextContents();
    assertEquals([dates.length, dates], [10, dates.toSorted().reverse()]);
    assertEquals(await page.getByText("Winter opening hours").count(), 0);
    assertMatch(
      await page.locator("article p").first().innerText(),
      /^Mrs Hartley/,
    );
    await assertAccessible(page, "index");

    const feed = page.locator("link[rel=alternate]");
    assertEquals(await feed.getAttribute("type"), "application/atom+xml");
    const { href } = new URL((await feed.getAttribute("href"))!);
    const atom = await (await fetch(href)).text();
    const [, post] = /<link href="([^"]*apple-days)"/.exec(atom)!;
    assertEquals(atom.match(/<entry>/g)?.length, 10);
    assertEquals(
      new URL(post!.replaceAll("&amp;", "&")).origin,
      new URL(page.url()).origin,
    );

    await link(page, "flour (2)").click();
    await page.getByRole("heading", { name: "Posts about flour" }).waitFor();
    assertEquals(await titles.allTextContents(), [
      "Which flour for what",
      "Rain and rye",
    ]);
    await link(titles, "Which flour for what").click();
    await waitUntil(
      page,
      "document.querySelector('article img')?.naturalWidth > 0",
    );
    assertEquals(await page.locator("h1").allTextContents(), [
      "Which flour for what",
    ]);
    await assertAccessible(page, "post");

    const neighbors = page.getByRole("navigation", { name: "Other posts" });
    assertEquals(await neighbors.getByRole("link").allTextContents(), [
      "← Grüße aus Köln",
      "→ Rain and rye",
    ]);
    await link(neighbors, "Grüße aus Köln").click();
    await page.getByRole("heading", { name: "Grüße aus Köln" }).waitFor();
    const paths = site.service.logLines("request").map(({ path }) => path);
    // A list, a post with its picture, and what makes its HTML safe.
    assertEquals(
      new Set(paths),
      new Set([
        "/api/list-collection-items",
        "/vendor/dompurify.js",
        "/api/get-item-content",
      ]),
    );
  },
);

const HOSTILE_BLOG = {
  html: example,
  path: `/${POSTS}&branch=main&post=a`,
  files: {
    "posts/a.md":
      "---\ntitle: A\ntags: [b, '!b', '']\n---\n# A\n\n## One\n\n[b](b.md#two) " +
      "<img src=x onerror='globalThis.hit=1'>\n\n## Two\n",
    "posts/b.md": "---\ntitle: B\n---\n# Of its own\n",
  },
};

pageTest(
  "the example page has contents, links, no hostile HTML",
  HOSTILE_BLOG,
  async (page) => {
    const contents = page.getByRole("navigation", { name: "Contents" })
      .getByRole("link");
    await contents.first().waitFor();

    assertEquals(await contents.allTextContents(), ["One", "Two"]);
    for (const [at, id] of ["user-content-one", "user-content-two"].entries()) {
      assertEquals(await contents.nth(at).getAttribute("href"), `#${id}`);
      assertEquals(await page.locator(`#${id}`).count(), 1);
    }
    assertEquals(await page.evaluate("globalThis.hit"), undefined);
    assertEquals(await page.locator("h1").allTextContents(), ["A"]);
    await link(page.locator("article"), "b").click();
    await page.getByRole("heading", { name: "B" }).waitFor();
    assertEquals(await page.locator("h1").allTextContents(), [
      "B",
      "Of its own",
    ]);
    assertEquals(new URL(page.url()).search, `${POSTS}&branch=main&post=b`);

    // A link of "!b" would lead to every other post.
    await link(page, "All posts").click();
    const tags = page.getByRole("navigation", { name: "Tags" });
    await tags.getByText("!b (1)").waitFor();
    assertEquals(await tags.getByRole("link").allTextContents(), ["b (1)"]);
  },
);

pageTest(
  "the example page runs its own code, or says why not",
  BLOG,
  async (page, _, elsewhere) => {
    const { url, requested } = elsewhere;
    await page.goto(`${url}/?service=${url}/evil&post=2026/apple-days`);
    await shown(page, "article");
    assertEquals(requested.filter((path) => path.startsWith("/evil")), []);

    await page.goto(`${url}/?post=none`);
    await page.locator("main", { hasText: '"none"' }).waitFor();
    await using down = servePage(
      example.replace("http://localhost:8000", "http://127.0.0.1:1"),
    );
    await page.goto(down.url);
    await says(page, "The service at http://127.0.0.1:1 does not answer.");
  },
);
