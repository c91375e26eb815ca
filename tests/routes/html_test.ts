// Markdown as HTML, in lists and items: what is there, where its links lead, and how often it is rendered.

import { assert, assertEquals } from "@std/assert";
import type { ItemBody } from "../../lib/api/contract.ts";
import { watchBlobs } from "../github/served_repository.ts";
import { itemPath, listPath, startService } from "../service.ts";
import { startSite } from "../site.ts";

const POST = `---
title: First
---
# Hello *there*

Some text with a [second](second.md#top), a [third](./2026/third.md), a [note](../notes/a.md),
and ![an oven](/images/oven.png?x=1).

<script>alert(1)</script>
`;
const FILES = {
  "posts/bad.md": new Uint8Array([0x23, 0xff]),
  "posts/broken.md": "---\ntitle: [\n---\n# Broken\n",
  "posts/data.json": "{}",
  "posts/first.md": POST,
  "posts/page.mdx": "# MDX\n",
  "posts/second.md": "Second\n",
  "posts/2026/third.md": "",
  "notes/a.md": "",
  "images/oven.png": "png",
};
const HTML = ["html", "headings", "excerpt", "words", "htmlError"] as const;

function hrefs(html: string | undefined): string[] {
  return [...(html ?? "").matchAll(/(?:href|src)="([^"]*)"/g)].map(([, url]) =>
    url!.replaceAll("&amp;", "&")
  );
}

Deno.test("includeHtml adds HTML to Markdown items, and says why one has none", async () => {
  await using site = await startSite(FILES);
  const { items } = await site.service.list({ includeHtml: true });

  const keys = items.map((item) => [item.name, HTML.filter((key) => key in item).join(" ")]);
  const all = "html headings excerpt words";
  assertEquals(keys, [
    ["third.md", all],
    ["bad.md", ""],
    ["broken.md", all],
    ["data.json", ""],
    ["first.md", all],
    ["page.mdx", "htmlError"],
    ["second.md", all],
  ]);
  const first = items[4]!;
  assertEquals(first.headings, [{ depth: 1, id: "user-content-hello-there", text: "Hello there" }]);
  assert(first.excerpt!.startsWith("Some text with a second, a third, a note,"));
  assert(!first.html!.includes("script") && !first.html!.includes("title:"), first.html);
  assertEquals(items[2]!.html, '<h1 id="user-content-broken">Broken</h1>');
  assertEquals("content" in first || "frontMatter" in first, false);
});

Deno.test("links in HTML lead to items, files and raw images", async () => {
  await using site = await startSite(FILES);
  const { service } = site;
  const api = "http://localhost:8000/api/get-item-content?owner=octo&repo=site&branch=main&path=";
  const others = [
    "https://github.test/octo/site/blob/main/notes/a.md",
    `${api}images%2Foven.png&format=raw`,
  ];
  const first = async (parameters: Record<string, string>) => {
    const { items } = await service.list({ includeHtml: true, ...parameters });
    return hrefs(items.find(({ name }) => name === "first.md")!.html);
  };
  const byTemplate = ["/blog/second#top", "/blog/2026/third", ...others];
  assertEquals(await first({ linkTemplate: "/blog/{slug}" }), byTemplate);
  assertEquals(await first({}), [
    `${api}posts%2Fsecond.md#top`,
    `${api}posts%2F2026%2Fthird.md`,
    ...others,
  ]);
  const item = { collection: "posts", slug: "first", includeHtml: true };
  assertEquals(
    hrefs((await service.item({ ...item, linkTemplate: "/blog/{slug}" })).html),
    byTemplate,
  );
  // Without its collection a file has no sibling items.
  const alone = await service.item({ path: "posts/first.md", includeHtml: true });
  assertEquals(hrefs(alone.html), [
    "https://github.test/octo/site/blob/main/posts/second.md#top",
    "https://github.test/octo/site/blob/main/posts/2026/third.md",
    ...others,
  ]);
});

Deno.test("a file is rendered once, for lists and items, commits and restarts", async () => {
  const dir = await Deno.makeTempDir({ prefix: "html_" });
  const openStore = () => Deno.openKv(`${dir}/store.sqlite`);
  await using site = await startSite(FILES, { kv: await openStore() });
  const { service, gh } = site;
  const rendered: string[] = [];
  const { markdown } = service.services;
  const render = markdown.render.bind(markdown);
  markdown.render = (file, options) => {
    rendered.push(file.name);
    return render(file, options);
  };
  const before = await service.list({ includeHtml: true });
  assertEquals(rendered.toSorted(), ["broken.md", "first.md", "page.mdx", "second.md", "third.md"]);
  await site.repository.commit({ "posts/second.md": "Changed\n" });
  service.clock.advance(60_000);
  rendered.length = 0;
  await service.item({ collection: "posts", slug: "first", includeHtml: true });
  await service.list({ includeHtml: true, fields: "html" });
  assertEquals(rendered.filter((name) => name !== "page.mdx"), ["second.md"]);
  await service.services.close();

  const requested = watchBlobs(gh);
  {
    await using again = await startService({
      github: gh,
      clock: service.clock,
      kv: await openStore(),
    });
    again.services.markdown.render = () => Promise.reject(new Error("rendered again"));
    const { items } = await again.list({ includeHtml: true, "filter[name]": "[fb]*.md" });
    assertEquals(items, []);
    const page = await again.list({ includeHtml: true, "filter[path]": "first.md" });
    assertEquals(page.items[0], before.items[4]);
  }
  assertEquals(requested, [], "no file is read for HTML that is known");
  await Deno.remove(dir, { recursive: true });
});

Deno.test("fields cuts items to their named keys and reads nothing else", async () => {
  await using site = await startSite(FILES);
  const { service, gh } = site;
  const requested = watchBlobs(gh);
  assertEquals((await service.list({ fields: "slug,size" })).items[4] as Partial<ItemBody>, {
    slug: "first",
    size: POST.length,
  });
  assertEquals(requested, []);
  const named = async (fields: string, more = {}) =>
    (await service.list({ fields, ...more, "filter[name]": "first.md" })).items as unknown;
  assertEquals(await named("slug,frontMatter.title,frontMatter.none"), [
    { slug: "first", frontMatter: { title: "First" } },
  ]);
  assertEquals(requested.length, 1);
  // The `include…` parameters have no effect beside `fields`.
  assertEquals(await named("name", { includeContent: true, limit: 1000 }), [{ name: "first.md" }]);
  assertEquals(await named("words,excerpt"), [
    {
      excerpt: (await service.item({ path: "posts/first.md", includeHtml: 1 })).excerpt,
      words: 13,
    },
  ]);
  assertEquals(await named("body,name"), [{ name: "first.md", body: POST.split("---\n")[2] }]);
  const { links } = await service.list({ fields: "slug,name,slug", limit: 1 });
  assert(links.next!.includes("&fields=name%2Cslug"), links.next!);
  const broken = await service.list({ fields: "frontMatter", "filter[name]": "broken.md" });
  assertEquals(Object.keys(broken.items[0]!), ["frontMatterError"]);
  // A key that is not named is not sent, though its file was read.
  assertEquals(await named("frontMatterError,slug"), [{ slug: "first" }]);
});

Deno.test("a slug names the only Markdown file, or is ambiguous", async () => {
  await using site = await startSite({
    "posts/a.md": "a",
    "posts/a.json": "{}",
    "posts/a.b.md": "",
    "posts/b.md": "",
    "posts/b.mdx": "",
    "posts/c.json": "{}",
    "posts/c.txt": "",
    "posts/d": "d",
    "posts/x/a.md": "",
    "other/e.md": "",
  });
  const { service } = site;
  const read = async (slug: string) => (await service.item({ collection: "posts", slug })).path;
  assertEquals(await read("a"), "posts/a.md");
  assertEquals(await read("a.b"), "posts/a.b.md");
  assertEquals(await read("d"), "posts/d");
  assertEquals(await read("x/a"), "posts/x/a.md");
  const problem = async (parameters: Record<string, string>) => {
    const { code, paths } = await service.problem(itemPath({ collection: "posts", ...parameters }));
    return [code, paths];
  };
  assertEquals(await problem({ slug: "b" }), ["slug-ambiguous", ["posts/b.md", "posts/b.mdx"]]);
  assertEquals(await problem({ slug: "c" }), ["slug-ambiguous", ["posts/c.json", "posts/c.txt"]]);
  assertEquals(await problem({ slug: "a.md" }), ["item-not-found", undefined]);
  assertEquals(await problem({ path: "other/e.md" }), ["item-not-found", undefined]);
  assertEquals((await service.item({ collection: "posts", path: "posts/a.json" })).name, "a.json");
  assertEquals((await service.problem(itemPath({ path: "posts/a.md", slug: "a" }))).status, 400);
});

Deno.test("neighbors are those of the list, and null for what the filter leaves out", async () => {
  await using site = await startSite({
    "posts/1.md": "---\ntitle: One\n---\n",
    "posts/2.txt": "two",
    "posts/3.md": "---\ntitle: [\n---\n",
    "posts/4/4.md": "",
  });
  const { service, gh } = site;
  const around = async (slug: string, parameters = {}) => {
    const { previous, next } = await service.item({
      collection: "posts",
      slug,
      includeNeighbors: true,
      ...parameters,
    });
    return [previous, next].map((one) => one === null ? null : one?.slug);
  };
  assertEquals(await around("1"), [null, "2"]);
  assertEquals(await around("3"), ["2", "4/4"]);
  assertEquals(await around("3", { "filter[name]": "*.md" }), ["1", "4/4"]);
  assertEquals(await around("3", { sort: "-path", recursive: false }), [null, "2"]);
  assertEquals(await around("2", { "filter[name]": "*.md" }), [null, null]);
  const { previous } = await service.item({
    collection: "posts",
    slug: "2",
    includeNeighbors: true,
  });
  const { name, path, slug, contentUrl, frontMatter } =
    (await service.list({ includeFrontMatter: true })).items[0]!;
  assertEquals(previous, { name, path, slug, contentUrl, frontMatter });
  assertEquals(frontMatter, { title: "One" });
  gh.resetCounts();
  await around("3", { sort: "-name" });
  assertEquals(gh.counts(), {}, "warm, nothing is read of the source");
});

Deno.test("facets count the values of the filtered list", async () => {
  await using site = await startSite({
    "posts/1.md": "---\ntags: [a, b, a, 3, null, { x: 1 }]\n---\n",
    "posts/2.md": "---\ntags: [a, '3', true]\n---\n",
    "posts/3.md": "---\ntags: b\n---\n",
    "posts/4.txt": "text",
  });
  const { service } = site;
  const facets = "frontMatter.tags,frontMatter.none";
  const all = await service.list({ facets, limit: 1, fields: "name" });
  assertEquals(all.facets, {
    "frontMatter.tags": [
      { value: "a", count: 2 },
      { value: "b", count: 2 },
      { value: 3, count: 1 },
      { value: "3", count: 1 },
      { value: true, count: 1 },
    ],
    "frontMatter.none": [],
  });
  const some = await service.list({ facets, "filter[frontMatter.tags]": "b" });
  assertEquals(some.facets!["frontMatter.tags"]!.map(({ count }) => count), [2, 1, 1]);
  assertEquals((await service.get(listPath({ facets: "tags" }))).status, 400);
});

Deno.test("facets give the 100 most frequent values", async () => {
  const tags = Array.from({ length: 101 }, (_, n) => `t${1000 + n}`);
  await using site = await startSite({
    "posts/1.md": `---\ntags: [${tags.join(", ")}]\n---\n`,
    "posts/2.md": "---\ntags: t1100\n---\n",
  });
  const { facets } = await site.service.list({ facets: "frontMatter.tags" });
  const values = facets!["frontMatter.tags"]!.map(({ value }) => value);
  assertEquals(values, ["t1100", ...tags.slice(0, 99)]);
});

Deno.test("links lead to contentUrl where there are no web pages, and large files say why they lack HTML", async () => {
  const long = "a ".repeat(600_000);
  await using site = await startSite({
    "posts/1.md": "[other](../other.md) [folder](/) [mail](mailto:a@b.c)",
    "posts/2.md": long,
    "posts/3.md": long.repeat(2),
    "posts/4.json": "{}",
  }, { env: { GITHUB_WEB_URL: "", MAX_ITEM_MB: "2" } });
  const { items } = await site.service.list({ fields: "html" });
  const api = "http://localhost:8000/api/get-item-content?owner=octo&repo=site&branch=main&path=";
  assertEquals(hrefs(items[0]!.html), [`${api}other.md`, "mailto:a@b.c"]);
  assertEquals(items.slice(1).map((item) => Object.keys(item)), [["htmlError"], ["error"], []]);
  assertEquals(items[2]!.error!.code, "item-too-large");
  assertEquals(items[1]!.htmlError, { message: "Markdown over 1 MiB is not rendered." });
});
