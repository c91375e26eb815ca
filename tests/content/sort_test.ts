import { assertEquals, assertThrows } from "@std/assert";
import type { PlainObject } from "../../lib/content/plain_value.ts";
import {
  parseIsoDate,
  parseSort,
  sortIndices,
} from "../../lib/content/sort.ts";

type Item = { name?: string; size?: number; frontMatter?: PlainObject | null };

function sorted(sort: string, items: readonly Item[]): number[] {
  const indices = sortIndices([...items.keys()], parseSort(sort), {
    name: (index) => items[index]!.name!,
    size: (index) => items[index]!.size!,
    item: (index) => items[index]!,
  });
  return [...indices];
}

Deno.test("parseSort() reads fields and - and refuses anything else", () => {
  assertEquals(parseSort("path"), { by: "path", descending: false });
  assertEquals(parseSort("-name"), { by: "name", descending: true });
  assertEquals(parseSort("size"), { by: "size", descending: false });
  assertEquals(parseSort("-frontMatter.author.name"), {
    by: ["frontMatter", "author", "name"],
    descending: true,
  });
  assertEquals(parseSort("-lastChanged.date"), {
    by: ["lastChanged", "date"],
    descending: true,
  });
  const bad =
    " - --path Path date lastChanged lastChanged.commit lastChanged.date.x +path path,name frontMatter frontmatter.date frontMatter. " +
    `frontMatter.a..b frontMatter.a. frontMatter.${"a".repeat(300)}`;
  for (const text of bad.split(" ")) {
    assertThrows(() => parseSort(text), SyntaxError, "must be path");
  }
});

Deno.test("parseIsoDate() takes dates and times, UTC by default", () => {
  const times =
    "2024-03-01=2024-03-01T00:00:00.000Z|2024-02-29=2024-02-29T00:00:00.000Z|" +
    "0001-01-01=0001-01-01T00:00:00.000Z|2024-03-01T10:30=2024-03-01T10:30:00.000Z|" +
    "2024-03-01T10:30:15=2024-03-01T10:30:15.000Z|2024-03-01T10:30:15.25Z=2024-03-01T10:30:15.250Z|" +
    "2024-03-01T10:30:15,5=2024-03-01T10:30:15.500Z|2024-03-01t10:30:15z=2024-03-01T10:30:15.000Z|" +
    "2024-03-01T10:30:00+02:00=2024-03-01T08:30:00.000Z|2024-03-01 10:30:00=2024-03-01T10:30:00.000Z|" +
    "2024-03-01T10:30:00-0530=2024-03-01T16:00:00.000Z|2024-03-01T10:30+02=2024-03-01T08:30:00.000Z|" +
    "2024-03-01T10:30-00:30=2024-03-01T11:00:00.000Z|2024-03-01 10:30 +0200=2024-03-01T08:30:00.000Z";
  for (const row of times.split("|")) {
    const [text, time] = row.split("=");
    assertEquals(
      new Date(parseIsoDate(text!) ?? NaN).toISOString(),
      time,
      text,
    );
  }
});

Deno.test("parseIsoDate() takes nothing else", () => {
  const texts =
    "|2024|2024-03|20240301|2024-3-1|2024-02-30|2023-02-29|2024-13-01|2024-00-01|" +
    "2024-01-00|2024-03-01T|2024-03-01T10|2024-03-01T24:00|2024-03-01T10:60|2024-03-01T10:30:60|" +
    "2024-03-01T10:30:00+24:00|2024-03-01T10:30:00+02:60|2024-03-01Z|2024-03-01 | 2024-03-01|" +
    "2024-03-01\n|x2024-03-01|10:30:00";
  for (
    const text of [...texts.split("|"), `2024-03-01${" ".repeat(100_000)}10:30`]
  ) {
    assertEquals(parseIsoDate(text), null, text.slice(0, 40));
  }
});

Deno.test("sortIndices() computes each key once", () => {
  const count = (length: number) => {
    let keys = 0;
    sortIndices(Array.from({ length }, (_, n) => n), parseSort("name"), {
      name: (index) => {
        keys++;
        return `${(index * 7919) % length}`;
      },
      size: () => 0,
      item: () => null,
    });
    return keys;
  };
  assertEquals([count(1_000), count(2_000)], [1_000, 2_000]);
});

Deno.test("sortIndices() compares 256 characters of a text", () => {
  const texts = [
    `${"x".repeat(256)}b`,
    `${"x".repeat(256)}a`,
    `${"x".repeat(255)}a`,
  ];
  const items = texts.map((v) => ({ frontMatter: { v } }));
  assertEquals(sorted("frontMatter.v", items), [2, 0, 1]);
  assertEquals(sorted("name", texts.map((name) => ({ name }))), [2, 0, 1]);
});
