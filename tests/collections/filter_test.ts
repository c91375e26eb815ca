import { assert, assertEquals } from "@std/assert";
import {
  type FilterableItem,
  isFilterParameter,
  matchesFilters,
  needsFrontMatter,
  parseFilters,
} from "../../lib/collections/filter.ts";
import type { PlainObject } from "../../lib/collections/plain_data.ts";
import { parseSort } from "../../lib/collections/sort.ts";

/** Whether an item passes the filters of a query string. */
function passes(query: string, item: Partial<FilterableItem>): boolean {
  const { filters, errors } = parseFilters(new URLSearchParams(query));
  assertEquals(errors, [], query);
  return matchesFilters(filters, { name: "a.md", path: "a.md", frontMatter: null, ...item });
}

function errorsOf(...pairs: [string, string][]) {
  return parseFilters(pairs).errors;
}

const POST: PlainObject = {
  title: "Hello",
  tags: ["deno", "typescript", 7, true],
  draft: false,
  count: 3,
  price: 1.5,
  date: "2024-03-01",
  nothing: null,
  author: { name: "Ann", since: 2020 },
  empty: "",
};

Deno.test("matchesFilters() compares the text of front matter values", () => {
  const matching = [
    "filter[frontMatter.title]=Hello",
    "filter[frontMatter.draft]=false",
    "filter[frontMatter.count]=3",
    "filter[frontMatter.price]=1.5",
    "filter[frontMatter.date]=2024-03-01",
    "filter[frontMatter.nothing]=null",
    "filter[frontMatter.author.name]=Ann",
    "filter[frontMatter.author.since]=2020",
  ];
  for (const query of matching) assert(passes(query, { frontMatter: POST }), query);
  const failing = [
    "filter[frontMatter.title]=hello",
    "filter[frontMatter.title]=Hell",
    "filter[frontMatter.title]=*",
    "filter[frontMatter.draft]=0",
    "filter[frontMatter.count]=3.0",
    "filter[frontMatter.author]=Ann",
    "filter[frontMatter.author]=[object Object]",
    "filter[frontMatter.missing]=undefined",
    "filter[frontMatter.title.length]=5",
    "filter[frontMatter.constructor.name]=Object",
    `filter[frontMatter.toString]=${encodeURIComponent(String(Object.prototype.toString))}`,
  ];
  for (const query of failing) assert(!passes(query, { frontMatter: POST }), query);
});

Deno.test("matchesFilters() looks for a member where the value is a list", () => {
  for (const member of ["deno", "7", "true"]) {
    assert(passes(`filter[frontMatter.tags]=${member}`, { frontMatter: POST }), member);
    assert(!passes(`filter[frontMatter.tags]=!${member}`, { frontMatter: POST }), member);
  }
  for (const other of ["Deno", "den", "deno,typescript"]) {
    assert(!passes(`filter[frontMatter.tags]=${other}`, { frontMatter: POST }), other);
    assert(passes(`filter[frontMatter.tags]=!${other}`, { frontMatter: POST }), other);
  }
  assert(!passes("filter[frontMatter.tags]=a", { frontMatter: { tags: [["a"], { a: "a" }] } }));
});

Deno.test("matchesFilters() lets an absent key satisfy a negation only", () => {
  for (const frontMatter of [null, {}, { draft: {} }, { draft: [] }]) {
    assert(passes("filter[frontMatter.draft]=!true", { frontMatter }));
    assert(!passes("filter[frontMatter.draft]=true", { frontMatter }));
  }
  assert(!passes("filter[frontMatter.draft]=!true", { frontMatter: { draft: true } }));
  assert(!passes("filter[frontMatter.empty]=!", { frontMatter: POST }));
  assert(passes("filter[frontMatter.title]=!", { frontMatter: POST }));
});

Deno.test("matchesFilters() matches name and path as globs", () => {
  const item = { name: "hello.md", path: "2026/05/hello.md" };
  for (
    const query of [
      "filter[name]=*.md",
      "filter[path]=2026/**",
      "filter[path]=**/*.md",
      "filter[name]=!*.mdx",
    ]
  ) {
    assert(passes(query, item), query);
  }
  for (
    const query of [
      "filter[name]=*.MD",
      "filter[path]=*.md",
      "filter[path]=2026/*",
      "filter[path]=!2026/**",
    ]
  ) {
    assert(!passes(query, item), query);
  }
  assert(passes("filter[name]=[slug].md", { name: "[slug].md" }));
});

Deno.test("matchesFilters() takes several as and, of the same key too", () => {
  const both = "filter[frontMatter.tags]=deno&filter[frontMatter.tags]=typescript";
  assert(passes(both, { frontMatter: POST }));
  assert(!passes(both, { frontMatter: { tags: ["deno"] } }));
  assert(!passes(`${both}&filter[name]=*.txt`, { frontMatter: POST }));
  assert(passes("", {}));
});

Deno.test("parseFilters() leaves other parameters and empty values alone", () => {
  const query = "owner=a&filters=1&filterx=2&filter[name]=&filter[frontMatter.tags]=";
  assertEquals(parseFilters(new URLSearchParams(query)), { filters: [], errors: [] });
  assert(isFilterParameter("filter[anything"));
  assert(isFilterParameter("filter"));
  assert(!isFilterParameter("filters"));
});

Deno.test("parseFilters() names every bad key and glob", () => {
  const names = [
    "filter",
    "filter[",
    "filter[]",
    "filter[size]",
    "filter[Name]",
    "filter[name",
    "filter[name]x",
    "filter[frontMatter]",
    "filter[frontMatter.]",
    "filter[frontMatter.a..b]",
    `filter[frontMatter.${"a".repeat(300)}]`,
  ];
  const errors = errorsOf(...names.map((name): [string, string] => [name, "x"]));
  assertEquals(errors.length, names.length);
  assertEquals(errors.slice(0, 10).map(({ parameter }) => parameter), names.slice(0, 10));
  for (const { message } of errors) {
    assertEquals(
      message,
      "must be filter[name], filter[path], filter[frontMatter.<key>] or filter[frontMatter.<key>][lt|lte|gt|gte|exists]",
    );
  }
  assert(errors.at(-1)!.parameter.length <= 81);

  for (const glob of ["/a", "a/", "a**", "***", "a//b", "../a", "\u0000", "!", "!/a"]) {
    const [error, ...others] = errorsOf(["filter[path]", glob]);
    assertEquals(others, []);
    assertEquals(error?.parameter, "filter[path]", glob);
    assert(error!.message.startsWith("must be a glob"), error!.message);
  }
  assertEquals(errorsOf(["filter[name]", "a/b.md"])[0]?.message.includes("without a slash"), true);
});

Deno.test("parseFilters() bounds how many there are and how long", () => {
  const pair: [string, string] = ["filter[name]", "*.md"];
  assertEquals(parseFilters(Array(20).fill(pair)).errors, []);
  const { filters, errors } = parseFilters(Array(10_000).fill(pair));
  assertEquals(filters.length, 20);
  assertEquals(errors, [{ parameter: "filter", message: "must be given at most 20 times" }]);
  assertEquals(errorsOf(["filter[frontMatter.a]", "x".repeat(1_024)]), []);
  for (const name of ["filter[frontMatter.a]", "filter[name]"]) {
    assertEquals(errorsOf([name, "x".repeat(1_025)]), [
      { parameter: name, message: "must be at most 1024 characters long" },
    ]);
  }
});

Deno.test("needsFrontMatter() is true only where a key of it is named", () => {
  const filters = (query: string) => parseFilters(new URLSearchParams(query)).filters;
  assert(!needsFrontMatter(parseSort("-size"), filters("filter[name]=*.md&filter[path]=a/**")));
  assert(needsFrontMatter(parseSort("frontMatter.date"), []));
  assert(needsFrontMatter(parseSort("path"), filters("filter[frontMatter.draft]=!true")));
});
