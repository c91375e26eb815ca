import { assert, assertEquals } from "@std/assert";
import {
  type FilterableItem,
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

Deno.test("needsFrontMatter() is true only where a key of it is named", () => {
  const filters = (query: string) => parseFilters(new URLSearchParams(query)).filters;
  assert(!needsFrontMatter(parseSort("-size"), filters("filter[name]=*.md&filter[path]=a/**")));
  assert(needsFrontMatter(parseSort("frontMatter.date"), []));
  assert(needsFrontMatter(parseSort("path"), filters("filter[frontMatter.draft]=!true")));
});

Deno.test("matchesFilters() compares values of one kind in the order of sorting, and tells what is there", () => {
  const rows: [query: string, passes: boolean][] = [
    ["[count][gte]=3", true],
    ["[count][gt]=3", false],
    ["[price][lt]=1.50", false],
    ["[price][lte]=1.50", true],
    ["[date][lt]=2024-03-01T00:00:01Z", true],
    ["[date][gte]=2024-03-01T02:00:00%2B02:00", true],
    ["[title][gt]=hell", true],
    ["[title][lt]=3", false],
    ["[draft][lt]=true", true],
    ["[tags][gte]=a", false],
    ["[nothing][lte]=z", false],
    ["[missing][lte]=z", false],
    ["[count][gte]=x", false],
    ["[nothing][exists]=true", true],
    ["[missing][exists]=true", false],
    ["[missing][exists]=false", true],
    ["[author.name][exists]=true", true],
  ];
  for (const [query, expected] of rows) {
    const filter = `filter[frontMatter.${query.slice(1)}`;
    assertEquals([query, passes(filter, { frontMatter: POST })], [query, expected]);
  }
  assert(!passes("filter[frontMatter.a][exists]=true", {}));
});

Deno.test("parseFilters() names a filter that is none, whatever is in its brackets", () => {
  const names = [
    "[frontMatter.a][GT]",
    "[frontMatter.a][]",
    "[frontMatter.a][gt][gt]",
    "[name][gt]",
  ];
  for (const name of [...names, "[size]", "[frontMatter.a]x", "[frontMatter.a][exists]", ""]) {
    const { errors } = parseFilters([[`filter${name}`, "1"]]);
    assertEquals(errors.map(({ parameter }) => parameter), [`filter${name}`]);
  }
  assertEquals(parseFilters([["filter[frontMatter.a[0]]", "1"]]).errors, []);
});
