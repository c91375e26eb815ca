import { assertEquals, assertThrows } from "@std/assert";
import {
  parseIsoDate,
  parseSort,
  sortIndices,
} from "../../lib/content/sort.ts";

Deno.test("parseSort() refuses what is no field", () => {
  const bad =
    " - --path Path date lastChanged lastChanged.commit lastChanged.date.x +path path,name frontMatter frontmatter.date frontMatter. " +
    `frontMatter.a..b frontMatter.a. frontMatter.${"a".repeat(300)}`;
  for (const text of bad.split(" ")) {
    assertThrows(() => parseSort(text), SyntaxError, "must be path");
  }
});

Deno.test("parseIsoDate() takes dates and times, UTC by default", () => {
  const times = {
    "2024-03-01": "2024-03-01T00:00:00.000Z",
    "2024-02-29": "2024-02-29T00:00:00.000Z",
    "0001-01-01": "0001-01-01T00:00:00.000Z",
    "2024-03-01T10:30": "2024-03-01T10:30:00.000Z",
    "2024-03-01T10:30:15.25Z": "2024-03-01T10:30:15.250Z",
    "2024-03-01T10:30:15,5": "2024-03-01T10:30:15.500Z",
    "2024-03-01t10:30:15z": "2024-03-01T10:30:15.000Z",
    "2024-03-01 10:30:00": "2024-03-01T10:30:00.000Z",
    "2024-03-01T10:30:00+02:00": "2024-03-01T08:30:00.000Z",
    "2024-03-01T10:30:00-0530": "2024-03-01T16:00:00.000Z",
    "2024-03-01T10:30+02": "2024-03-01T08:30:00.000Z",
    "2024-03-01T10:30-00:30": "2024-03-01T11:00:00.000Z",
    "2024-03-01 10:30 +0200": "2024-03-01T08:30:00.000Z",
  };
  for (const [text, time] of Object.entries(times)) {
    const found = new Date(parseIsoDate(text) ?? NaN);
    assertEquals(found.toISOString(), time, text);
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
  const x = "x".repeat(255);
  const texts = [`${x}xb`, `${x}xa`, `${x}a`];
  const indices = [...texts.keys()];
  const readers = {
    name: (index: number) => texts[index]!,
    size: () => 0,
    item: (index: number) => ({ frontMatter: { v: texts[index]! } }),
  };
  for (const sort of ["name", "frontMatter.v"]) {
    const sorted = sortIndices(indices, parseSort(sort), readers);
    assertEquals([...sorted], [2, 0, 1]);
  }
});
