// Feeds and sitemaps of a list, read by a strict XML parser.

import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
} from "@std/assert";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { SaxesParser } from "saxes";
import { watchHistory } from "../github/served_repository.ts";
import { listPath, type Parameters } from "../service.ts";
import { type Site, startSite } from "../site.ts";

const TEMPLATE = "https://example.com/blog/{slug}/?a=1&b=2";
const TYPES = {
  atom: "application/atom+xml; charset=utf-8",
  rss: "application/rss+xml; charset=utf-8",
  jsonfeed: "application/feed+json",
  sitemap: "application/xml; charset=utf-8",
};
const EVIL = "a]]>b]]><entry>&amp;<script>x</script>\u0001\ufffe é 😀";
const FILES = {
  "posts/2026/zwölf & eins.md":
    "---\ntitle: Twelve & <one>\ndate: 2026-03-01\nupdated: 2026-04-02T10:00:00+02:00\n" +
    "description: About *it*\n---\nA [link](../old.md) and ![a](a.png?x=1).\n",
  "posts/old.md":
    "---\ntitle: Old\npubDate: Jul 08 2022\n---\nText ]]> of ]]> old\n",
  "posts/evil.md": `---\ntitle: ${JSON.stringify(EVIL)}\n---\n${EVIL}\n`,
  "posts/bad.md": "---\ntitle: [a]\ndate: [2026]\n---\n<!-- nothing -->\n",
  "posts/image.png": "png",
  "posts/data.json": "{}",
};

/** XML has neither of these characters. */
const clean = (text: string) =>
  text.replaceAll("\u0001", "\ufffd").replaceAll("\ufffe", "\ufffd");

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
  const parser = new SaxesParser({ xmlns: true });
  parser.on("error", (error) => {
    throw error;
  });
  parser.on("opentag", ({ name, attributes }) => {
    const own = Object.values(attributes).map((
      { name, value },
    ) => [name, value]);
    const node = {
      name,
      attributes: Object.fromEntries(own),
      children: [],
      text: "",
    };
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

async function read(site: Site, parameters: Parameters) {
  const path = listPath({ linkTemplate: TEMPLATE, ...parameters });
  const response = await site.service.get(path);
  const text = await response.text();
  assertEquals(response.status, 200, text);
  return { response, text };
}

Deno.test("format=atom gives entries, the latest first", async () => {
  await using site = await startSite(FILES);
  const { text, response } = await read(site, {
    format: "atom",
    feedTitle: "A & B &amp; <C>",
  });

  assertEquals(response.headers.get("content-type"), TYPES.atom);
  const feed = parseXml(text);
  assertEquals(textOf(feed, "title"), "A & B &amp; <C>");
  assertEquals(textOf(feed, "updated"), "2026-04-02T08:00:00.000Z");
  assertMatch(textOf(feed, "id")!, /^tag:[a-z0-9.]+,2026:octo\/site\/posts$/);
  const links = all(feed, "link").map(({ attributes }) => attributes);
  assertEquals(links[0], {
    rel: "alternate",
    href: "https://example.com/blog/",
  });
  const self = await site.service.get(links[1]!["href"]!);
  assertEquals(await self.text(), text, "the feed names itself");

  const entries = all(feed, "entry");
  const rows = entries.map((entry) => [
    textOf(entry, "title"),
    textOf(entry, "published"),
    textOf(entry, "updated"),
    all(entry, "link")[0]!.attributes["href"],
  ]);
  assertEquals(rows[0], [
    "Twelve &amp; &lt;one&gt;",
    "2026-03-01T00:00:00.000Z",
    "2026-04-02T08:00:00.000Z",
    "https://example.com/blog/2026/zw%C3%B6lf%20%26%20eins/?a=1&b=2",
  ]);
  const undated = "1970-01-01T00:00:00.000Z";
  assertEquals(
    rows.slice(1).map((
      [title, ...dates],
    ) => [title?.slice(0, 3), ...dates.slice(0, 2)]),
    [
      ["Old", "2022-07-08T00:00:00.000Z", "2022-07-08T00:00:00.000Z"],
      ["bad", undefined, undated],
      ["a]]", undefined, undated],
    ],
  );
  const [first] = entries;
  assertEquals(textOf(first!, "summary"), "About *it*");
  const content = textOf(first!, "content")!;
  assert(
    content.includes('href="https://example.com/blog/old/?a=1&#x26;b=2"') ||
      content.includes('href="https://example.com/blog/old/?a=1&amp;b=2"'),
    content,
  );
  assert(content.includes('src="http://localhost:8000/api/get-item-content?'));
});

Deno.test("feeds keep what a file says as text", async () => {
  await using site = await startSite(FILES);
  const { text } = await read(site, { format: "atom" });
  const evil = all(parseXml(text), "entry")[3]!;
  const shown = clean(EVIL);
  assertEquals(
    textOf(evil, "title"),
    shown.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(
      ">",
      "&gt;",
    ),
  );
  const { text: json } = await read(site, { format: "jsonfeed" });
  assertEquals(JSON.parse(json).items[3].title, EVIL);
  const { items } = await site.service.list({
    includeHtml: true,
    linkTemplate: TEMPLATE,
  });
  const { html = "" } = items.find(({ name }) => name === "evil.md")!;
  assertEquals(JSON.parse(json).items[3].content_html, html);
  assertEquals(
    textOf(evil, "content"),
    clean(html).replaceAll("]]>", "]]&gt;"),
  );
});

Deno.test("format=rss gives the same entries", async () => {
  await using site = await startSite(FILES);
  const { text, response } = await read(site, { format: "rss" });

  assertEquals(response.headers.get("content-type"), TYPES.rss);
  const [channel] = parseXml(text).children;
  assertEquals(textOf(channel!, "title"), "posts - octo/site");
  const items = all(channel!, "item");
  assertEquals(items.map((item) => textOf(item, "pubDate")), [
    "Sun, 01 Mar 2026 00:00:00 GMT",
    "Fri, 08 Jul 2022 00:00:00 GMT",
    undefined,
    undefined,
  ]);
  assertEquals(
    textOf(items[1]!, "content:encoded"),
    "<p>Text ]]&gt; of ]]&gt; old</p>",
  );
  assertEquals(
    textOf(items[1]!, "link"),
    "https://example.com/blog/old/?a=1&b=2",
  );
  const [guid] = all(items[1]!, "guid");
  assertEquals(guid!.attributes, { isPermaLink: "false" });
  assertMatch(guid!.text, /:octo\/site\/posts\/old\.md$/);
});

/** What JSON Feed 1 requires (jsonfeed.org/version/1). */
const JSON_FEED = {
  type: "object",
  required: ["version", "title", "items"],
  properties: {
    version: { const: "https://jsonfeed.org/version/1" },
    title: { type: "string" },
    home_page_url: { type: "string", format: "uri" },
    feed_url: { type: "string", format: "uri" },
    author: {
      type: "object",
      properties: { name: { type: "string" } },
      minProperties: 1,
      additionalProperties: false,
    },
    items: {
      type: "array",
      uniqueItems: true,
      items: {
        type: "object",
        required: ["id", "content_html"],
        properties: {
          id: { type: "string", format: "uri" },
          url: { type: "string", format: "uri" },
          title: { type: "string" },
          content_html: { type: "string" },
          summary: { type: "string" },
          date_published: { type: "string", format: "date-time" },
          date_modified: { type: "string", format: "date-time" },
        },
        additionalProperties: false,
      },
    },
  },
  additionalProperties: false,
};

Deno.test("format=jsonfeed is what JSON Feed asks for", async () => {
  await using site = await startSite(FILES);
  const { text, response } = await read(site, { format: "jsonfeed" });
  assertEquals(response.headers.get("content-type"), TYPES.jsonfeed);
  const ajv = new Ajv({ allErrors: true });
  (addFormats as unknown as (ajv: Ajv) => void)(ajv);
  const validate = ajv.compile(JSON_FEED);
  validate(JSON.parse(text));
  assertEquals(validate.errors ?? null, null);
});

Deno.test("format=sitemap has every Markdown item once", async () => {
  const two = { "posts/twice.md": "", "posts/twice.markdown": "" };
  await using site = await startSite({ ...FILES, ...two });
  const { text, response } = await read(site, {
    format: "sitemap",
    limit: 1,
    page: 2,
  });
  assertEquals(response.headers.get("content-type"), TYPES.sitemap);
  assertEquals(response.headers.get("link"), null);
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
  return { ...site, asked: watchHistory(site.gh) };
}

const changedAt = async ({ repository }: Site, path: string) => {
  const time = await repository.git("log", "-1", "--format=%ct", "--", path);
  return new Date(1000 * Number(time)).toISOString();
};

Deno.test("an entry without a date has that of its last change", async () => {
  await using site = await startWithToken(FILES);
  const { asked } = site;
  await site.push({ "posts/bad.md": "Changed\n" });
  const { text } = await read(site, { format: "atom" });
  const entries = all(parseXml(text), "entry")
    .map((entry) => ["updated", "published"].map((key) => textOf(entry, key)));
  assertEquals(entries, [
    ["2026-04-02T08:00:00.000Z", "2026-03-01T00:00:00.000Z"],
    ["2022-07-08T00:00:00.000Z", "2022-07-08T00:00:00.000Z"],
    [await changedAt(site, "posts/bad.md"), undefined],
    [await changedAt(site, "posts/evil.md"), undefined],
  ]);
  const json = JSON.parse((await read(site, { format: "jsonfeed" })).text);
  assertEquals(
    json.items[2].date_modified,
    await changedAt(site, "posts/bad.md"),
  );
  const rss = parseXml((await read(site, { format: "rss" })).text);
  const [, , bad] = all(all(rss, "channel")[0]!, "item");
  assertEquals(
    new Date(textOf(bad!, "pubDate")!).toISOString(),
    await changedAt(site, "posts/bad.md"),
  );
  assertEquals(asked, [["posts/bad.md", "posts/evil.md"]]);
});

Deno.test("a feed whose entries have dates asks for no history", async () => {
  await using site = await startWithToken({
    "posts/a.md": "---\ndate: 2026-01-01\n---\n",
  });
  await read(site, { format: "atom" });
  assertEquals(site.asked, []);
});

Deno.test("a sitemap says when files last changed", async () => {
  await using site = await startWithToken(FILES);
  const { asked } = site;
  await site.push({ "posts/old.md": "Changed\n" });
  const { text } = await read(site, { format: "sitemap" });
  const urls = parseXml(text).children.map((url) => [
    textOf(url, "loc")!.replace(/.*blog\/(.*)\/\?.*/, "$1"),
    new Date(textOf(url, "lastmod")!).toISOString(),
  ]);
  assertEquals(urls, [
    [
      "2026/zw%C3%B6lf%20%26%20eins",
      await changedAt(site, "posts/2026/zwölf & eins.md"),
    ],
    ["bad", await changedAt(site, "posts/bad.md")],
    ["evil", await changedAt(site, "posts/evil.md")],
    ["old", await changedAt(site, "posts/old.md")],
  ]);
  assertEquals(asked.map(({ length }) => length), [4]);
});

Deno.test("a sitemap of over 2,000 files asks for no history", async () => {
  const files = Array.from({ length: 2_001 }, (_, n) => [`posts/${n}.md`, ""]);
  await using site = await startWithToken(Object.fromEntries(files));
  const { text } = await read(site, { format: "sitemap" });
  assertEquals([text.includes("lastmod"), site.asked], [false, []]);
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
  const names = Array.from(
    { length: 50_001 },
    (_, index) => `posts/${index}.md`,
  );
  await using site = await startSite(
    Object.fromEntries(names.map((name) => [name, ""])),
  );
  const path = listPath({ linkTemplate: TEMPLATE, format: "sitemap" });
  const { code, detail } = await site.service.problem(path);
  assertEquals(code, "collection-too-large");
  assert(detail.includes("at most 50000 addresses"), detail);
  const less = await read(site, { format: "sitemap", "filter[name]": "!0.md" });
  assertEquals(parseXml(less.text).children.length, 50_000);
});

Deno.test("ids of entries do not depend on the site's address", async () => {
  await using site = await startSite(FILES);
  const [here, moved] = await Promise.all(
    ["https://a.example/{slug}", "https://b.example/posts/{slug}"].map(
      async (linkTemplate) => {
        const { text } = await read(site, {
          format: "jsonfeed",
          linkTemplate,
          owner: "Octo",
        });
        return JSON.parse(text).items as { id: string; url: string }[];
      },
    ),
  );
  assertEquals(here!.map(({ id }) => id), moved!.map(({ id }) => id));
  assertNotEquals(here!.map(({ url }) => url), moved!.map(({ url }) => url));
  assertEquals(new Set(here!.map(({ id }) => id)).size, 4);
});

Deno.test("a feed is in the order of any of its dates", async () => {
  const dates = {
    a: "pubDate: Jul 08 2022",
    b: "pubDate: Sep 01 2021",
    c: "date: 2023-01-01",
    d: "updated: 2022-08-01",
    e: "date: 2020-01-01\nupdated: 2026-01-01",
    f: "title: none",
  };
  await using site = await startSite(
    Object.fromEntries(
      Object.entries(dates).map((
        [name, date],
      ) => [`posts/${name}.md`, `---\n${date}\n---\ntext\n`]),
    ),
  );
  const rows = [
    { parameters: {}, order: "cdabef" },
    { parameters: { sort: "path" }, order: "abcdef" },
    { parameters: { sort: "-frontMatter.date" }, order: "ceabdf" },
    { parameters: { limit: 2, page: 2 }, order: "ab" },
  ];
  for (const { parameters, order } of rows) {
    const { text } = await read(site, { format: "jsonfeed", ...parameters });
    const items: { id: string }[] = JSON.parse(text).items;
    assertEquals(items.map(({ id }) => id.at(-4)).join(""), order);
  }
});

Deno.test("a feed has at most 50 entries and pages", async () => {
  const names = Array.from({ length: 60 }, (_, index) => `posts/${index}.md`);
  await using site = await startSite(
    Object.fromEntries(names.map((name) => [name, `${name}\n`])),
  );
  const { text, response } = await read(site, { format: "atom" });
  assertEquals(all(parseXml(text), "entry").length, 50);
  const [, next] = /<([^>]*)>; rel="next"/.exec(response.headers.get("link")!)!;
  const second = await site.service.get(next!);
  assertEquals(all(parseXml(await second.text()), "entry").length, 10);
});

Deno.test("feeds refuse what they cannot use", async () => {
  await using site = await startSite({});
  const rows = [
    { format: "atom", bad: "linkTemplate" },
    {
      format: "rss",
      linkTemplate: "/{slug}",
      bad: "linkTemplate",
    },
    {
      format: "sitemap",
      linkTemplate: "//a.example/{slug}",
      bad: "linkTemplate",
    },
    {
      format: "atom",
      linkTemplate: "https://{slug}.example/",
      bad: "linkTemplate",
    },
    {
      format: "atom",
      linkTemplate: "https://[/{slug}",
      bad: "linkTemplate",
    },
    {
      format: "atom",
      linkTemplate: TEMPLATE,
      limit: 51,
      bad: "limit",
    },
    {
      format: "atom",
      linkTemplate: TEMPLATE,
      feedTitle: "a\nb",
      bad: "feedTitle",
    },
    { format: "xml", linkTemplate: TEMPLATE, bad: "format" },
  ];
  for (const { bad, ...parameters } of rows) {
    const { errors } = await site.service.problem(listPath(parameters));
    assertEquals(errors?.map(({ parameter }) => parameter), [bad]);
  }
});

Deno.test("a feed that lacks a file is the older one or an error", async () => {
  await using site = await startSite({ "posts/a.md": "Old\n" });
  const { gh, service } = site;
  const path = listPath({
    linkTemplate: TEMPLATE,
    format: "rss",
    sort: "path",
  });
  const old = await (await service.get(path)).text();
  await site.push({ "posts/a.md": "New\n" });
  gh.fault = { kind: "status", status: 500, only: ["raw", "blob"] };
  const stale = await service.get(path);
  assertMatch(stale.headers.get("cache-status")!, /detail=stale-if-error$/);
  assertEquals(await stale.text(), old);
  const { code } = await service.problem(path.replace("rss", "atom"));
  assertEquals(code, "source-failed");
});
