import { assertEquals } from "@std/assert";
import { kindOf } from "../../lib/content/file_names.ts";

Deno.test("kindOf() tells the kind of a file by its name", () => {
  const rows: Readonly<Record<string, string>> = {
    markdown: "a.md A.MD a.markdown a.mdx .md",
    data: "a.json a.jsonl a.ndjson a.yml a.YAML a.toml a.csv a.tsv",
    image: "a.png a.JPG a.svg a.webp a.avif",
    text: "a.txt a.html a.xml a.ts a.rst README LICENSE a.ics a.css a.js",
    other: "a.pdf a.zip a.mp4 a.woff2 a.constructor a constructor a.mp3",
  };
  for (const [kind, names] of Object.entries(rows)) {
    for (const name of names.split(" ")) {
      assertEquals([name, kindOf(name)], [name, kind]);
    }
  }
});
