// How a query string is read: strictly, each parameter once, every bad one
// named, both sides of each bound.

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { parseItemQuery, parseListQuery } from "../../lib/api/parameters.ts";
import { CollectionsError } from "../../lib/errors.ts";
import { countDecoding } from "../count_decoding.ts";

const LIST = "owner=o&repo=r&collection=c";
const ITEM = "owner=o&repo=r&path=a";

/** The bad parameters of a query with the message for each. */
function errorsOf(
  search: string,
  parse: (search: string) => unknown = parseListQuery,
) {
  try {
    parse(search);
    return [];
  } catch (error) {
    if (!(error instanceof CollectionsError)) throw error;
    assertEquals(error.code, "invalid-parameters");
    return error.facts.errors!.map((
      { parameter, message },
    ) => [parameter, message]);
  }
}

const badOnes = (search: string, parse?: (search: string) => unknown) =>
  errorsOf(search, parse).map(([parameter]) => parameter).join(" ");

Deno.test("parseListQuery() names every bad parameter in order", () => {
  assertEquals(badOnes(""), "owner repo collection");
  const worst =
    "includeContent=yes&limit=1e3&page=0&branch=a..b&collection=a//b&repo=.git&owner=-x" +
    "&facets=x&fields=x&kind=images&search=" + "x".repeat(1_001) +
    "&types=x&filter[x]=1&filter[name]=a/b&recursive=maybe&sort=date&linkTemplate=x&includeHtml=2&includeHistory=no";
  assertEquals(
    badOnes(worst),
    "owner repo collection branch page limit includeContent includeHtml includeHistory linkTemplate sort recursive " +
      "filter[x] filter[name] kind search types fields facets",
  );
});

Deno.test("parseItemQuery() names bad and contradicting parameters", () => {
  assertEquals(badOnes("", parseItemQuery), "owner repo path");
  const rows: [search: string, bad: string][] = [
    ["format=xml&path=/a&branch=a~1&sort=x", "branch path sort format"],
    ["path=", "path"],
    ["collection=c", "slug"],
    ["slug=s", "collection"],
    ["collection=c&slug=s&path=a", "slug"],
    ["path=a&includeNeighbors=1", "collection"],
    // Checked even without neighbors in the request.
    [
      "path=a&sort=date&recursive=2&filter[size]=1",
      "sort recursive filter[size]",
    ],
    ["path=a&kind=markdown,,text", "kind"],
    ["path=a&collection=/", ""],
    ["path=a&slug=", ""],
    ["slug=a&collection=/", ""],
    ["slug=a/b&collection=c&includeNeighbors=1", ""],
  ];
  for (const [search, bad] of rows) {
    assertEquals(
      [search, badOnes(`owner=o&repo=r&${search}`, parseItemQuery)],
      [search, bad],
    );
  }
});

/**
 * Nothing is clamped, and no integer is written in another way than in plain
 * digits.
 */
const NO_INTEGERS = [
  "0",
  "-1",
  "+1",
  "01",
  "1.0",
  "1e2",
  "0x1",
  " ",
  "1 ",
  "1_0",
  "Infinity",
  "٣",
];
const SIX_FACETS = [1, 2, 3, 4, 5, 6].map((n) => `frontMatter.${n}`).join();
/** Text of two bytes a character. */
const wide = (characters: number) => "ü".repeat(characters);

const BOUNDS: readonly [name: string, good: string[], bad: string[]][] = [
  ["owner", ["a".repeat(39)], ["a".repeat(40)]],
  ["repo", ["a".repeat(100)], ["a".repeat(101), "..", "a.git"]],
  ["collection", [wide(512), "/", "//a/b//"], [
    wide(512) + "a",
    "a//b",
    "a/../b",
    "./a",
    "a\u0085",
  ]],
  ["branch", [wide(127) + "a"], [wide(128)]],
  ["page", ["999999999"], ["1000000000", ...NO_INTEGERS]],
  ["limit", ["1000"], ["1001", ...NO_INTEGERS]],
  ["includeContent", ["0"], ["TRUE"]],
  [
    "linkTemplate",
    [`/${"a".repeat(193)}{slug}`, "https://site.test/{slug}#x"],
    [
      `/${"a".repeat(194)}{slug}`,
      "javascript:{slug}",
      "{slug}:x",
      "/a b/{slug}",
      "/{slug}/{slug}",
    ],
  ],
  ["search", ["x".repeat(1_000), "a ".repeat(32), '" OR *'], [
    "x".repeat(1_001),
    "a ".repeat(33),
  ]],
  ["fields", ["slug,frontMatter.a.b,words"], ["slug,,size", "frontMatter."]],
  ["facets", ["frontMatter.a,frontMatter.b,frontMatter.a"], [SIX_FACETS]],
  ["path", [wide(2048), "...", "a\\b:c*?"], [
    wide(2048) + "a",
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
      const found = badOnes(
        query.toString(),
        isItem ? parseItemQuery : parseListQuery,
      );
      assertEquals([name, value, found], [
        name,
        value,
        good.includes(value) ? "" : name,
      ]);
    }
  }
});

Deno.test("limit is at most 100 with content or HTML", () => {
  for (
    const more of [
      "includeContent=1",
      "includeHtml=true",
      "includeHistory=true",
      "fields=lastChanged",
      "fields=body",
      "fields=slug,words",
    ]
  ) {
    assertEquals([more, badOnes(`${LIST}&limit=100&${more}`)], [more, ""]);
    assertEquals([more, badOnes(`${LIST}&limit=101&${more}`)], [more, "limit"]);
  }
  const rows: [search: string, bad: string][] = [
    ["limit=1000&includeContent=false", ""],
    ["limit=1000&includeFrontMatter=1", ""],
    ["limit=1000&includeContent=1&fields=slug", ""],
    ["limit=101&includeContent=1&page=0", "page limit"],
    ["limit=101&includeContent=maybe", "includeContent"],
  ];
  for (const [search, bad] of rows) {
    assertEquals([search, badOnes(`${LIST}&${search}`)], [search, bad]);
  }
});

Deno.test("a parameter is given once, and a required one is not empty", () => {
  for (
    const name of ["owner", "collection", "branch", "limit", "sort", "fields"]
  ) {
    const twice = `${LIST}&branch=b&limit=1&sort=path&fields=slug&${name}=1`;
    assertEquals(errorsOf(twice), [[name, "must be given once"]]);
  }
  assertEquals(badOnes(`${LIST}&branch=&branch=main`), "branch");
  const messages = ["owner", "repo", "collection"].map((
    name,
  ) => [name, "must not be empty"]);
  assertEquals(errorsOf("owner=&repo=&collection="), messages);
  const empty =
    `${LIST}&branch=&page=&includeContent=&fields=&filter[name]=&facets=`;
  assertEquals(parseListQuery(empty), {
    owner: "o",
    repo: "r",
    collection: "c",
    page: 1,
  });
});

Deno.test("a known parameter that cannot be decoded is bad", () => {
  for (
    const value of ["%", "%f", "%zz", "%ff", "%c3", "%c0%af", "%ed%a0%80", "a%"]
  ) {
    assertEquals(errorsOf(`owner=o&repo=r&collection=${value}`), [
      ["collection", "has an escape that is no UTF-8 text"],
    ]);
    assertEquals(badOnes(`${LIST}&unknown=${value}&${value}=1`), "");
    assertEquals(badOnes(`${LIST}&filter[path]=${value}`), "filter[path]");
  }
  const query =
    "owner=o&%72epo=r&collection=a+b%2Bc&Page=7&__proto__=1&constructor";
  assertEquals(parseListQuery(query), {
    owner: "o",
    repo: "r",
    collection: "a b+c",
    page: 1,
    ignored: ["Page", "__proto__", "constructor"],
  });
});

Deno.test("an address has at most 100 parameters", () => {
  using decoding = countDecoding();
  const more = (count: number) => LIST + "&".repeat(count - 1) + "%zz=1";
  assertEquals(badOnes(more(98)), "");
  assertEquals(decoding.failed, 0);
  const { calls } = decoding;

  assertEquals(errorsOf(more(99)), [
    ["query", "must have at most 100 parameters, separated by &"],
  ]);
  assertEquals(badOnes(more(60_000), parseItemQuery), "query");

  assertEquals([calls > 0, decoding.calls], [true, calls]);
});

Deno.test("malformed escapes are found without exceptions", () => {
  using decoding = countDecoding();
  for (const bad of ["%zz", "%", "%c3", "%ff%fe"]) {
    badOnes(
      `${LIST}&branch=${bad.repeat(1000)}${
        `&${bad}=1&filter[path]=${bad}`.repeat(45)
      }`,
    );
  }
  assertEquals(decoding.failed, 0);
});

Deno.test("at most 20 bad parameters are named, each in 80 characters", () => {
  const filters = Array.from({ length: 90 }, (_, n) => `&filter[${n}]=%zz`)
    .join("");
  const long = `&filter[${"x".repeat(1000)}]=%zz`;
  const error = assertThrows(
    () => parseListQuery(`${LIST}${long}${filters}`),
    CollectionsError,
  );
  const names = error.facts.errors!.map(({ parameter }) => parameter);
  assertEquals([names.length, names[0]], [20, `filter[${"x".repeat(73)}…`]);
  assertStringIncludes(error.detail, "UTF-8 text; and 71 more.");
});

Deno.test("bad filters and sorts are named as they were given", () => {
  const filters =
    "must be filter[name], filter[path], filter[frontMatter.<key>] or " +
    "filter[data.<key>], each also with [contains], the last two also with " +
    "[lt|lte|gt|gte|exists]";
  const rows: [query: string, message: string][] = [
    ["filter=x", filters],
    ["filter[]=x", filters],
    ["filter[title]=x", filters],
    ["filter[frontMatter]=x", filters],
    ["filter[name=x", filters],
    ["filter[name][gt]=x", filters],
    ["filter[frontMatter.a]x=x", filters],
    ["filter[frontMatter.a][GT]=x", filters],
    ["filter[frontMatter.a][gt][gt]=x", filters],
    ["filter[frontMatter.a][exists]=1", "must be true or false"],
    [
      "filter[path]=a//b",
      'must be a glob that can match: a segment of it is empty, "." or ".."',
    ],
    ["filter[name]=a/b", "must be a glob without a slash: a name has none"],
    [
      "sort=date",
      'must be path, name, size, lastChanged.date, frontMatter.<key> or data.<key>, with "-" in front for descending',
    ],
  ];
  for (const [query, message] of rows) {
    assertEquals(errorsOf(`${LIST}&${query}`), [[
      query.split("=")[0],
      message,
    ]]);
  }
  assertEquals(badOnes(`${LIST}&filter[frontMatter.a[0]]=x`), "");
  // By characters, as people count them.
  assertEquals(
    badOnes(`${LIST}&filter[frontMatter.a]=${"😀".repeat(4_096)}`),
    "",
  );
  const many = "&filter[name]=a".repeat(21);
  const long = `&filter[path]=${"a".repeat(820)}`.repeat(5);
  assertEquals(errorsOf(LIST + many), [[
    "filter",
    "must be given at most 20 times",
  ]]);
  assertEquals(errorsOf(LIST + long), [
    ["filter", "must have at most 4096 characters in all filters together"],
  ]);
});
