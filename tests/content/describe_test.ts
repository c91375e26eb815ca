import { assert, assertEquals } from "@std/assert";
import { describe, type Description } from "../../lib/content/describe.ts";
import { renderMarkdown } from "../../lib/content/render_markdown.ts";

Deno.test("describe() bounds HTML after its addresses are filled in", () => {
  const images = Array.from(
    { length: 4_999 },
    (_, n) => `![](${n.toString(36)})`,
  ).join("");
  const rendered = new TextEncoder().encode(
    JSON.stringify(renderMarkdown(images)),
  );
  const describeAt = (path: string) => {
    const { json } = describe({
      repository: "octo/site",
      files: [{ path, id: "1", size: 1, rendered }],
      fields: ["html", "htmlError"],
      prefix: null,
      contentUrlStart: "http://localhost/item?path=",
      webUrlStart: null,
      linkTemplate: undefined,
      linked: null,
      maxBytes: 16 << 20,
    }) as Description;
    return JSON.parse(new TextDecoder().decode(json));
  };
  const deep = describeAt(`${`${"\u20ac".repeat(83)}/`.repeat(15)}a.md`);
  assertEquals(deep, {
    htmlError: { message: "The file's HTML is too large." },
  });
  assert(describeAt("a.md").html.length > 100_000);
});
