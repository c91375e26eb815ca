// Markdown as HTML, in lists and items: what is there, where its links lead,
// and how often it is rendered.

import { assert, assertEquals } from "@std/assert";
import { watchBlobs } from "../github/served_repository.ts";
import { openFile } from "../kv_connect/shared_stores.ts";
import {
  itemPath,
  listPath,
  type Parameters,
  startService,
} from "../service.ts";
import { WatchedCompute } from "../thread/watched_compute.ts";
import { startSite } from "../site.ts";

const POST = `---
title: First
author: { name: Ann, id: 1, mail: a }
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

function hrefs(html: string | undefined): string[] {
  return [...(html ?? "").matchAll(/(?:href|src)="([^"]*)"/g)].map(([, url]) =>
    url!.replaceAll("&amp;", "&")
  );
}

Deno.test("includeHtml adds HTML or says why an item has none", async () => {
  await using site = await startSite(FILES);
  const { items } = await site.service.list({ includeHtml: true });

  const keys = [
    "html",
    "headings",
    "excerpt",
    "words",
    "mdxComponents",
    "htmlError",
    "content",
    "frontMatter",
  ];
  const all = "html headings excerpt words";
  assertEquals(
    items.map((item) =>
      [item.name, ...keys.filter((key) => key in item)].join(" ")
    ),
    [
      `third.md ${all}`,
      "bad.md",
      `broken.md ${all}`,
      "data.json",
      `first.md ${all}`,
      `page.mdx ${all} mdxComponents`,
      `second.md ${all}`,
    ],
  );
  const first = items[4]!;
  assertEquals(first.headings, [{
    depth: 1,
    id: "user-content-hello-there",
    text: "Hello there",
  }]);
  assert(
    first.excerpt!.startsWith("Some text with a second, a third, a note,"),
  );
  assert(
    !first.html!.includes("script") && !first.html!.includes("title:"),
    first.html,
  );
  assertEquals(items[2]!.html, '<h1 id="user-content-broken">Broken</h1>');
});

const API =
  "http://localhost:8000/api/get-item-content?owner=octo&repo=site&branch=main&path=";

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
  const bySlug = await service.item({
    collection: "posts",
    slug: "first",
    ...template,
  });
  assertEquals(hrefs(bySlug.html), byTemplate);
  const byUrl = [
    `${API}posts%2Fsecond.md#top`,
    `${API}posts%2F2026%2Fthird.md`,
  ];
  assertEquals(await listed({ includeHtml: true }), [...byUrl, ...others]);
  // Without its collection a file has no sibling items.
  const alone = await service.item({
    path: "posts/first.md",
    includeHtml: true,
  });
  const files = [`${web}/posts/second.md#top`, `${web}/posts/2026/third.md`];
  assertEquals(hrefs(alone.html), [...files, ...others]);
});

Deno.test("links lead to contentUrl if there are no web pages", async () => {
  await using site = await startSite({
    "posts/1.md": "[other](../other.md)",
    "posts/2.md": "a ".repeat(600_000),
    "posts/3.json": "{}",
  }, { env: { GITHUB_WEB_URL: "", MAX_ITEM_MB: "1" } });
  const { items } = await site.service.list({ fields: "html" });
  assertEquals(hrefs(items[0]!.html), [`${API}other.md`]);
  assertEquals(items.slice(1).map((item) => Object.keys(item)), [
    ["error"],
    [],
  ]);
});

Deno.test("a file is rendered once for lists, items and restarts", async () => {
  await using store = await openFile();
  const compute = new WatchedCompute();
  await using site = await startSite(FILES, {
    kv: await store.open(),
    compute,
  });
  const { service, gh } = site;
  const before = await service.list({ includeHtml: true });
  assertEquals(compute.filesOf("render"), 6, "and what is no text");
  await site.push({ "posts/second.md": "Changed\n" });
  await service.item({ collection: "posts", slug: "first", includeHtml: true });
  await service.list({ includeHtml: true, fields: "html" });
  assertEquals(compute.filesOf("render"), 7);
  await service.services.close();

  const requested = watchBlobs(gh);
  {
    const { clock } = service;
    const kv = await store.open();
    await using again = await startService({ github: gh, clock, kv, compute });
    const page = await again.list({
      includeHtml: true,
      "filter[path]": "first.md",
    });
    assertEquals(page.items[0], before.items[4]);
  }
  assertEquals(compute.filesOf("render"), 7);
  assertEquals(requested, [], "no file is read for HTML that is known");
});

Deno.test("fields cuts items to their named keys", async () => {
  await using site = await startSite(FILES);
  const { service, gh } = site;
  const requested = watchBlobs(gh);
  const named = async (
    fields: string,
    name = "first.md",
    more = {},
  ): Promise<unknown> =>
    (await service.list({ fields, ...more, "filter[name]": name })).items[0];
  assertEquals(await named("slug,size"), { slug: "first", size: POST.length });
  assertEquals(requested, []);
  const keys = ["title", "none", "author.name", "author.id"].map((key) =>
    `frontMatter.${key}`
  );
  const frontMatter = { author: { id: 1, name: "Ann" }, title: "First" };
  assertEquals(await named(`slug,${keys}`), { slug: "first", frontMatter });
  assertEquals(requested.length, 1);
  // The `include…` parameters have no effect beside `fields`.
  const whole = { includeContent: true, includeHtml: true, limit: 1000 };
  assertEquals(await named("name", "first.md", whole), { name: "first.md" });
  const { excerpt, body } = await service.item({
    path: "posts/first.md",
    includeHtml: 1,
  });
  assertEquals(await named("words,excerpt"), { excerpt, words: 13 });
  assertEquals(await named("body,name"), { name: "first.md", body });
  // An error is sent with what it is about, and only then, though the file was
  // read.
  const keysOf = async (fields: string) =>
    Object.keys(await named(fields, "broken.md") as object);
  assertEquals(await keysOf("frontMatter"), ["frontMatterError"]);
  assertEquals(await keysOf("content,slug"), ["slug", "content"]);
  const { links } = await service.list({ fields: "slug,name,slug", limit: 1 });
  assert(links.next!.includes("&fields=name%2Cslug"), links.next!);
});

Deno.test("slug-ambiguous names at most 20 paths, and counts all", async () => {
  const files = Array.from(
    { length: 21 },
    (_, n): [string, string] => [`posts/a.x${n}`, ""],
  );
  await using site = await startSite(files);
  const path = itemPath({ collection: "posts", slug: "a" });
  const { detail, paths } = await site.service.problem(path);
  assertEquals([paths?.length, paths?.[19]], [20, "posts/a.x8"]);
  assertEquals(
    detail,
    '21 files of the collection have the slug "a". Read one of them with path; "paths" names the first 20.',
  );
});

Deno.test("a slug names the only Markdown file, or is ambiguous", async () => {
  const names = "a.md a.json a.b.md b.md b.mdx c.json c.txt d x/a.md".split(
    " ",
  );
  const files = names.map((name): [string, string] => [`posts/${name}`, ""]);
  await using site = await startSite([...files, ["other/e.md", ""]]);
  const { service } = site;
  const slugs = { "a": "a.md", "a.b": "a.b.md", "d": "d", "x/a": "x/a.md" };
  for (const [slug, name] of Object.entries(slugs)) {
    assertEquals(
      (await service.item({ collection: "posts", slug })).path,
      `posts/${name}`,
    );
  }
  const problem = async (parameters: Record<string, string>) => {
    const { code, paths } = await service.problem(
      itemPath({ collection: "posts", ...parameters }),
    );
    return [code, paths];
  };
  assertEquals(await problem({ slug: "b" }), ["slug-ambiguous", [
    "posts/b.md",
    "posts/b.mdx",
  ]]);
  assertEquals(await problem({ slug: "c" }), ["slug-ambiguous", [
    "posts/c.json",
    "posts/c.txt",
  ]]);
  assertEquals(await problem({ slug: "a.md" }), ["item-not-found", undefined]);
  const { code, detail } = await service.problem(
    itemPath({ collection: "posts", path: "other/e.md" }),
  );
  assertEquals([code, detail.slice(0, 30)], [
    "item-not-found",
    '"other/e.md" is not in the fol',
  ]);
  assertEquals(
    (await service.item({ collection: "posts", path: "posts/a.json" })).name,
    "a.json",
  );
});

Deno.test("neighbors are items of the filtered list", async () => {
  await using site = await startSite({
    "posts/1.md": "---\ntitle: One\n---\n",
    "posts/2.txt": "two",
    "posts/3.md": "---\ntitle: Three\n---\n",
  });
  const { service, gh } = site;
  const around = async (parameters = {}): Promise<unknown> => {
    const both = {
      collection: "posts",
      slug: "2",
      includeNeighbors: true,
      ...parameters,
    };
    const { previous, next } = await service.item(both);
    return [previous, next];
  };
  const { items } = await service.list({
    fields: "name,path,slug,contentUrl,frontMatter",
  });
  assertEquals(await around(), [items[0], items[2]]);
  assertEquals(await around({ "filter[name]": "*.md" }), [null, null]);
  gh.resetCounts();
  assertEquals(await around({ sort: "-name" }), [items[2], items[0]]);
  assertEquals(gh.counts(), {}, "warm, nothing is read of the source");
});

Deno.test("facets tell types apart and count elements once", async () => {
  await using site = await startSite({
    "posts/1.md": "---\ntags: [a, b, a, 3, null, { x: 1 }]\n---\n",
    "posts/2.md": "---\ntags: [a, '3', true]\n---\n",
    "posts/3.md": "---\ntags: b\n---\n",
    "posts/4.txt": "text",
  });
  const { facets } = await site.service.list({
    facets: "frontMatter.tags",
    limit: 1,
  });
  const tags = facets!["frontMatter.tags"]!.map((
    { value, count },
  ) => [value, count]);
  assertEquals<unknown>(tags, [["a", 2], ["b", 2], [3, 1], ["3", 1], [
    true,
    1,
  ]]);
});

Deno.test("an htmlError is sent for 5 minutes", async () => {
  const compute = new WatchedCompute();
  let isBusy = true;
  compute.answer = (task) =>
    task === "render" && isBusy
      ? { results: ["late"], isSlow: false }
      : undefined;
  await using site = await startSite({ "posts/a.md": "# A\n" }, { compute });
  const { service } = site;
  const paths = [
    listPath({ collection: "posts", includeHtml: "1" }),
    itemPath({ path: "posts/a.md", includeHtml: "1" }),
  ];
  const isRendered = async (path: string) =>
    (await (await service.get(path)).text()).includes("</h1>");
  const passedMs: [number, boolean][] = [[0, false], [299_999, false], [
    300_001,
    true,
  ]];
  for (const [ms, expected] of passedMs) {
    service.clock.advance(ms);
    for (const path of paths) {
      assertEquals([ms, await isRendered(path)], [ms, expected]);
    }
    isBusy = false;
  }
});

Deno.test("MDX has HTML with its components, or the line of its fault", async () => {
  const MDX = `---
title: Guide
---
import Card from "./card.astro";

<Card title={title}>See [the other](other.mdx).</Card>
`;
  await using site = await startSite({
    "posts/guide.mdx": MDX,
    "posts/guide.md": MDX,
    "posts/other.mdx": "# Other\n",
    "posts/bad.mdx": "---\ntitle: Bad\n---\n\n<!-- no -->\n",
  });
  const { items } = await site.service.list({
    fields: "html,mdxComponents",
    linkTemplate: "/docs/{slug}",
  });
  const [bad, markdown, mdx, other] = items;
  assert(bad!.htmlError!.message.startsWith("Line 5 is not valid MDX: "));
  assertEquals<Partial<typeof mdx>>(mdx, {
    html:
      '<div data-component="Card">See <a href="/docs/other">the other</a>.</div>',
    mdxComponents: ["Card"],
  });
  assert(markdown!.html!.includes("import Card"), "the same bytes");
  assertEquals(markdown!.mdxComponents, undefined);
  assertEquals(other!.mdxComponents, []);
  const again = await site.service.item({
    path: "posts/guide.mdx",
    includeHtml: true,
  });
  assertEquals(again.mdxComponents, ["Card"]);
});
