// How a query string is read: strictly, each parameter once, every bad one
// named, both sides of each bound.

import { assertEquals, assertThrows } from "@std/assert";
import openApi from "../../lib/api/openapi.json" with { type: "json" };
import {
  parseChangesQuery,
  parseCollectionsQuery,
  parseItemQuery,
  parseListQuery,
} from "../../lib/api/parameters.ts";
import { CollectionsError } from "../../lib/errors.ts";
import { countDecoding } from "../count_decoding.ts";

type Parse = (search: string) => unknown;

const LIST = "owner=o&repo=r&collection=c";

/** The bad parameters of a query with the message for each. */
function errorsOf(search: string, parse: Parse = parseListQuery) {
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

const badOnes = (search: string, parse?: Parse) =>
  errorsOf(search, parse).map(([parameter]) => parameter).join(" ");

Deno.test("parseListQuery() names every bad parameter in order", () => {
  assertEquals(badOnes(""), "owner repo collection");
  assertEquals(badOnes("", parseItemQuery), "owner repo path");
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

/** The bad parameters of queries that belong to an item. */
const BAD_OF_ITEMS = {
  "format=xml&path=/a&branch=a~1&sort=x": "branch path sort format",
  "": "path",
  "path=": "path",
  "collection=c": "slug",
  "slug=s": "collection",
  "collection=c&slug=s&path=a": "slug",
  "path=a&includeNeighbors=1": "collection",
  // Checked even without neighbors in the request.
  "path=a&recursive=2&filter[size]=1": "recursive filter[size]",
  "path=a&kind=markdown,,text": "kind",
  "path=a&collection=/": "",
  "path=a&slug=": "",
  "slug=a/b&collection=c&includeNeighbors=1": "",
};
const BAD_OF_LISTS = {
  "limit=100&includeContent=1": "",
  "limit=101&includeContent=1": "limit",
  "limit=101&includeHtml=true": "limit",
  "limit=101&includeHistory=true": "limit",
  "limit=101&fields=lastChanged": "limit",
  "limit=101&fields=slug,words": "limit",
  "limit=1000&includeContent=false": "",
  "limit=1000&includeFrontMatter=1": "",
  "limit=1000&includeContent=1&fields=slug": "",
  "limit=101&includeContent=1&page=0": "page limit",
  "limit=101&includeContent=maybe": "includeContent",
  "branch=&branch=main": "branch",
};

Deno.test("bad and contradicting parameters are named", () => {
  for (const [search, bad] of Object.entries(BAD_OF_ITEMS)) {
    const found = badOnes(`owner=o&repo=r&${search}`, parseItemQuery);
    assertEquals([search, found], [search, bad]);
  }
  for (const [search, bad] of Object.entries(BAD_OF_LISTS)) {
    assertEquals([search, badOnes(`${LIST}&${search}`)], [search, bad]);
  }
});

Deno.test("parseItemQuery() names the ways to name a file", () => {
  assertEquals(errorsOf("owner=o&repo=r", parseItemQuery), [
    ["path", "is required, or collection and slug"],
  ]);
  assertEquals(errorsOf("owner=o&repo=r&path=", parseItemQuery), [
    ["path", "must not be empty"],
  ]);
});

/** Whether the message about a query names this parameter. */
function isBad(name: string, value: string, parse: Parse): boolean {
  const query = new URLSearchParams("owner=o&repo=r");
  query.set(name, value);
  return errorsOf(`${query}`, parse).some(([bad]) => bad === name);
}

Deno.test("parameters are taken up to their documented bounds", () => {
  const parsers: [path: keyof typeof openApi.paths, Parse][] = [
    ["/api/list-collection-items", parseListQuery],
    ["/api/get-item-content", parseItemQuery],
    ["/api/list-collections", parseCollectionsQuery],
    ["/api/list-collection-changes", parseChangesQuery],
  ];
  const bounded = new Set<string>();
  for (const [path, parse] of parsers) {
    for (const { name, schema } of openApi.paths[path].get.parameters) {
      const { maximum, maxLength }: {
        maximum?: number;
        maxLength?: number;
      } = schema;
      const bound = maximum ?? maxLength;
      if (bound === undefined) continue;
      bounded.add(name);
      const filler = name === "since" ? "1" : "a";
      const start = name === "linkTemplate" ? "/{slug}" : "";
      const most = maximum ? `${maximum}` : start.padEnd(bound, filler);
      const more = maximum ? `${maximum + 1}` : start.padEnd(bound + 1, filler);
      assertEquals([name, isBad(name, most, parse)], [name, false]);
      assertEquals([name, isBad(name, more, parse)], [name, true]);
    }
  }
  assertEquals(
    [...bounded].join(),
    "owner,repo,collection,branch,page,limit,linkTemplate,search,feedTitle,path,slug,since",
  );
});

/** Nothing is clamped. Integers have plain digits only. */
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
/** It has two bytes a character. */
const WIDE = "ü".repeat(512);

const GOOD: Readonly<Record<string, readonly string[]>> = {
  collection: ["/", "//a/b//", WIDE],
  includeContent: ["0"],
  linkTemplate: ["https://site.test/{slug}#x"],
  search: ["a ".repeat(32), '" OR *'],
  fields: ["slug,frontMatter.a.b,words"],
  facets: ["frontMatter.a,frontMatter.b,frontMatter.a"],
  path: ["...", "a\\b:c*?"],
  format: ["raw"],
};
const BAD: Readonly<Record<string, readonly string[]>> = {
  repo: ["..", "a.git"],
  collection: ["a//b", "a/../b", "./a", "a\u0085", `${WIDE}a`],
  page: NO_INTEGERS,
  limit: NO_INTEGERS,
  includeContent: ["TRUE"],
  linkTemplate: [
    "javascript:{slug}",
    "{slug}:x",
    "/a b/{slug}",
    "/{slug}/{slug}",
  ],
  search: ["a ".repeat(33), "京".repeat(129)],
  fields: ["slug,,size", "frontMatter."],
  facets: [[..."123456"].map((n) => `frontMatter.${n}`).join()],
  path: ["a/", "../a", "a\u0000b"],
  format: ["RAW"],
};

for (const [table, expected] of [[GOOD, false], [BAD, true]] as const) {
  Deno.test(`${expected ? "bad" : "good"} forms of a parameter are told`, () => {
    for (const [name, values] of Object.entries(table)) {
      const isOfItem = name === "path" || name === "format";
      for (const value of values) {
        const parse = isOfItem ? parseItemQuery : parseListQuery;
        const found = isBad(name, value, parse);
        assertEquals([name, value, found], [name, value, expected]);
      }
    }
  });
}

Deno.test("a parameter is given once, and a required one is not empty", () => {
  for (const name of ["collection", "limit", "sort"]) {
    const twice = `${LIST}&limit=1&sort=path&${name}=1`;
    assertEquals(errorsOf(twice), [[name, "must be given once"]]);
  }
  assertEquals(errorsOf("owner=o&repo=r&collection="), [
    ["collection", "must not be empty"],
  ]);
  const empty =
    `${LIST}&branch=&page=&includeContent=&fields=&filter[name]=&facets=`;
  assertEquals(parseListQuery(empty), parseListQuery(LIST));
});

Deno.test("a known parameter that cannot be decoded is bad", () => {
  for (const value of "% %f %zz %ff %c3 %c0%af %ed%a0%80 a%".split(" ")) {
    assertEquals(errorsOf(`owner=o&repo=r&collection=${value}`), [
      ["collection", "has an escape that is no UTF-8 text"],
    ]);
    assertEquals(badOnes(`${LIST}&unknown=${value}&${value}=1`), "");
    assertEquals(badOnes(`${LIST}&filter[path]=${value}`), "filter[path]");
  }
  const query = "owner=o&%72epo=r&collection=a+b%2Bc&Page=7";
  assertEquals(parseListQuery(query), {
    owner: "o",
    repo: "r",
    collection: "a b+c",
    page: 1,
    ignored: ["Page"],
  });
});

Deno.test("an address has at most 100 parameters", () => {
  using decoding = countDecoding();
  const more = (count: number) => LIST + "&".repeat(count - 1) + "%zz=1";
  assertEquals(badOnes(more(98)), "");
  // Malformed escapes are found without exceptions.
  assertEquals(decoding.failed, 0);
  const { calls } = decoding;

  assertEquals(errorsOf(more(99)), [
    ["query", "must have at most 100 parameters, separated by &"],
  ]);

  assertEquals([calls > 0, decoding.calls], [true, calls]);
});

Deno.test("at most 20 bad parameters are named, each in 80 characters", () => {
  const filters = Array.from({ length: 90 }, (_, n) => `&filter[${n}]=%zz`);
  const long = `&filter[${"x".repeat(1000)}]=%zz`;
  const { facts } = assertThrows(
    () => parseListQuery(`${LIST}${long}${filters.join("")}`),
    CollectionsError,
    "UTF-8 text; and 71 more.",
  );
  const names = facts.errors!.map(({ parameter }) => parameter);
  assertEquals([names.length, names[0]], [20, `filter[${"x".repeat(73)}…`]);
});

Deno.test("bad filters and sorts are named as they were given", () => {
  const filters =
    "must be filter[name], filter[path], filter[frontMatter.<key>] or " +
    "filter[data.<key>], each also with [contains], the last two also with " +
    "[lt|lte|gt|gte|exists]";
  const names =
    "filter|filter[]|filter[title]|filter[frontMatter]|filter[name|filter[name][gt]|filter[frontMatter.a]x|" +
    "filter[frontMatter.a][GT]|filter[frontMatter.a][gt][gt]";
  for (const name of names.split("|")) {
    assertEquals(errorsOf(`${LIST}&${name}=x`), [[name, filters]]);
  }
  const messages = {
    "filter[frontMatter.a][exists]=1": "must be true or false",
    "filter[path]=a//b":
      'must be a glob that can match: a segment of it is empty, "." or ".."',
    "filter[name]=a/b": "must be a glob without a slash: a name has none",
    "sort=date":
      'must be path, name, size, lastChanged.date, frontMatter.<key> or data.<key>, with "-" in front for descending',
  };
  for (const [query, message] of Object.entries(messages)) {
    assertEquals(errorsOf(`${LIST}&${query}`), [[
      query.split("=")[0],
      message,
    ]]);
  }
  assertEquals(badOnes(`${LIST}&filter[frontMatter.a[0]]=x`), "");
  // By characters, as people count them.
  const most = `${LIST}&filter[frontMatter.a]=${"😀".repeat(4_096)}`;
  assertEquals(badOnes(most), "");
  assertEquals(errorsOf(`${most}&filter[name]=a`), [
    ["filter", "must have at most 4096 characters in all filters together"],
  ]);
  assertEquals(errorsOf(LIST + "&filter[name]=a".repeat(21)), [[
    "filter",
    "must be given at most 20 times",
  ]]);
});
