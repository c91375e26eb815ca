import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { branchProblem, pathProblem } from "../../lib/api/names.ts";
import {
  itemUrl,
  linkHeader,
  listUrl,
  parseCollectionsQuery,
  parseItemQuery,
  parseListQuery,
  responseKey,
} from "../../lib/api/parameters.ts";
import { CollectionsError } from "../../lib/errors.ts";

const BASE = "https://service.test:8080/base";

const character = fc.oneof(
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 1 }),
  fc.constantFrom(..."%25&=+?#;:@,<>\"' /\\.._-~^*[]{}|$!()é💥٣".split("")),
);
const text = fc.array(character, { minLength: 1, maxLength: 12 }).map((parts) =>
  parts.join("").toWellFormed()
);
const path = fc.array(text, { minLength: 1, maxLength: 4 }).map((segments) =>
  segments.join("/")
)
  .filter((path) => pathProblem(path) === null);
const ofBoth = {
  owner: fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,38}$/),
  repo: fc.stringMatching(/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,20}x$/),
  branch: text.filter((name) => branchProblem(name) === null),
};
const filterName = fc.constantFrom(
  "filter[name]",
  "filter[path]",
  "filter[frontMatter.a b&c]",
);
const list = fc.record({
  ...ofBoth,
  collection: fc.oneof(path, fc.constant("")),
  page: fc.integer({ min: 1, max: 999_999_999 }),
  limit: fc.integer({ min: 1, max: 100 }),
  includeContent: fc.boolean(),
  includeFrontMatter: fc.boolean(),
  recursive: fc.boolean(),
  filter: fc.array(fc.tuple(filterName, text), { minLength: 1, maxLength: 3 }),
}, { requiredKeys: ["owner", "repo", "collection", "page"] });
const item = fc.record(
  { ...ofBoth, path, format: fc.constant("raw" as const) },
  { requiredKeys: ["owner", "repo", "path"] },
);

Deno.test("listUrl() carries known parameters in the table's order", () => {
  const given =
    "sort=-frontMatter.title&x=1&limit=1&includeFrontMatter=1&recursive=true" +
    "&filter[name]=*.md&repo=site&filter[frontMatter.tags]=!a%26b%3D%25%2B&collection=/&owner=octo";
  assertEquals(
    listUrl(BASE, parseListQuery(given)),
    `${BASE}/api/list-collection-items?owner=octo&repo=site&collection=%2F&page=1&limit=1` +
      "&includeFrontMatter=true&sort=-frontMatter.title&recursive=true" +
      "&filter%5Bname%5D=*.md&filter%5BfrontMatter.tags%5D=!a%26b%3D%25%2B",
  );
});

Deno.test("listUrl() leads back to the parameters that it was made of", () => {
  const check = (given: Parameters<typeof listUrl>[1]) => {
    const url = new URL(listUrl(BASE, given));
    let parsed;
    try {
      parsed = parseListQuery(url.search.slice(1));
    } catch (error) {
      // The text of a filter may be no glob.
      if (error instanceof CollectionsError && given.filter !== undefined) {
        return;
      }
      throw error;
    }
    assertEquals(parsed, given);
    assertEquals(
      url.origin + url.pathname,
      `${BASE}/api/list-collection-items`,
    );
  };
  fc.assert(fc.property(list, check), { numRuns: 300 });
});

Deno.test("itemUrl() leads back to the parameters that it was made of", () => {
  fc.assert(fc.property(item, (given) => {
    const url = new URL(itemUrl(BASE, given));
    assertEquals<unknown>(parseItemQuery(url.search.slice(1)), given);
    assertEquals(url.origin + url.pathname, `${BASE}/api/get-item-content`);
  }));
});

Deno.test("listUrl() leaves out what has no effect and keeps defaults", () => {
  const list = "owner=o&repo=r&collection=c";
  const rows: [given: string, kept: string][] = [
    ["linkTemplate=/{slug}", "page=1"],
    ["fields=slug&linkTemplate=/{slug}&includeHtml=1", "page=1&fields=slug"],
    [
      "fields=slug,html&linkTemplate=/{slug}",
      "page=1&linkTemplate=%2F%7Bslug%7D&fields=html%2Cslug",
    ],
    [
      "includeContent=1&includeHtml=0&includeFrontMatter=true&fields=name,slug,name",
      "page=1&fields=name%2Cslug",
    ],
    [
      "branch=main&limit=50&includeContent=0&sort=path&recursive=1",
      "branch=main&page=1&limit=50&includeContent=false&sort=path&recursive=true",
    ],
  ];
  for (const [given, kept] of rows) {
    const url = listUrl(BASE, parseListQuery(`${list}&${given}`));
    assertEquals([given, url], [
      given,
      `${BASE}/api/list-collection-items?${list}&${kept}`,
    ]);
  }
});

Deno.test("responseKey() of an item is one key for equal responses", () => {
  const item = "owner=o&repo=r&collection=c&slug=s";
  const html = `${item}&includeHtml=true`;
  const neighbors = `${item}&includeNeighbors=1`;
  const rows: [kept: string, equal: string[]][] = [
    [
      item,
      [
        "branch=main&format=json&recursive=1&sort=path&includeHtml=0&includeNeighbors=false",
        "sort=name&recursive=0&filter[name]=*&kind=text&linkTemplate=/{slug}",
      ].map((more) => `${item}&${more}`),
    ],
    [`${item}&format=raw`, [
      `${neighbors}&format=raw&includeHtml=1&linkTemplate=/{slug}&branch=main`,
    ]],
    [`${html}&linkTemplate=/{slug}`, [
      `${html}&linkTemplate=/{slug}&sort=size`,
    ]],
    [`${neighbors}&kind=markdown,text`, [
      `${neighbors}&kind=text,markdown,text`,
    ]],
    [`${neighbors}&filter[name]=a&filter[path]=b`, [
      `${neighbors}&sort=path&filter[name]=a&recursive=true&filter[path]=b`,
    ]],
    ...[
      "branch=HEAD",
      "sort=-path&includeNeighbors=1",
      "recursive=0&includeNeighbors=1",
    ]
      .map((more): [string, string[]] => [`${item}&${more}`, []]),
  ];
  const keyOf = (given: string) => responseKey(parseItemQuery(given));
  const keys = rows.map(([kept, equal]) => {
    for (const given of equal) {
      assertEquals([given, keyOf(given)], [given, keyOf(kept)]);
    }
    return keyOf(kept);
  });
  assertEquals(new Set(keys).size, rows.length);
});

Deno.test("responseKey() of collections is one for equal responses", () => {
  const keyOf = (more: string) =>
    responseKey(parseCollectionsQuery(`owner=o&repo=r&${more}`));
  for (const equal of ["branch=main", "path=/", "path=", "includeSchema=0"]) {
    assertEquals(keyOf(equal), keyOf(""));
  }
  assertEquals(keyOf("path=/a/"), keyOf("path=a"));
  const keys = ["", "branch=HEAD", "path=a", "includeSchema=1"].map(keyOf);
  assertEquals(new Set(keys).size, 4);
});

Deno.test("linkHeader() has at most 12,288 characters", () => {
  const relations = (length: number) => {
    const url = "x".repeat(length);
    const header = linkHeader({
      first: url,
      previous: null,
      next: url,
      last: url,
    });
    return header &&
      [...header.matchAll(/rel="(\w+)"/g)].map(([, relation]) => relation)
        .join();
  };
  const rest = '<>; rel="first", <>; rel="next", <>; rel="last"'.length;
  const lengths = [
    (12_288 - rest) / 3,
    (12_288 - rest) / 3 + 1,
    12_288 - '<>; rel="next"'.length,
  ];
  assertEquals(lengths.map(Math.floor).map(relations), [
    "first,next,last",
    "next",
    "next",
  ]);
  assertEquals(relations(12_288), null);
});
