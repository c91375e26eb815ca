import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import type { PlainObject, PlainValue } from "../../lib/collections/plain_data.ts";
import { parseSort, sortIndices, type SortKeys } from "../../lib/collections/sort.ts";

interface Item {
  name?: string;
  size?: number;
  frontMatter?: PlainObject | null;
}

async function sorted(sort: string, items: readonly Item[]): Promise<number[]> {
  const keys: SortKeys = {
    name: (index) => items[index]!.name!,
    size: (index) => items[index]!.size!,
    frontMatter: (index) => items[index]!.frontMatter ?? null,
  };
  return [...await sortIndices(items.length, parseSort(sort), keys)];
}

/** Sorts values of one front matter key and gives them in their new order. */
async function byValue(
  sort: "v" | "-v",
  values: readonly PlainValue[],
): Promise<PlainValue[]> {
  const items = values.map((v) => ({ frontMatter: { v } }));
  const key = sort === "v" ? "frontMatter.v" : "-frontMatter.v";
  return (await sorted(key, items)).map((index) => values[index]!);
}

Deno.test("parseSort() reads the fields, and - for descending", () => {
  assertEquals(parseSort("path"), { by: "path", descending: false });
  assertEquals(parseSort("-name"), { by: "name", descending: true });
  assertEquals(parseSort("size"), { by: "size", descending: false });
  assertEquals(parseSort("frontMatter.date"), { by: ["date"], descending: false });
  assertEquals(parseSort("-frontMatter.author.name"), { by: ["author", "name"], descending: true });
});

Deno.test("parseSort() refuses anything else", () => {
  const texts = [
    "",
    "-",
    "--path",
    "Path",
    "date",
    "+path",
    "frontMatter",
    "frontMatter.",
    "frontMatter.a..b",
    "frontMatter.a.",
    "frontmatter.date",
    "path,name",
    `frontMatter.${"a".repeat(300)}`,
  ];
  for (const text of texts) assertThrows(() => parseSort(text), SyntaxError, "must be path");
});

Deno.test("sortIndices() preserves the order of paths, and reverses it", async () => {
  assertEquals(await sorted("path", [{}, {}, {}]), [0, 1, 2]);
  assertEquals(await sorted("-path", [{}, {}, {}]), [2, 1, 0]);
  assertEquals(await sorted("path", []), []);
});

Deno.test("sortIndices() sorts names as English readers do, numbers within by value", async () => {
  const names = ["b10.md", "B2.md", "a.md", "ä.md", "b2.md", "2024-01-01", "1.md"];
  const order = (await sorted("name", names.map((name) => ({ name }))))
    .map((index) => names[index]);
  assertEquals(order, ["1.md", "2024-01-01", "a.md", "ä.md", "b2.md", "B2.md", "b10.md"]);
});

Deno.test("sortIndices() puts kinds in order, - reverses all but what has no order", async () => {
  const values = [
    true,
    "b",
    [1],
    "2024-05-01",
    10,
    null,
    "a10",
    false,
    { a: 1 },
    "2024-04-30T23:00:00-05:00",
    9,
    "a9",
  ];
  const last = [[1], null, { a: 1 }];
  const ascending = [
    9,
    10,
    "2024-05-01",
    "2024-04-30T23:00:00-05:00",
    "a9",
    "a10",
    "b",
    false,
    true,
  ];
  assertEquals(await byValue("v", values), [...ascending, ...last]);
  assertEquals(await byValue("-v", values), [...ascending.toReversed(), ...last]);
});

Deno.test("sortIndices() goes deeper at dots and sees only what the file says", async () => {
  const items: Item[] = [
    { frontMatter: { author: { name: "b" } } },
    { frontMatter: { author: "a" } },
    { frontMatter: null },
    { frontMatter: { author: { name: "a" } } },
    { frontMatter: JSON.parse('{"author": {"__proto__": {"name": "0"}}}') },
  ];
  assertEquals(await sorted("frontMatter.author.name", items), [3, 0, 1, 2, 4]);
  assertEquals(await sorted("frontMatter.constructor.name", items), [0, 1, 2, 3, 4]);
  assertEquals(await sorted("-frontMatter.toString", items), [0, 1, 2, 3, 4]);
});

Deno.test("sortIndices() reads only the keys that it needs, once an item", async () => {
  let requested = 0;
  const refuse = () => {
    throw new Error("not needed");
  };
  const frontMatter = (index: number) => {
    requested++;
    return { n: index % 7 };
  };
  const count = 1_000;
  await sortIndices(count, parseSort("-frontMatter.n"), {
    name: refuse,
    size: refuse,
    frontMatter,
  });
  assertEquals(requested, count);
  await sortIndices(count, parseSort("path"), { name: refuse, size: refuse, frontMatter: refuse });
});

Deno.test("sortIndices() compares long texts by their beginning", async () => {
  const long = "x".repeat(200_000);
  assertEquals(await byValue("v", [`${long}b`, `${long}a`, "a"]), ["a", `${long}b`, `${long}a`]);
});

/** The rules once more, as one comparison of two items. */
function compare(a: PlainValue | undefined, b: PlainValue | undefined, sign: number): number {
  const [kindA, kindB] = [kindOf(a), kindOf(b)];
  if (kindA !== kindB) return kindA === 4 || kindB === 4 ? kindA - kindB : sign * (kindA - kindB);
  if (kindA === 4) return 0;
  if (kindA === 2) {
    return sign * new Intl.Collator("en", { numeric: true }).compare(a as string, b as string);
  }
  const value = (one: unknown) => kindA === 1 ? Date.parse(one as string) : Number(one);
  return sign * (value(a) - value(b));
}

function kindOf(value: PlainValue | undefined): number {
  if (typeof value === "number") return 0;
  if (typeof value === "string") return /^\d{4}-\d\d-\d\d/.test(value) ? 1 : 2;
  return typeof value === "boolean" ? 3 : 4;
}

Deno.test("sortIndices() agrees with a plain comparison of any values", async () => {
  const date = fc.date({
    min: new Date("1990-01-01"),
    max: new Date("2030-01-01"),
    noInvalidDate: true,
  })
    .chain((day) => fc.constantFrom(day.toISOString(), day.toISOString().slice(0, 10)));
  const value = fc.oneof(
    fc.constantFrom<PlainValue | undefined>(undefined, null, [], {}, true, false),
    fc.integer({ min: -5, max: 5 }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.string({ unit: fc.constantFrom(..."aAäbB0129 -_.é漢"), maxLength: 6 }),
    date,
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(value, { maxLength: 40 }),
      fc.boolean(),
      async (values, descending) => {
        const items = values.map((v): Item => ({ frontMatter: v === undefined ? {} : { v } }));
        const expected = values.map((_, index) => index)
          .sort((a, b) => compare(values[a], values[b], descending ? -1 : 1) || a - b);
        assertEquals(
          await sorted(descending ? "-frontMatter.v" : "frontMatter.v", items),
          expected,
        );
      },
    ),
    { numRuns: 200 },
  );
});
