// A list that carries the front matter or the content of its items: the same as
// in get-item-content, an error where content is missing, and how often files
// are read.

import { assertEquals } from "@std/assert";
import { generateFiles } from "../github/generated_files.ts";
import type { GitContent } from "../github/git_repository.ts";
import { watchBlobs } from "../github/served_repository.ts";
import { openFile } from "../kv_connect/shared_stores.ts";
import { startService } from "../service.ts";
import { startSite } from "../site.ts";

/** Files whose bytes, types or front matter differ in how they are read. */
const ODD: Record<string, GitContent> = {
  "posts/plain.md": "# No front matter\n---\n",
  "posts/empty.md": "",
  "posts/yaml.md": "---\ntitle: Hello\ntags: [a, b]\ndraft: no\n---\nbody",
  "posts/toml.md": "+++\r\ntitle = 'Hello'\r\nwhen = 1979-05-27\r\n+++\r\nText",
  "posts/crlf and a mark.md": "\ufeff---\r\ntitle: Hello\r\n---\r\nText\r\n",
  "posts/a list.md": "---\n- a\n- b\n---\n",
  "posts/broken.md": "---\ntitle: a\ntags: [a\n---\n",
  "posts/proto.md": "---\n__proto__: { polluted: true }\nconstructor: 1\n---\n",
  "posts/long.md": `---\ntitle: ${"x".repeat(300_000)}\n---\n`,
  "posts/nul.md": "---\ntitle: a\0b\n---\n",
  "posts/not utf-8.md": Uint8Array.of(0x2d, 0x2d, 0x2d, 0x0a, 0xff, 0xfe),
  ...Object.fromEntries(
    "same.md same.html same.svg same.png same.xyz same SAME.MD 日本語/Übung☃.md"
      .split(" ").map((name) => [
        `posts/${name}`,
        "---\ntitle: Same bytes, many names\n---\nText\n",
      ]),
  ),
};

for (const token of ["", "token"]) {
  Deno.test(`items have the front matter of the file, token "${token}"`, async () => {
    const env = { MISSES_PER_MINUTE: "0", GITHUB_TOKEN: token };
    await using site = await startSite(ODD, { env });
    const { service, gh } = site;
    gh.graphqlStripsBom = true;
    // Sorted first, so that with a token the front matter of the whole folder
    // is read in batches.
    await service.list({ sort: "frontMatter.title" });
    const { items } = await service.list({ includeFrontMatter: true });
    const { items: whole } = await service.list({ includeContent: true });

    assertEquals(items.length, Object.keys(ODD).length);
    for (const [index, { slug, ...item }] of items.entries()) {
      const { repository: _, ...alone } = await service.item({
        path: item.path,
      });
      assertEquals<unknown>(whole[index], { ...alone, slug });
      const { content: _content, encoding: _encoding, body: _body, ...facts } =
        alone;
      assertEquals(item, facts);
    }
    const { frontMatter } = items.find(({ name }) => name === "toml.md")!;
    assertEquals(frontMatter, { title: "Hello", when: "1979-05-27" });
  });
}

Deno.test("files that the source fails on are errors of the page", async () => {
  await using site = await startSite({
    "posts/a.md": "a",
    "posts/b.md": "b",
  });
  const { gh, service } = site;
  const failing = (await site.repository.resolve("main:posts/b.md"))!;
  const look = async () => {
    const { items } = await service.list({ includeContent: true });
    return items.map(({ content, error }) => content ?? error?.code).join(" ");
  };

  gh.fault = ({ path }) =>
    path.includes(failing) || path.endsWith("/b.md")
      ? { kind: "status", status: 500 }
      : null;
  assertEquals(await look(), "a source-failed");
  gh.fault = null;
  assertEquals(await look(), "a source-failed", "for 5 s it is left alone");
  service.clock.advance(5_000);
  assertEquals(await look(), "a b");

  await site.push({ "posts/a.md": "1", "posts/b.md": "2" });
  gh.fault = { kind: "secondary429", only: ["raw", "blob"] };
  assertEquals(await look(), "source-rate-limited source-rate-limited");
});

Deno.test("a sort by front matter reads each file once", async () => {
  const posts = [...generateFiles({ folders: 3, filesPerFolder: 100 })];
  const env = { GITHUB_TOKEN: "token" };
  await using store = await openFile();
  await using site = await startSite(posts, { env, kv: await store.open() });
  const { service: { clock, services }, gh, repository } = site;
  const requested = watchBlobs(gh);
  const newest = { sort: "-frontMatter.date", includeFrontMatter: true };
  await site.service.list(newest);
  assertEquals(requested.length, 300);

  requested.length = 0;
  const path = "posts/d001/post-00002.md";
  await site.push({ [path]: "---\ndate: zzz\n---\n" });
  const before = await site.service.list(newest);
  assertEquals(before.items[0]?.frontMatter, { date: "zzz" });
  assertEquals(requested, [await repository.resolve(`main:${path}`)]);

  await services.close();
  gh.resetCounts();
  const kv = await store.open();
  await using again = await startService({ env, github: gh, clock, kv });
  assertEquals(await again.list(newest), before);
  await again.list({ ...newest, sort: "frontMatter.title", page: 7 });
  assertEquals(Object.keys(gh.counts()).toSorted(), ["commit", "repo"]);
});
