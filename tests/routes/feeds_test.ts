// Feeds and sitemaps of a list, read by a strict XML parser.

import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
} from "@std/assert";
import { SaxesParser } from "saxes";
import { watchHistory } from "../github/served_repository.ts";
import { listPath, type Parameters } from "../service.ts";
import { type Site, startSite } from "../site.ts";
import { EVIL, FILES, TEMPLATE } from "./feed_files.ts";

/** An element with its text and all elements below it. */
interface Node {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: Node[];
  text: string;
}

/** Parses XML. Anything that is not well-formed throws. */
function parseXml(xml: string): Node {
  const root: Node = { name: "", attributes: {}, children: [], text: "" };
  const open = [root];
  const parser = new SaxesParser();
  parser.on("error", (error) => {
    throw error;
  });
  parser.on("opentag", ({ name, attributes }) => {
    const node = { name, attributes, children: [], text: "" };
    open.at(-1)!.children.push(node);
    open.push(node);
  });
  parser.on("closetag", () => void open.pop());
  for (const event of ["text", "cdata"] as const) {
    parser.on(event, (text) => void (open.at(-1)!.text += text));
  }
  parser.write(xml).close();
  return root.children[0]!;
}

const all = (node: Node, name: string) =>
  node.children.filter((child) => child.name === name);
const textOf = (node: Node, name: string) => all(node, name)[0]?.text;

/** The entries of Atom or RSS. */
function entriesOf(text: string) {
  const root = parseXml(text);
  const [parent, entry, date, content] = root.name === "feed"
    ? [root, "entry", "published", "content"] as const
    : [root.children[0]!, "item", "pubDate", "content:encoded"] as const;
  return all(parent, entry).map((node) => {
    const [link] = all(node, "link");
    const published = textOf(node, date);
    return {
      title: textOf(node, "title"),
      link: link!.attributes["href"] ?? link!.text,
      published: published && new Date(published).toISOString(),
      updated: textOf(node, "updated"),
      content: textOf(node, content) ?? "",
    };
  });
}

async function read(site: Site, parameters: Parameters) {
  const path = listPath({ linkTemplate: TEMPLATE, ...parameters });
  const response = await site.service.get(path);
  const text = await response.text();
  assertEquals(response.status, 200, text);
  return { response, text };
}

async function readJson(site: Site, parameters: Parameters = {}) {
  const { text } = await read(site, { format: "jsonfeed", ...parameters });
  const { items, version } = JSON.parse(text);
  assertEquals(version, "https://jsonfeed.org/version/1");
  return items as Readonly<Record<string, string>>[];
}

Deno.test("format=atom gives entries, the latest first", async () => {
  await using site = await startSite(FILES);
  const feedTitle = "A & B &amp; <C>";
  const { text } = await read(site, { format: "atom", feedTitle });
  const feed = parseXml(text);
  assertEquals(textOf(feed, "title"), feedTitle);
  assertMatch(textOf(feed, "id")!, /^tag:[a-z0-9.]+,2026:octo\/site\/posts$/);
  const [home, self] = all(feed, "link").map(({ attributes }) => attributes);
  assertEquals(home!["href"], "https://example.com/blog/");
  const again = await site.service.get(self!["href"]!);
  assertEquals(await again.text(), text, "the feed names itself");

  const entries = entriesOf(text);
  const dates = entries.map(({ updated }) => updated);
  assertEquals(dates, [
    textOf(feed, "updated"),
    "2022-07-08T00:00:00.000Z",
    // Atom requires a date.
    "1970-01-01T00:00:00.000Z",
    "1970-01-01T00:00:00.000Z",
  ]);
  assertEquals(textOf(all(feed, "entry")[0]!, "summary"), "About *it*");
  const { content, ...first } = entries[0]!;
  assertEquals(first, {
    title: "Twelve &amp; &lt;one&gt;",
    link: "https://example.com/blog/2026/zw%C3%B6lf%20%26%20eins/?a=1&b=2",
    published: "2026-03-01T00:00:00.000Z",
    updated: "2026-04-02T08:00:00.000Z",
  });
  assertMatch(
    content,
    /href="https:\/\/example\.com\/blog\/old\/\?a=1&(amp|#x26);b=2"/,
  );
  assert(content.includes('src="http://localhost:8000/api/get-item-content?'));
});

Deno.test("feeds have the same entries, as text and in their type", async () => {
  await using site = await startSite(FILES);
  const types = {
    atom: "application/atom+xml; charset=utf-8",
    rss: "application/rss+xml; charset=utf-8",
    jsonfeed: "application/feed+json",
  };
  const texts: string[] = [];
  for (const [format, type] of Object.entries(types)) {
    const { text, response } = await read(site, { format });
    assertEquals(response.headers.get("content-type"), type);
    texts.push(text);
  }
  const [atom, rss] = texts.slice(0, 2).map((text) =>
    entriesOf(text).map(({ updated: _, ...entry }) => entry)
  );
  assertEquals(rss, atom);
  assertEquals(
    atom![3]!.title,
    "a]]&gt;b]]&gt;&lt;entry&gt;&amp;amp;&lt;script&gt;x&lt;/script&gt;\ufffd\ufffd é 😀",
  );
  const json = await readJson(site);
  assertEquals(json[3]!["title"], EVIL);
  // XML lacks two characters and ends a section.
  const contents = json.map((entry) =>
    entry["content_html"]!.replaceAll("\u0001", "\ufffd").replaceAll(
      "\ufffe",
      "\ufffd",
    )
      .replaceAll("]]>", "]]&gt;")
  );
  assertEquals(contents, atom!.map(({ content }) => content));
});

Deno.test("format=sitemap has every Markdown item once", async () => {
  const two = { "posts/twice.md": "", "posts/twice.markdown": "" };
  await using site = await startSite({ ...FILES, ...two });
  const query = { format: "sitemap", limit: 1, page: 2 };
  const { text, response: { headers } } = await read(site, query);
  assertEquals([headers.get("content-type"), headers.get("link")], [
    "application/xml; charset=utf-8",
    null,
  ]);
  const urls = parseXml(text).children.map((url) => textOf(url, "loc"));
  const slugs = ["2026/zw%C3%B6lf%20%26%20eins", "bad", "evil", "old", "twice"];
  assertEquals(
    urls,
    slugs.map((slug) => `https://example.com/blog/${slug}/?a=1&b=2`),
  );
});

/** A service with a token, and the paths of its queries for histories. */
async function startWithToken(files: Record<string, string>) {
  const site = await startSite(files, { env: { GITHUB_TOKEN: "token" } });
  const changedAt = async (path: string) => {
    const log = ["log", "-1", "--format=%ct", "--", path];
    const time = await site.repository.git(...log);
    return new Date(1000 * Number(time)).toISOString();
  };
  return { ...site, asked: watchHistory(site.gh), changedAt };
}

Deno.test("an entry without a date has that of its last change", async () => {
  await using site = await startWithToken(FILES);
  await site.push({ "posts/bad.md": "Changed\n" });
  const date = await site.changedAt("posts/bad.md");
  const atom = entriesOf((await read(site, { format: "atom" })).text);
  const rss = entriesOf((await read(site, { format: "rss" })).text);
  const json = await readJson(site);
  assertEquals(
    [atom[2]!.published, atom[2]!.updated, rss[2]!.published],
    [undefined, date, date],
  );
  assertEquals(json[2]!["date_modified"], date);
  // Entries with a date need no history.
  assertEquals(site.asked, [["posts/bad.md", "posts/evil.md"]]);
});

Deno.test("a sitemap of up to 2,000 files says when they changed", async () => {
  await using site = await startWithToken({
    "posts/0.md": "",
    "posts/1.md": "",
  });
  const lastmod = async () => {
    const { text } = await read(site, { format: "sitemap" });
    const changed = textOf(parseXml(text).children[0]!, "lastmod");
    return changed && new Date(changed).toISOString();
  };
  await site.push({ "posts/0.md": "Changed\n" });
  assertEquals(await lastmod(), await site.changedAt("posts/0.md"));
  const { length } = site.asked;
  const files = Array.from({ length: 2_001 }, (_, n) => [`posts/${n}.md`, ""]);
  await site.push(Object.fromEntries(files));
  assertEquals(await lastmod(), undefined);
  assertEquals(site.asked.length, length);
});

Deno.test("feeds do without a history that GitHub does not give", async () => {
  await using site = await startWithToken({ "posts/a.md": "A\n" });
  const { gh, service } = site;
  gh.intercept = async (request, { kind }) =>
    kind === "graphql" && (await request.clone().text()).includes("history")
      ? new Response("", { status: 502 })
      : null;
  for (const format of ["atom", "sitemap"]) {
    const { text } = await read(site, { format });
    assert(!text.includes("lastmod") && text.includes("blog/a/"));
  }
  gh.intercept = null;
  service.clock.advance(300_000);
  const { text } = await read(site, { format: "sitemap" });
  assert(text.includes("lastmod"));
});

Deno.test("a sitemap has at most 50,000 addresses", async () => {
  const files = Array.from({ length: 50_001 }, (_, n) => [`posts/${n}.md`, ""]);
  await using site = await startSite(Object.fromEntries(files));
  const path = listPath({ linkTemplate: TEMPLATE, format: "sitemap" });
  const { code, detail } = await site.service.problem(path);
  assertEquals(code, "collection-too-large");
  assert(detail.includes("at most 50000 addresses"), detail);
  const less = await read(site, { format: "sitemap", "filter[name]": "!0.md" });
  assertEquals(less.text.match(/<loc>/g)?.length, 50_000);
});

Deno.test("ids of entries do not depend on the site's address", async () => {
  await using site = await startSite(FILES);
  const at = (linkTemplate: string) =>
    readJson(site, { linkTemplate, owner: "Octo" });
  const here = await at("https://a.example/{slug}");
  const moved = await at("https://b.example/posts/{slug}");
  assertEquals(here.map(({ id }) => id), moved.map(({ id }) => id));
  assertNotEquals(here.map(({ url }) => url), moved.map(({ url }) => url));
  assertMatch(here[1]!["id"]!, /:octo\/site\/posts\/old\.md$/);
});

Deno.test("a feed is in the order of any of its dates", async () => {
  await using site = await startSite({
    "posts/a.md": "---\npubDate: Jul 08 2022\n---\n",
    "posts/b.md": "---\npubDate: Sep 01 2021\n---\n",
    "posts/c.md": "---\ndate: 2023-01-01\n---\n",
    "posts/d.md": "---\nupdated: 2022-08-01\n---\n",
    "posts/e.md": "---\ndate: 2020-01-01\nupdated: 2026-01-01\n---\n",
    "posts/f.md": "---\ntitle: none\n---\n",
  });
  const rows: [order: string, Parameters][] = [
    ["cdabef", {}],
    ["abcdef", { sort: "path" }],
    ["ceabdf", { sort: "-frontMatter.date" }],
    ["ab", { limit: 2, page: 2 }],
  ];
  for (const [order, parameters] of rows) {
    const items = await readJson(site, parameters);
    assertEquals(items.map(({ id }) => id!.at(-4)).join(""), order);
  }
});

Deno.test("a feed has at most 50 entries and pages", async () => {
  const files = Array.from({ length: 60 }, (_, n) => [`posts/${n}.md`, "A\n"]);
  await using site = await startSite(Object.fromEntries(files));
  const { text, response } = await read(site, { format: "atom" });
  assertEquals(entriesOf(text).length, 50);
  const [, next] = /<([^>]*)>; rel="next"/.exec(response.headers.get("link")!)!;
  const second = await (await site.service.get(next!)).text();
  assertEquals(entriesOf(second).length, 10);
});

Deno.test("feeds refuse what they cannot use", async () => {
  await using site = await startSite({});
  const rows: [bad: string, Parameters][] = [
    ["linkTemplate", { format: "atom", linkTemplate: "" }],
    ["linkTemplate", { format: "rss", linkTemplate: "/{slug}" }],
    ["linkTemplate", { format: "sitemap", linkTemplate: "//a.test/{slug}" }],
    ["linkTemplate", { format: "atom", linkTemplate: "https://{slug}.test/" }],
    ["linkTemplate", { format: "atom", linkTemplate: "https://[/{slug}" }],
    ["limit", { format: "atom", limit: 51 }],
    ["feedTitle", { format: "atom", feedTitle: "a\nb" }],
    ["format", { format: "xml" }],
    ["format", { format: "xml", linkTemplate: "" }],
    ["format", { format: "constructor", linkTemplate: "" }],
  ];
  for (const [bad, given] of rows) {
    const path = listPath({ linkTemplate: TEMPLATE, ...given });
    const { errors } = await site.service.problem(path);
    assertEquals(errors?.map(({ parameter }) => parameter), [bad]);
  }
});

Deno.test("a feed that lacks a file is the older one or an error", async () => {
  await using site = await startSite({ "posts/a.md": "Old\n" });
  const { gh, service } = site;
  const query = { linkTemplate: TEMPLATE, sort: "path" };
  const path = listPath({ ...query, format: "rss" });
  const old = await (await service.get(path)).text();
  await site.push({ "posts/a.md": "New\n" });
  gh.fault = { kind: "status", status: 500, only: ["raw", "blob"] };
  const stale = await service.get(path);
  assertMatch(stale.headers.get("cache-status")!, /detail=stale-if-error$/);
  assertEquals(await stale.text(), old);
  const { code } = await service.problem(
    listPath({ ...query, format: "atom" }),
  );
  assertEquals(code, "source-failed");
});
