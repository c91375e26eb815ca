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

const BASE = "https://service.test:8080/base";
const LIST_URL = `${BASE}/api/list-collection-items`;

const character = fc.oneof(
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 1 }),
  fc.constantFrom(..."%25&=+?#;:@,<>\"' /\\.._-~^*[]{}|$!()é💥٣"),
);
const text = fc.array(character, { minLength: 1, maxLength: 12 })
  .map((parts) => parts.join("").toWellFormed());
const path = fc.array(text, { minLength: 1, maxLength: 4 })
  .map((segments) => segments.join("/"))
  .filter((path) => pathProblem(path) === null);
const repository = {
  owner: fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,38}$/),
  repo: fc.stringMatching(/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,20}x$/),
  branch: text.filter((name) => branchProblem(name) === null),
};
const list = fc.record({
  ...repository,
  collection: fc.oneof(path, fc.constant("")),
  page: fc.integer({ min: 1, max: 999_999_999 }),
  includeContent: fc.boolean(),
  filter: fc.array(
    fc.tuple(fc.constant("filter[frontMatter.a b&c]"), text),
    { minLength: 1, maxLength: 3 },
  ),
});
const item = fc.record({ ...repository, path });

Deno.test("listUrl() and itemUrl() lead back to their parameters", () => {
  fc.assert(fc.property(list, (given) => {
    const url = new URL(listUrl(BASE, given));
    assertEquals(parseListQuery(url.search.slice(1)), given);
    assertEquals(url.origin + url.pathname, LIST_URL);
  }));
  fc.assert(fc.property(item, (given) => {
    const url = new URL(itemUrl(BASE, given));
    assertEquals<unknown>(parseItemQuery(url.search.slice(1)), given);
    assertEquals(url.origin + url.pathname, `${BASE}/api/get-item-content`);
  }));
});

Deno.test("listUrl() leaves out what has no effect and keeps defaults", () => {
  const list = "owner=o&repo=r&collection=c";
  const keptOf = {
    // In the order of the document, however they were given.
    "sort=-name&x=1&limit=1&filter[name]=*.md&recursive=true":
      "page=1&limit=1&sort=-name&recursive=true&filter%5Bname%5D=*.md",
    "linkTemplate=/{slug}": "page=1",
    "fields=slug&linkTemplate=/{slug}&includeHtml=1": "page=1&fields=slug",
    "fields=slug,html&linkTemplate=/{slug}":
      "page=1&linkTemplate=%2F%7Bslug%7D&fields=html%2Cslug",
    "includeContent=1&includeFrontMatter=true&fields=name,slug,name":
      "page=1&fields=name%2Cslug",
    "branch=main&limit=50&includeContent=0":
      "branch=main&page=1&limit=50&includeContent=false",
  };
  for (const [given, kept] of Object.entries(keptOf)) {
    const url = listUrl(BASE, parseListQuery(`${list}&${given}`));
    assertEquals([given, url], [given, `${LIST_URL}?${list}&${kept}`]);
  }
});

Deno.test("responseKey() of an item is one key for equal responses", () => {
  const keyOf = (more: string) =>
    responseKey(parseItemQuery(`owner=o&repo=r&collection=c&slug=s&${more}`));
  const equal = {
    "": [
      "branch=main&format=json&recursive=1&includeHtml=0&includeNeighbors=false",
      "sort=name&recursive=0&filter[name]=*&kind=text&linkTemplate=/{slug}",
    ],
    "format=raw": [
      "includeNeighbors=1&format=raw&includeHtml=1&linkTemplate=/{slug}",
    ],
    "includeHtml=1&linkTemplate=/{slug}": [
      "includeHtml=true&linkTemplate=/{slug}&sort=size",
    ],
    "includeNeighbors=1&kind=markdown,text": [
      "includeNeighbors=1&kind=text,markdown,text",
    ],
    "includeNeighbors=1&filter[name]=a&filter[path]=b": [
      "includeNeighbors=1&filter[path]=b&filter[name]=a&filter[path]=b",
    ],
    "branch=HEAD": [],
    "sort=-path&includeNeighbors=1": [],
    "recursive=0&includeNeighbors=1": [],
  };
  const rows = Object.entries(equal);
  for (const [kept, others] of rows) {
    for (const other of others) assertEquals(keyOf(other), keyOf(kept), other);
  }
  assertEquals(new Set(rows.map(([kept]) => keyOf(kept))).size, rows.length);
});

Deno.test("responseKey() of collections is one for equal responses", () => {
  const keyOf = (more: string) =>
    responseKey(parseCollectionsQuery(`owner=o&repo=r&${more}`));
  for (const equal of ["branch=main", "path=/", "path=", "includeSchema=0"]) {
    assertEquals(keyOf(equal), keyOf(""), equal);
  }
  assertEquals(keyOf("path=/a/"), keyOf("path=a"));
  const keys = ["", "branch=HEAD", "path=a", "includeSchema=1"].map(keyOf);
  assertEquals(new Set(keys).size, 4);
});

Deno.test("linkHeader() has at most 12,288 characters", () => {
  const relations = (length: number) => {
    const url = "x".repeat(length);
    const links = { first: url, previous: null, next: url, last: url };
    const found = linkHeader(links)?.matchAll(/rel="(\w+)"/g);
    return found && [...found].map(([, relation]) => relation).join();
  };
  const most = 12_288 -
    '<>; rel="first", <>; rel="next", <>; rel="last"'.length;
  assertEquals(relations(Math.floor(most / 3)), "first,next,last");
  assertEquals(relations(Math.floor(most / 3) + 1), "next");
  assertEquals(relations(12_288 - '<>; rel="next"'.length), "next");
  assertEquals(relations(12_288), undefined);
});
