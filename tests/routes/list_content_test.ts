// A list that carries the front matter or the content of its items: the same as in get-item-content, an error where
// content is missing, and the page's cacheability.

import { assertEquals } from "@std/assert";
import type { ItemBody } from "../../lib/api/contract.ts";
import type { GitContent } from "../github/git_repository.ts";
import { startSite } from "../site.ts";

const MIB = 1 << 20;
const WITH_CONTENT = { includeContent: true };
const bytes = (...parts: (string | number[])[]) =>
  new Uint8Array(
    parts.flatMap((part) => typeof part === "string" ? [...new TextEncoder().encode(part)] : part),
  );

/** Files whose bytes, types or front matter differ in how they are read. */
const ODD: Record<string, GitContent> = {
  "posts/plain.md": "# No front matter\n---\n",
  "posts/empty.md": "",
  "posts/yaml.md": "---\ntitle: Hello\ndate: 2026-01-02\ntags: [a, b]\ndraft: no\n---\nbody",
  "posts/toml.md": "+++\r\ntitle = 'Hello'\r\nwhen = 1979-05-27\r\n+++\r\nText",
  "posts/crlf and a mark.md": "\ufeff---\r\ntitle: Hello\r\n---\r\nText\r\n",
  "posts/a list.md": "---\n- a\n- b\n---\n",
  "posts/broken.md": "---\ntitle: a\ntags: [a\n---\n",
  "posts/proto.md": "---\n__proto__: { polluted: true }\nconstructor: 1\ntoString: 2\n---\n",
  "posts/long.md": `---\ntitle: ${"x".repeat(300_000)}\n---\n`,
  "posts/nul.md": bytes("---\ntitle: a", [0], "b\n---\n"),
  "posts/not utf-8.md": bytes("---\ntitle: ", [0xff, 0xfe], "\n---\n"),
  ...Object.fromEntries(
    "same.md same.html same.svg same.png same.zip same.xyz same SAME.MD 日本語/Übung☃.md".split(" ")
      .map((name) => [`posts/${name}`, "---\ntitle: Same bytes, many names\n---\nText\n"]),
  ),
};

const FRONT = ["frontMatter", "frontMatterError"] as const;
const CONTENT = [...FRONT, "content", "encoding", "body"] as const;

function pick(item: Partial<ItemBody>, keys: readonly (keyof ItemBody)[]) {
  return Object.fromEntries(keys.filter((key) => key in item).map((key) => [key, item[key]]));
}

for (const token of ["", "token"]) {
  Deno.test(`items of a list have the front matter and content of the file alone, token "${token}"`, async () => {
    const env = { MISSES_PER_MINUTE: "0", GITHUB_TOKEN: token };
    await using site = await startSite(ODD, { env });
    const { service, gh } = site;
    gh.addToken("token");
    gh.graphqlStripsBom = true;
    // Sorted first, so that with a token the front matter of the whole folder is read in batches.
    await service.list({ sort: "frontMatter.title" });
    const { items } = await service.list({ limit: 100, includeFrontMatter: true });
    const { items: whole } = await service.list({ limit: 100, ...WITH_CONTENT });

    assertEquals(items.length, Object.keys(ODD).length);
    for (const [index, item] of items.entries()) {
      const { path } = item;
      const alone = await service.item({ path });
      assertEquals([path, pick(item, [...CONTENT, "error"])], [path, pick(alone, FRONT)]);
      const withContent = pick(whole[index]!, [...CONTENT, "error"]);
      assertEquals([path, withContent], [path, pick(alone, CONTENT)]);
    }
    const named = (name: string) => whole.find((item) => item.name === name)!;
    assertEquals(named("yaml.md").frontMatter!.draft, "no");
    assertEquals(named("toml.md").frontMatter, { title: "Hello", when: "1979-05-27" });
    assertEquals([named("yaml.md").body, named("plain.md").body], ["body", undefined]);
    assertEquals(named("broken.md").content, ODD["posts/broken.md"]);
    assertEquals([3, 4].includes(named("broken.md").frontMatterError!.line), true);
  });
}

Deno.test("a page carries 16 MiB of file bytes and no item over the size cap, in byte order of paths", async () => {
  const text = (length: number) => "a".repeat(length);
  const post = (number: number) => `---\nnumber: ${number}\n---\n${text(6 * MIB)}`;
  const half = 8 * MIB;
  const others = `${text(half - 1)}b`;
  const rows: [files: Record<string, string>, parameters: object, expected: unknown[]][] = [
    [
      { "1": text(half), "2": others, "3": "c", "4": "" },
      {},
      [half, half, "page-too-large", 0],
    ],
    // The next page begins anew.
    [{ "1": text(half), "2": others, "3": "c" }, { limit: 1, page: 3 }, [1]],
    // UTF-16 order is another one.
    [
      { "\uff5e.txt": text(9 * MIB), "\u{1f35e}.txt": `b${text(9 * MIB)}` },
      {},
      [9 * MIB, "page-too-large"],
    ],
    [
      { "1.md": post(1), "2.md": post(2), "3.md": post(3), "4.txt": text(10 * MIB + 1) },
      { includeFrontMatter: true, sort: "-path" },
      ["item-too-large", "page-too-large 3", `${post(2).length} 2`, `${post(1).length} 1`],
    ],
  ];
  for (const [files, parameters, expected] of rows) {
    const large = Object.entries(files).map(([name, text]) => [`posts/${name}`, text] as const);
    await using site = await startSite(large);
    const { items } = await site.service.list({ ...WITH_CONTENT, ...parameters });
    const found = items.map(({ error, content, frontMatter }) => {
      const shown = error?.code ?? content!.length;
      return frontMatter === undefined ? shown : `${shown} ${frontMatter.number}`;
    });
    assertEquals(found, expected);
  }
});

Deno.test("files that the source fails on are errors in their positions, and the page is not cached", async () => {
  await using site = await startSite({ "posts/a.md": "a", "posts/b.md": "b", "posts/c.md": "c" });
  const { gh, service } = site;
  const failing = (await site.repository.resolve("main:posts/b.md"))!;
  const look = async () => {
    const { items, repository } = await service.list(WITH_CONTENT);
    assertEquals(repository.commit, await site.repository.head());
    return items.map(({ content, error }) => content ?? error?.code).join(" ");
  };

  gh.fault = ({ path }) =>
    path.includes(failing) || path.endsWith("/b.md") ? { kind: "status", status: 500 } : null;
  assertEquals(await look(), "a source-failed c");
  gh.fault = null;
  assertEquals(await look(), "a source-failed c", "for 5 s it is not read again");
  service.clock.advance(5_000);
  assertEquals(await look(), "a b c");

  await site.repository.commit({ "posts/a.md": "1", "posts/b.md": "2", "posts/c.md": "3" });
  service.clock.advance(60_000);
  gh.fault = { kind: "secondary429", only: ["raw", "blob"] };
  const limited = Array(3).fill("source-rate-limited").join(" ");
  for (let time = 0; time < 2; time++) assertEquals(await look(), limited);
});
