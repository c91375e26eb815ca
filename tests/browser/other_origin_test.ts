// Pages of another origin: what they may request, what they may read, and the client as they load it.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Page } from "playwright-core";
import { browserTest, type ServedSite, servePage } from "./browser.ts";

const FILES = Object.fromEntries(
  Array.from({ length: 7 }, (_, n) => [`posts/p${n}.md`, `---\nn: ${n}\n---\n# ${n}\n`]),
);

/** A test with a page of another origin than the service's. */
function elsewhereTest(name: string, body: (page: Page, site: ServedSite) => Promise<void>): void {
  browserTest(name, async (open, site) => {
    await using elsewhere = servePage("<!doctype html><title>Elsewhere</title>");
    await body(await open(elsewhere.url), site);
  }, { files: FILES });
}

elsewhereTest(
  "a page elsewhere calls both operations and reads their headers",
  async (page, site) => {
    const seen = await page.evaluate(async (url) => {
      const address = `${url}api/list-collection-items?owner=octo&repo=site&collection=`;
      const list = await fetch(`${address}posts&limit=3`);
      const { items } = await list.json();
      const item = await fetch(items[0].contentUrl);
      const missing = await fetch(`${address}none`);
      const names = ["etag", "link", "age", "cache-status", "x-request-id"];
      return {
        list: Object.fromEntries(names.map((name) => [name, list.headers.get(name)])),
        content: (await item.json()).content,
        missing: [missing.status, missing.headers.get("content-type"), (await missing.json()).code],
      };
    }, site.url);

    assertMatch(seen.list["etag"]!, /^"[^"]+"$/);
    assertMatch(seen.list["link"]!, /rel="next"/);
    assertEquals(seen.list["age"], "0");
    assertMatch(seen.list["cache-status"]!, /^collections; /);
    assert(seen.list["x-request-id"]);
    assertEquals(seen.content, "---\nn: 0\n---\n# 0\n");
    assertEquals(seen.missing, [404, "application/problem+json", "collection-not-found"]);
  },
);

elsewhereTest("a page elsewhere sends If-None-Match, by way of a preflight", async (page, site) => {
  const seen = await page.evaluate(async (url) => {
    const address = `${url}api/list-collection-items?owner=octo&repo=site&collection=posts`;
    const first = await fetch(address, { cache: "no-store" });
    const etag = first.headers.get("etag")!;
    const again = await fetch(address, { cache: "no-store", headers: { "if-none-match": etag } });
    return { etag, status: again.status, tag: again.headers.get("etag"), text: await again.text() };
  }, site.url);

  assertEquals(seen, { etag: seen.etag, status: 304, tag: seen.etag, text: "" });
  const preflights = site.service.logLines("request").filter(({ method }) => method === "OPTIONS");
  assertEquals(preflights.map(({ status }) => status), [204]);
});

elsewhereTest("a page elsewhere imports /client.js and uses it", async (page, site) => {
  const seen = await page.evaluate(async (url) => {
    const { CollectionsClient, ProblemError } = await import(`${url}client.js`);
    const client = new CollectionsClient(undefined, { reuse: true });
    const posts = { owner: "octo", repo: "site", collection: "posts" };
    const slugs = [];
    for await (const item of client.items({ ...posts, limit: 3 })) slugs.push(item.slug);
    await client.listItems({ ...posts, page: 1, limit: 3 });
    const problem = await client.listItems({ ...posts, collection: "none" })
      .catch((error: unknown) => error instanceof ProblemError ? error : null);
    return { slugs, code: problem?.code };
  }, site.url);

  const slugs = ["p0", "p1", "p2", "p3", "p4", "p5", "p6"];
  assertEquals(seen, { slugs, code: "collection-not-found" });
  assertEquals(site.service.logLines("request").filter(({ status }) => status === 304).length, 1);
});
