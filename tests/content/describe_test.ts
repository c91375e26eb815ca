import { assert, assertEquals } from "@std/assert";
import { describe, type DescribeInput, type Description } from "../../lib/content/describe.ts";
import { renderMarkdown } from "../../lib/content/render_markdown.ts";

const encode = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

function describeOne(file: Partial<DescribeInput["files"][number]>, maxBytes = 16 << 20) {
  const described = describe({
    repository: "octo/site",
    files: [{ path: "a.md", id: "1", size: 1, ...file }],
    fields: ["content", "error", "html", "htmlError"],
    prefix: null,
    contentUrlStart: "http://localhost/item?path=",
    webUrlStart: null,
    linkTemplate: undefined,
    linked: null,
    maxBytes,
  }) as Description;
  return { ...described, item: JSON.parse(new TextDecoder().decode(described.json)) };
}

Deno.test("describe() bounds HTML after its addresses are filled in", () => {
  const images = Array.from({ length: 4_999 }, (_, n) => `![](${n.toString(36)})`).join("");
  const rendered = encode(renderMarkdown(images));
  const path = `${`${"\u20ac".repeat(83)}/`.repeat(15)}a.md`;
  const { item, json } = describeOne({ path, rendered });
  assertEquals(item, { htmlError: { message: "The file's HTML is too large." } });
  assert(json.length < 100);
  assert(describeOne({ rendered }).item.html.length > 100_000);
});
