import { assertEquals, assertThrows } from "@std/assert";
import {
  type CollectionsInput,
  describeCollections,
} from "../../lib/content/collections.ts";
import type { Declared } from "../../lib/content/declared.ts";
import { keepDerived } from "../../lib/content/derived.ts";
import { inferSchema } from "../../lib/content/schema.ts";
import { CollectionsError } from "../../lib/errors.ts";
import { FileListBuilder } from "../../lib/source/file_list.ts";

const REPOSITORY = "octo/collections";

/** Describes files that all have the same front matter. */
function describe(
  paths: readonly string[],
  options: Partial<CollectionsInput> = {},
) {
  const id = "a".repeat(40);
  const data = { frontMatter: { title: "A" } };
  keepDerived(REPOSITORY, id, JSON.stringify(data));
  const builder = new FileListBuilder();
  for (const path of paths) builder.add({ path, id, size: 100 });
  const described = describeCollections({
    repository: REPOSITORY,
    files: builder.build().bytes,
    declared: [],
    path: "",
    format: "schema",
    maxItemBytes: 1 << 20,
    maxBytes: 4 << 20,
    ...options,
  });
  if ("missing" in described) throw new Error("front matter is missing");
  const { collections } = JSON.parse(new TextDecoder().decode(described.text));
  return { collections, warnings: described.warnings };
}

Deno.test("describeCollections() leaves out a schema that is too much", () => {
  const big = Array.from({ length: 20_001 }, (_, n) => `content/a/${n}.md`);
  const { collections, warnings } = describe([
    ...big,
    "content/b/1.md",
    "content/b/1.png",
  ]);
  const shown = collections.map((one: object) => "schema" in one);
  assertEquals(shown, [false, true]);
  assertEquals(warnings, [
    'Left out the schema of "content/a": it would take too much front matter',
  ]);
});

Deno.test("describeCollections() bounds its text", () => {
  const declared: Declared[] = [{
    name: "posts",
    folder: "b",
    source: "_config.yml",
    rule: {},
    label: "x".repeat(1000),
  }];
  const options = { declared, format: "plain" } as const;
  assertEquals(describe(["b/a.md"], options).collections[0].items, 1);
  const error = assertThrows(
    () => describe(["b/a.md"], { ...options, maxBytes: 1000 }),
    CollectionsError,
  );
  assertEquals(error.code, "collection-too-large");
});

Deno.test("inferSchema() describes as many keys as there is room for", () => {
  const long = "x".repeat(257);
  const items = [{ [long]: 1, a: 1, b: { c: 1 }, d: 1 }, {}];
  const room = { keys: 3 };
  const { properties } = inferSchema(items, room);
  assertEquals(Object.keys(properties!), ["a", "b"]);
  assertEquals(Object.keys(properties!["b"]!.properties!), ["c"]);
  assertEquals(room.keys, 0);
});

Deno.test("inferSchema() has formats of dates and choices of texts", () => {
  const found = (...values: string[]) => {
    const items = values.map((a) => ({ a }));
    const { properties } = inferSchema(items, { keys: 9 });
    const { type, format, enum: choice } = properties!["a"]!;
    assertEquals(type, "string");
    return format ?? choice ?? null;
  };
  const day = "2024-02-29";
  assertEquals(found(day), "date");
  assertEquals(found(`${day}T10:00:00Z`), "date-time");
  assertEquals(found(day, "soon"), null);
  assertEquals(found(day, `${day}T10:00:00Z`), null);
  for (
    const text of ["2023-02-29", `${day}T10:00:00`, `${day} 10:00:00 +0100`]
  ) {
    assertEquals(found(text), null, text);
  }
  const many = (count: number, uses: number) =>
    Array.from({ length: count * uses }, (_, n) => `x${n % count}`);
  assertEquals(found(...many(20, 3)), many(20, 1));
  assertEquals(found(...many(21, 3)), null);
  assertEquals(found(...many(20, 2)), null);
  assertEquals(found(...many(2, 3), "y".repeat(65)), null);
});
