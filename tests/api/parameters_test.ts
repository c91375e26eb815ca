// How a query string is read: strictly, each parameter once, every bad one named, both sides of each bound.

import { assertEquals, assertThrows } from "@std/assert";
import { parseItemQuery, parseListQuery } from "../../lib/api/parameters.ts";
import { CollectionsError } from "../../lib/errors.ts";

const LIST = "owner=o&repo=r&collection=c";
const ITEM = "owner=o&repo=r&path=a";

/** The bad parameters of a query with the message for each, or null where there are none. */
function errorsOf(search: string, parse: (search: string) => unknown = parseListQuery) {
  try {
    parse(search);
    return null;
  } catch (error) {
    if (!(error instanceof CollectionsError)) throw error;
    assertEquals(error.code, "invalid-parameters");
    return error.facts.errors!.map(({ parameter, message }) => [parameter, message]);
  }
}

function badOnes(search: string, parse?: (search: string) => unknown) {
  return errorsOf(search, parse)?.map(([parameter]) => parameter) ?? null;
}

Deno.test("parseListQuery() names every bad parameter at once, in the table's order", () => {
  assertEquals(badOnes(""), ["owner", "repo", "collection"]);
  const worst =
    "includeContent=yes&limit=1e3&page=0&branch=a..b&collection=a//b&repo=.git&owner=-x" +
    "&facets=x&fields=x&filter[x]=1&filter[name]=a/b&recursive=maybe&sort=date&linkTemplate=x&includeHtml=2";
  assertEquals(badOnes(worst), [
    ...["owner", "repo", "collection", "branch", "page", "limit", "includeContent", "includeHtml"],
    ...["linkTemplate", "sort", "recursive", "filter[x]", "filter[name]", "fields", "facets"],
  ]);
});

Deno.test("parseItemQuery() names every bad parameter, and what must not stand together", () => {
  const bad = (search: string) => badOnes(`owner=o&repo=r&${search}`, parseItemQuery);
  assertEquals(badOnes("", parseItemQuery), ["owner", "repo", "path"]);
  assertEquals(bad("format=xml&path=/a&branch=a~1&sort=x"), ["branch", "path", "sort", "format"]);
  assertEquals(bad("path="), ["path"]);
  assertEquals(bad("collection=c"), ["slug"]);
  assertEquals(bad("slug=s"), ["collection"]);
  assertEquals(bad("collection=c&slug=s&path=a"), ["slug"]);
  assertEquals(bad("path=a&includeNeighbors=1"), ["collection"]);
  const neighbors = "slug=a/b&collection=c&includeNeighbors=1";
  for (const good of ["path=a&collection=/", neighbors, "path=a&slug=", "slug=a&collection=/"]) {
    assertEquals([good, bad(good)], [good, null]);
  }
});

const BOUNDS: readonly [name: string, good: string[], bad: string[]][] = [
  ["owner", ["a".repeat(39)], ["a".repeat(40)]],
  ["repo", ["a".repeat(100)], ["a".repeat(101), "..", "a.git"]],
  [
    "collection",
    ["ü".repeat(512), "/", "//a/b//"],
    ["ü".repeat(512) + "a", "a//b", "a/../b", "./a", "a\u007f", "a\u0085"],
  ],
  ["branch", ["ü".repeat(127) + "a"], ["ü".repeat(128)]],
  ["page", ["999999999"], ["1000000000"]],
  ["limit", ["1000"], ["1001"]],
  ["includeContent", ["0"], ["TRUE"]],
  [
    "linkTemplate",
    [`/${"a".repeat(193)}{slug}`, "https://site.test/{slug}#x"],
    [`/${"a".repeat(194)}{slug}`, "javascript:{slug}", "{slug}:x", "/a b/{slug}", "/{slug}/{slug}"],
  ],
  ["fields", ["slug,frontMatter.a.b,words"], ["slug,,size", "frontMatter."]],
  [
    "facets",
    ["frontMatter.a,frontMatter.b,frontMatter.a"],
    [[1, 2, 3, 4, 5, 6].map((n) => `frontMatter.${n}`).join()],
  ],
  ["path", ["ü".repeat(2048), "...", "a\\b:c*?"], [
    "ü".repeat(2048) + "a",
    "a/",
    "../a",
    "a\u0000b",
  ]],
  ["format", ["raw"], ["RAW"]],
];

Deno.test("parameters are taken up to their bounds, and no further", () => {
  for (const [name, good, bad] of BOUNDS) {
    const isItem = name === "path" || name === "format";
    for (const value of [...good, ...bad]) {
      const query = new URLSearchParams(isItem ? ITEM : LIST);
      query.set(name, value);
      const found = badOnes(query.toString(), isItem ? parseItemQuery : parseListQuery);
      assertEquals([name, value, found], [name, value, good.includes(value) ? null : [name]]);
    }
  }
});

Deno.test("integers are plain digits, and nothing is clamped", () => {
  const bad = "0 -1 +1 %2B1 01 1.0 1e2 0x1 %20 1%20 1_0 Infinity ٣ 99999999999999999999".split(" ");
  for (const name of ["page", "limit"]) {
    for (const value of bad) {
      assertEquals([value, badOnes(`${LIST}&${name}=${value}`)], [value, [name]]);
    }
  }
});

Deno.test("limit is at most 100 with content or HTML", () => {
  for (const more of ["includeContent=1", "includeHtml=true", "fields=body", "fields=slug,words"]) {
    assertEquals([more, badOnes(`${LIST}&limit=101&${more}`)], [more, ["limit"]]);
    assertEquals(badOnes(`${LIST}&limit=100&${more}`), null);
  }
  for (
    const more of ["includeContent=false", "fields=slug&includeContent=1", "includeFrontMatter=1"]
  ) {
    assertEquals([more, badOnes(`${LIST}&limit=1000&${more}`)], [more, null]);
  }
  assertEquals(badOnes(`${LIST}&limit=101&includeContent=1&page=0`), ["page", "limit"]);
});

Deno.test("a parameter is given once; an empty one is bad where it is required, and else omitted", () => {
  for (const name of ["owner", "collection", "branch", "limit", "sort", "fields"]) {
    const twice = `${LIST}&branch=b&limit=1&sort=path&fields=slug&${name}=1`;
    assertEquals(errorsOf(twice), [[name, "must be given once"]]);
  }
  assertEquals(badOnes(`${LIST}&branch=&branch=main`), ["branch"]);
  const required = ["owner", "repo", "collection"];
  const messages = required.map((name) => [name, "must not be empty"]);
  assertEquals(errorsOf("owner=&repo=&collection="), messages);
  const empty = `${LIST}&branch=&page=&includeContent=&fields=&filter[name]=&facets=`;
  assertEquals(parseListQuery(empty), { owner: "o", repo: "r", collection: "c" });
});

Deno.test("what cannot be decoded is bad, in a known parameter; a plus is a space", () => {
  for (
    const value of ["%", "%f", "%zz", "%ff", "%c3", "%c0%af", "%ed%a0%80", "%f4%90%80%80", "a%"]
  ) {
    assertEquals(errorsOf(`owner=o&repo=r&collection=${value}`), [
      ["collection", "has an escape that is no UTF-8 text"],
    ]);
    assertEquals(badOnes(`${LIST}&unknown=${value}&${value}=1`), null);
    assertEquals(badOnes(`${LIST}&filter[path]=${value}`), ["filter[path]"]);
  }
  const query = "owner=o&%72epo=r&collection=a+b%2Bc&Page=7&__proto__=1&constructor";
  assertEquals(parseListQuery(query), { owner: "o", repo: "r", collection: "a b+c" });
});

Deno.test("bad filters and sorts are named as they were given, and say what is good", () => {
  const filters = "must be filter[name], filter[path], filter[frontMatter.<key>] or " +
    "filter[frontMatter.<key>][lt|lte|gt|gte|exists]";
  const sorts = 'must be path, name, size or frontMatter.<key>, with "-" in front for descending';
  const rows: [query: string, message: string][] = [
    ...["", "[]", "[title]", "[frontMatter]", "[name", "[name][gt]", "[frontMatter.a][eq]"]
      .map((key): [string, string] => [`filter${key}=x`, filters]),
    ["filter[frontMatter.a][exists]=1", "must be true or false"],
    ["filter[path]=a//b", 'must be a glob that can match: a segment of it is empty, "." or ".."'],
    ["filter[name]=a/b", "must be a glob without a slash: a name has none"],
    [`filter[path]=${"a".repeat(1025)}`, "must be at most 1024 characters long"],
    ["sort=date", sorts],
    ["sort=frontMatter.a..b", sorts],
  ];
  for (const [query, message] of rows) {
    assertEquals(errorsOf(`${LIST}&${query}`), [[query.split("=")[0], message]]);
  }
  const many = Array.from({ length: 21 }, (_, at) => `filter[name]=${at}`).join("&");
  assertEquals(errorsOf(`${LIST}&${many}`), [["filter", "must be given at most 20 times"]]);
  const long = Array.from({ length: 5 }, () => `filter[path]=${"a".repeat(820)}`).join("&");
  assertEquals(errorsOf(`${LIST}&${long}`), [
    ["filter", "must have at most 4096 characters in all filters together"],
  ]);
  assertThrows(() => parseItemQuery(`${ITEM}&${many}`), CollectionsError);
  // An item's are checked even without neighbors in the request.
  for (const bad of ["sort=date", "recursive=2", "filter[size]=1"]) {
    assertEquals(badOnes(`${ITEM}&${bad}`, parseItemQuery), [bad.split("=")[0]]);
  }
});
