// Markdown as HTML, in lists and items: what is there, where its links lead,
// and how often it is rendered; what `fields` leaves of an item; slugs.

import { assert, assertEquals } from "@std/assert";
import { watchBlobs } from "../github/served_repository.ts";
import { openFile } from "../kv_connect/shared_stores.ts";
import {
  itemPath,
  listPath,
  type Parameters,
  startService,
} from "../service.ts";
import type { FilesInput } from "../../lib/content/derive.ts";
import { TimeLimitError } from "../../lib/thread/compute.ts";
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
  const keys =
    "html headings excerpt words mdxComponents htmlError content frontMatter";
  const all = "html headings excerpt words";
  const found = items.map((item) =>
    [item.name, ...keys.split(" ").filter((key) => key in item)].join(" ")
  );
  assertEquals(found, [
    `third.md ${all}`,
    "bad.md",
    `broken.md ${all}`,
    "data.json",
    `first.md ${all}`,
    `page.mdx ${all} mdxComponents`,
    `second.md ${all}`,
  ]);
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
  const ofItem = async (parameters: Parameters) =>
    hrefs((await service.item({ includeHtml: true, ...parameters })).html);
  const bySlug = { collection: "posts", slug: "first", ...template };
  assertEquals(await ofItem(bySlug), byTemplate);
  const byUrl = [
    `${API}posts%2Fsecond.md#top`,
    `${API}posts%2F2026%2Fthird.md`,
  ];
  assertEquals(await listed({ includeHtml: true }), [...byUrl, ...others]);
  // Without its collection a file has no sibling items.
  const files = [`${web}/posts/second.md#top`, `${web}/posts/2026/third.md`];
  assertEquals(await ofItem({ path: "posts/first.md" }), [...files, ...others]);
});

Deno.test("a file is rendered once for lists, items and restarts", async () => {
  await using store = await openFile();
  const compute = new WatchedCompute();
  const kv = await store.open();
  await using site = await startSite(FILES, { kv, compute });
  const { service, gh } = site;
  const before = await service.list({ includeHtml: true });
  assertEquals(compute.filesOf("render"), 6, "and what is no text");
  await site.push({ "posts/second.md": "Changed\n" });
  await service.item({ collection: "posts", slug: "first", includeHtml: true });
  await service.list({ includeHtml: true, fields: "html" });
  assertEquals(compute.filesOf("render"), 7);
  await service.services.close();

  const requested = watchBlobs(gh);
  const { clock } = service;
  const reopened = { github: gh, clock, kv: await store.open(), compute };
  await using again = await startService(reopened);
  const first = { includeHtml: true, "filter[path]": "first.md" };
  const { items } = await again.list(first);
  assertEquals(items[0], before.items[4]);
  assertEquals(compute.filesOf("render"), 7);
  assertEquals(requested, [], "no file is read for HTML that is known");
});

Deno.test("fields cuts items to their named keys", async () => {
  await using site = await startSite(FILES);
  const { service, gh } = site;
  const requested = watchBlobs(gh);
  const named = async (fields: string, name = "first.md", more = {}) => {
    const query = { fields, ...more, "filter[name]": name };
    return (await service.list(query)).items[0] as unknown;
  };
  assertEquals(await named("slug,size"), { slug: "first", size: POST.length });
  assertEquals(requested, []);
  const keys =
    "frontMatter.title,frontMatter.none,frontMatter.author.name,frontMatter.author.id";
  const frontMatter = { author: { id: 1, name: "Ann" }, title: "First" };
  assertEquals(await named(`slug,${keys}`), { slug: "first", frontMatter });
  assertEquals(requested.length, 1);
  // The `include…` parameters have no effect beside `fields`.
  const whole = { includeContent: true, includeHtml: true, limit: 1000 };
  assertEquals(await named("name", "first.md", whole), { name: "first.md" });
  const path = "posts/first.md";
  const { excerpt, body } = await service.item({ path, includeHtml: 1 });
  assertEquals(await named("words,excerpt,body"), { excerpt, body, words: 13 });
  // An error is sent with what it is about, and only then, though the file was
  // read.
  const keysOf = async (fields: string) =>
    Object.keys(await named(fields, "broken.md") as object);
  assertEquals(await keysOf("frontMatter"), ["frontMatterError"]);
  assertEquals(await keysOf("content,slug"), ["slug", "content"]);
});

Deno.test("a slug names the only Markdown file, or is ambiguous", async () => {
  const names = "a.md a.json a.b.md b.md b.mdx c.json c.txt d x/a.md".split(
    " ",
  );
  const twins = Array.from({ length: 21 }, (_, n) => `e.x${n}`);
  await using site = await startSite([
    ...[...names, ...twins].map((name) => [`posts/${name}`, ""] as const),
    ["other/e.md", ""],
  ]);
  const { service } = site;
  const collection = "posts";
  const slugs = { "a": "a.md", "a.b": "a.b.md", "d": "d", "x/a": "x/a.md" };
  for (const [slug, name] of Object.entries(slugs)) {
    const { path } = await service.item({ collection, slug });
    assertEquals(path, `posts/${name}`);
  }
  const problem = (parameters: Parameters) =>
    service.problem(itemPath({ collection, ...parameters }));
  const ambiguous = { b: "b.md b.mdx", c: "c.json c.txt" };
  for (const [slug, files] of Object.entries(ambiguous)) {
    const { code, paths } = await problem({ slug });
    const found = [code, paths?.join(" ").replaceAll("posts/", "")];
    assertEquals(found, ["slug-ambiguous", files]);
  }
  const { detail, paths } = await problem({ slug: "e" });
  assertEquals([paths?.length, paths?.[19]], [20, "posts/e.x8"]);
  assertEquals(
    detail,
    '21 files of the collection have the slug "e". Read one of them with path; "paths" names the first 20.',
  );
  assertEquals((await problem({ slug: "a.md" })).code, "item-not-found");
  const outside = await problem({ path: "other/e.md" });
  assert(outside.detail.startsWith('"other/e.md" is not in the folder'));
  const { name } = await service.item({ collection, path: "posts/a.json" });
  assertEquals(name, "a.json");
});

Deno.test("Markdown over 128 KiB is tried once, alone, as long work", async () => {
  const compute = new WatchedCompute();
  const long = "a\n".repeat(65 << 10);
  compute.answer = (task, input) => {
    if (task !== "render") return;
    const { files } = input as FilesInput;
    if (files.some(({ bytes }) => bytes.length === long.length)) {
      throw new TimeLimitError("The work takes too much memory");
    }
  };
  await using site = await startSite({
    "posts/a.md": "a",
    "posts/b.md": "b",
    "posts/c.md": long,
    "posts/d.md": "d",
    "posts/e.md": "e",
    "posts/f.md": "a\n".repeat(513 << 10),
  }, { compute });
  const { items } = await site.service.list({ includeHtml: true });
  assertEquals(items.map(({ html, htmlError }) => html ?? htmlError?.message), [
    "<p>a</p>",
    "<p>b</p>",
    "The file takes longer than 2 s, or too much memory.",
    "<p>d</p>",
    "<p>e</p>",
    "Markdown over 1 MiB is not rendered.",
  ]);
  const tries = compute.runs.filter(({ task }) => task === "render")
    .map(({ input, isLong }) => [(input as FilesInput).files.length, isLong]);
  // The rest of a chunk with a slow file is tried one by one. A file that is
  // not rendered is no long work.
  const short = [1, false];
  assertEquals(tries, [[2, false], [1, true], short, short, short]);
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
    listPath({ includeHtml: true }),
    itemPath({ path: "posts/a.md", includeHtml: true }),
  ];
  const areRendered = () =>
    Promise.all(paths.map(async (path) => {
      const text = await (await service.get(path)).text();
      return text.includes("</h1>");
    }));
  assertEquals(await areRendered(), [false, false]);
  isBusy = false;
  service.clock.advance(299_999);
  assertEquals(await areRendered(), [false, false]);
  service.clock.advance(2);
  assertEquals(await areRendered(), [true, true]);
});

Deno.test("MDX has HTML with its components, or the line of its fault", async () => {
  const mdx =
    '---\ntitle: Guide\n---\nimport Card from "./card.astro";\n\n<Card title={title}>See [the other](other.md).</Card>\n';
  await using site = await startSite({
    "posts/guide.mdx": mdx,
    "posts/guide.md": mdx,
    "posts/other.md": "",
    "posts/bad.mdx": "---\ntitle: Bad\n---\n\n<!-- no -->\n",
  });
  const { items: [bad, markdown, guide] } = await site.service.list({
    fields: "html,mdxComponents",
    linkTemplate: "/docs/{slug}",
  });
  assert(bad!.htmlError!.message.startsWith("Line 5 is not valid MDX: "));
  assertEquals<unknown>(guide, {
    html:
      '<div data-component="Card">See <a href="/docs/other">the other</a>.</div>',
    mdxComponents: ["Card"],
  });
  assert(markdown!.html!.includes("import Card"), "the same bytes");
});
