// From a query string to checked parameters; hits never come this way.

import { parseListQuery } from "../lib/api/list_query.ts";
import { itemParameters } from "../lib/api/parameters.ts";
import { parseQuery } from "../lib/api/query.ts";

const few = "owner=withastro&repo=docs&collection=posts";
const many =
  `${few}&branch=release%2F2.0&page=12&limit=100&includeFrontMatter=true&sort=-frontMatter.date`;
const filtered = `${few}&filter%5Bname%5D=*.md&filter%5BfrontMatter.draft%5D=false`;
const item = "owner=withastro&repo=docs&path=src%2Fcontent%2Fposts%2F2026%2Fhello%20world.md";
const bad = "owner=with astro&repo=..&collection=a//b&page=0&limit=1e2";

Deno.bench("parseListQuery() of 3 parameters", { group: "parameters", baseline: true }, () => {
  parseListQuery(few);
});

Deno.bench("parseListQuery() of 8 parameters", { group: "parameters" }, () => {
  parseListQuery(many);
});

Deno.bench("parseListQuery() of 2 filters", { group: "parameters" }, () => {
  parseListQuery(filtered);
});

Deno.bench("parseQuery() of an item", { group: "parameters" }, () => {
  parseQuery(item, itemParameters);
});

Deno.bench("parseListQuery() of 5 bad parameters", { group: "parameters" }, () => {
  try {
    parseListQuery(bad);
  } catch {
    // That it throws is what it is measured for.
  }
});
