// The front matter of a list's items: the same as in get-item-content, and nothing else.

import { assertEquals } from "@std/assert";
import type { ItemBody } from "../../lib/api/contract.ts";
import type { GitContent } from "../github/git_repository.ts";
import type { Parameters, TestService } from "../service.ts";
import { startSite } from "../site.ts";

const bytes = (...parts: (string | number[])[]) =>
  new Uint8Array(
    parts.flatMap((part) => typeof part === "string" ? [...new TextEncoder().encode(part)] : part),
  );
const MAPPING = "---\ntitle: Same bytes, many names\n---\nText\n";

/** Files that are hostile, odd, or called something odd. */
const ODD: Record<string, GitContent> = {
  "posts/plain.md": "# No front matter\n",
  "posts/empty.md": "",
  "posts/yaml.md": "---\ntitle: Hello\ndate: 2026-01-02\ntags: [a, b]\n---\n",
  "posts/toml.md": "+++\ntitle = 'Hello'\nwhen = 2026-01-02T03:04:05Z\n+++\nText",
  "posts/crlf and a mark.md": "\ufeff---\r\ntitle: Hello\r\n---\r\nText\r\n",
  "posts/nothing in it.md": "---\n---\n",
  "posts/not closed.md": "---\ntitle: Hello\n",
  "posts/a list.md": "---\n- a\n- b\n---\n",
  "posts/broken.md": "---\ntitle: [a\n---\n",
  "posts/broken-toml.md": "+++\ntitle = \n+++\n",
  "posts/twice.md": "---\na: 1\nb: 2\na: 3\n---\n",
  "posts/proto.md": "---\n__proto__: { polluted: true }\nconstructor: 1\ntoString: 2\n---\n",
  "posts/deep.md": `---\na: ${"[".repeat(5_000)}\n---\n`,
  "posts/bomb.md": `---\n${
    ["a: &a [x, x, x]", ..."bcdefghij"].map((key, at) =>
      at === 0 ? key : `${key}: &${key} [${`*${"abcdefghij"[at - 1]},`.repeat(9)}]`
    ).join("\n")
  }\n---\n`,
  "posts/long.md": `---\ntitle: ${"x".repeat(300_000)}\n---\n`,
  "posts/many.md": `---\n${
    Array.from({ length: 9_000 }, (_, at) => `k${at}: [1, 2]`).join("\n")
  }\n---\n`,
  "posts/numbers.md": "---\na: 12345678901234567890\nb: .nan\nc: -0\nd: 0x1f\ne: 1e400\n---\n",
  "posts/nul.md": bytes("---\ntitle: a", [0], "b\n---\n"),
  "posts/not utf-8.md": bytes("---\ntitle: ", [0xff, 0xfe], "\n---\n"),
  "posts/half a pair.md": bytes("---\ntitle: ", [0xed, 0xa0, 0x80], "\n---\n"),
  "posts/pointer.md": `version https://git-lfs.github.com/spec/v1\noid sha256:${
    "0".repeat(64)
  }\nsize 1\n`,
  "posts/same.md": MAPPING,
  "posts/same.html": MAPPING,
  "posts/same.svg": MAPPING,
  "posts/same.png": MAPPING,
  "posts/same.mp4": MAPPING,
  "posts/same.zip": MAPPING,
  "posts/same": MAPPING,
  "posts/SAME.MD": MAPPING,
  "posts/unknown.xyz": MAPPING,
  "posts/a#b?c&d=e%2F+f.md": MAPPING,
  "posts/日本語/Übung ☃.md": MAPPING,
};

const FRONT = ["frontMatter", "frontMatterError"] as const;
const CONTENT = [...FRONT, "content", "encoding"] as const;

function pick(item: Partial<ItemBody>, keys: readonly (keyof ItemBody)[]) {
  return Object.fromEntries(keys.filter((key) => key in item).map((key) => [key, item[key]]));
}

/** Compares every item of a collection with its own response. */
async function compare(service: TestService, count: number): Promise<void> {
  const list = async (parameters: Parameters) => {
    const { items } = await service.list({ limit: 100, ...parameters });
    assertEquals(items.length, count);
    return items;
  };
  const withFrontMatter = await list({ includeFrontMatter: true });
  const withContent = await list({ includeContent: true });
  assertEquals(await list({ includeContent: true, includeFrontMatter: true }), withContent);
  for (const [index, item] of withFrontMatter.entries()) {
    const alone = await service.item({ path: item.path });
    assertEquals(
      [item.path, pick(item, [...CONTENT, "error"])],
      [item.path, pick(alone, FRONT)],
    );
    assertEquals(
      [item.path, pick(withContent[index]!, [...CONTENT, "error"])],
      [item.path, pick(alone, CONTENT)],
    );
  }
}

const LIMITLESS = { MISSES_PER_MINUTE: "0" };

Deno.test("items of a list say of their front matter what the file's own answer says", async () => {
  await using site = await startSite(ODD, { env: LIMITLESS });
  await compare(site.service, Object.keys(ODD).length);
  assertEquals(({} as Record<string, unknown>).polluted, undefined);
});

Deno.test("items of a list say the same with a token, from batches", async () => {
  await using site = await startSite(ODD, { env: { ...LIMITLESS, GITHUB_TOKEN: "token" } });
  site.gh.addToken("token");
  site.gh.graphqlStripsBom = true;
  // Sorted first, so that the front matter of the whole folder is read in one go.
  const { items } = await site.service.list({ sort: "frontMatter.title" });
  assertEquals(items.length, Object.keys(ODD).length);
  await compare(site.service, items.length);
});

Deno.test("an item whose content does not fit into the page has its front matter", async () => {
  const post = (number: number) => `---\nnumber: ${number}\n---\n${"x".repeat(6 << 20)}`;
  await using site = await startSite({
    "posts/1.md": post(1),
    "posts/2.md": post(2),
    "posts/3.md": post(3),
  });
  const { items } = await site.service.list({
    includeContent: true,
    includeFrontMatter: true,
    sort: "-path",
  });
  assertEquals(
    items.map(({ name, frontMatter, content, error }) => [
      name,
      frontMatter,
      content?.length,
      error?.code,
    ]),
    [
      ["3.md", { number: 3 }, undefined, "page-too-large"],
      ["2.md", { number: 2 }, post(2).length, undefined],
      ["1.md", { number: 1 }, post(1).length, undefined],
    ],
  );
});
