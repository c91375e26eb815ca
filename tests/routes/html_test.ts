// Markdown as HTML, in lists and items: what is there, where its links lead, and how often it is rendered.

import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import type { ItemBody } from "../../lib/api/contract.ts";
import { watchBlobs } from "../github/served_repository.ts";
import { openFile } from "../kv_connect/shared_stores.ts";
import { itemPath, listPath, type Parameters, startService } from "../service.ts";
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
  // The same bytes as those of a file that is rendered.
  "posts/page.mdx": "Second\n",
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

  const keys = items.map((item) => [item.name, ...HTML.filter((key) => key in item)].join(" "));
  const all = "html headings excerpt words";
  assertEquals(keys, [
    ...[`third.md ${all}`, "bad.md", `broken.md ${all}`, "data.json", `first.md ${all}`],
    ...["page.mdx htmlError", `second.md ${all}`],
  ]);
  const first = items[4]!;
  assertEquals(first.headings, [{ depth: 1, id: "user-content-hello-there", text: "Hello there" }]);
  assert(first.excerpt!.startsWith("Some text with a second, a third, a note,"));
  assert(!first.html!.includes("script") && !first.html!.includes("title:"), first.html);
  assertEquals(items[2]!.html, '<h1 id="user-content-broken">Broken</h1>');
  assertEquals("content" in first || "frontMatter" in first, false);
});

const API = "http://localhost:8000/api/get-item-content?owner=octo&repo=site&branch=main&path=";

Deno.test("links in HTML lead to items, files and raw images", async () => {
  await using site = await startSite(FILES);
  const { service } = site;
  const web = "https://github.test/octo/site/blob/main";
  const others = [`${web}/notes/a.md`, `${API}images%2Foven.png&format=raw`];
  const template = { includeHtml: true, linkTemplate: "/blog/{slug}" };
  const byTemplate = ["/blog/second#top", "/blog/2026/third", ...others];
  const listed = async (parameters: Parameters) =>
    hrefs((await service.list(parameters)).items[4]!.html);
  assertEquals(await listed(template), byTemplate);
  const bySlug = await service.item({ collection: "posts", slug: "first", ...template });
  assertEquals(hrefs(bySlug.html), byTemplate);
  const byUrl = [`${API}posts%2Fsecond.md#top`, `${API}posts%2F2026%2Fthird.md`];
  assertEquals(await listed({ includeHtml: true }), [...byUrl, ...others]);
  // Without its collection a file has no sibling items.
  const alone = await service.item({ path: "posts/first.md", includeHtml: true });
  const files = [`${web}/posts/second.md#top`, `${web}/posts/2026/third.md`];
  assertEquals(hrefs(alone.html), [...files, ...others]);
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
  assertEquals(hrefs(items[0]!.html), [`${API}other.md`, "mailto:a@b.c"]);
  assertEquals(items.slice(1).map((item) => Object.keys(item)), [["htmlError"], ["error"], []]);
  assertEquals(items[2]!.error!.code, "item-too-large");
  assertEquals(items[1]!.htmlError, { message: "Markdown over 1 MiB is not rendered." });
});

Deno.test("a file is rendered once, for lists and items, commits and restarts", async () => {
  await using store = await openFile();
  await using site = await startSite(FILES, { kv: await store.open() });
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
  await service.item({ path: "posts/page.mdx" });
  const mdx = await service.get(itemPath({ path: "posts/page.mdx", includeHtml: true }));
  assertEquals(mdx.headers.get("cache-status"), "collections; hit; ttl=60", "MDX costs no miss");
  await mdx.body?.cancel();
  await service.services.close();

  const requested = watchBlobs(gh);
  {
    const { clock } = service;
    await using again = await startService({ github: gh, clock, kv: await store.open() });
    again.services.markdown.render = () => Promise.reject(new Error("rendered again"));
    const page = await again.list({ includeHtml: true, "filter[path]": "first.md" });
    assertEquals(page.items[0], before.items[4]);
  }
  assertEquals(requested, [], "no file is read for HTML that is known");
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
  const { excerpt } = await service.item({ path: "posts/first.md", includeHtml: 1 });
  assertEquals(await named("words,excerpt"), [{ excerpt, words: 13 }]);
  assertEquals(await named("body,name"), [{ name: "first.md", body: POST.split("---\n")[2] }]);
  const { links } = await service.list({ fields: "slug,name,slug", limit: 1 });
  assert(links.next!.includes("&fields=name%2Cslug"), links.next!);
  const broken = await service.list({ fields: "frontMatter", "filter[name]": "broken.md" });
  assertEquals(Object.keys(broken.items[0]!), ["frontMatterError"]);
  // A key that is not named is not sent, though its file was read.
  assertEquals(await named("frontMatterError,slug"), [{ slug: "first" }]);
});

Deno.test("a slug names the only Markdown file, or is ambiguous", async () => {
  const names = "a.md a.json a.b.md b.md b.mdx c.json c.txt d x/a.md ../other/e.md".split(" ");
  const files = names.map((name): [string, string] => [join("posts", name), ""]);
  await using site = await startSite(files);
  const { service } = site;
  const slugs = { "a": "a.md", "a.b": "a.b.md", "d": "d", "x/a": "x/a.md" };
  for (const [slug, name] of Object.entries(slugs)) {
    assertEquals((await service.item({ collection: "posts", slug })).path, `posts/${name}`);
  }
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
  const both = { collection: "posts", includeNeighbors: true };
  const around = async (slug: string, parameters = {}) => {
    const { previous, next } = await service.item({ ...both, slug, ...parameters });
    return [previous, next].map((one) => one === null ? null : one?.slug);
  };
  assertEquals(await around("1"), [null, "2"]);
  assertEquals(await around("3"), ["2", "4/4"]);
  assertEquals(await around("3", { "filter[name]": "*.md" }), ["1", "4/4"]);
  assertEquals(await around("3", { sort: "-path", recursive: false }), [null, "2"]);
  assertEquals(await around("2", { "filter[name]": "*.md" }), [null, null]);
  const { previous } = await service.item({ ...both, slug: "2" });
  const { name, path, slug, contentUrl, frontMatter } =
    (await service.list({ includeFrontMatter: true })).items[0]!;
  assertEquals(previous, { name, path, slug, contentUrl, frontMatter });
  assertEquals(frontMatter, { title: "One" });
  gh.resetCounts();
  await around("3", { sort: "-name" });
  assertEquals(gh.counts(), {}, "warm, nothing is read of the source");
});

Deno.test("facets count the values of the filtered list, the 100 most frequent of a key", async () => {
  const many = Array.from({ length: 101 }, (_, n) => `t${1000 + n}`);
  await using site = await startSite({
    "posts/1.md": `---\ntags: [a, b, a, 3, null, { x: 1 }]\nmany: [${many.join(", ")}]\n---\n`,
    "posts/2.md": "---\ntags: [a, '3', true]\nmany: t1100\n---\n",
    "posts/3.md": "---\ntags: b\n---\n",
    "posts/4.txt": "text",
  });
  const { service } = site;
  const [tags, none] = ["frontMatter.tags", "frontMatter.none"];
  const all = await service.list({ facets: `${tags},${none},frontMatter.many`, limit: 1 });
  const counts: [unknown, number][] = [["a", 2], ["b", 2], [3, 1], ["3", 1], [true, 1]];
  assertEquals<unknown>(all.facets![tags!], counts.map(([value, count]) => ({ value, count })));
  assertEquals(all.facets![none!], []);
  const frequent = all.facets!["frontMatter.many"]!.map(({ value }) => value);
  assertEquals(frequent, ["t1100", ...many.slice(0, 99)]);
  const some = await service.list({ facets: tags!, "filter[frontMatter.tags]": "b" });
  assertEquals(some.facets![tags!]!.map(({ count }) => count), [2, 1, 1]);
  assertEquals((await service.get(listPath({ facets: "tags" }))).status, 400);
});
