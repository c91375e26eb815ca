// Data files as collections: the rows of CSV, TSV, JSON, JSON Lines, YAML and
// TOML, and what can be done with them.

import { assert, assertEquals, assertMatch } from "@std/assert";
import Papa from "papaparse";
import { listPath, type Parameters } from "../service.ts";
import { startSite } from "../site.ts";

const MEMBERS = `name,team,joined
Ann,core,2024-03-01
Bob,"docs, web",2023-01-15
Cy,core,2025-07-30
`;

/** The values of each row. */
const cellsOf = (body: { items: { data?: unknown }[] }) =>
  body.items.map(({ data }) => Object.values(data as object));

const CSV_SHAPES = {
  "plain": "a,b\n1,2\n3,4\n",
  "no final line break": "a,b\n1,2",
  "CRLF": "a,b\r\n1,2\r\n3,4\r\n",
  "CR": "a,b\r1,2\r3,4\r",
  "byte order mark": "\ufeffa,b\n1,2\n",
  "byte order mark and quotes": '\ufeff"a","b"\n1,2\n',
  "quoted comma": 'a,b\n"1,1",2\n',
  "quoted line break": 'a,b\n"1\n1",2\n',
  "quoted CRLF": 'a,b\r\n"1\r\n1",2\r\n',
  "doubled quotes": 'a,b\n"say ""hi""",2\n',
  "only quotes": 'a,b\n"","""",""""""\n',
  "quoted empty": 'a,b\n"",""\n',
  "empty cells": "a,b,c\n,,\n1,,3\n",
  "empty lines": "a,b\n\n1,2\n\n\n3,4\n",
  "header alone": "a,b\n",
  "empty file": "",
  "spaces": "a,b\n 1 , 2 \n",
  "one column": "a\n1\n2\n",
  "duplicate header": "a,a,a\n1,2,3\n",
  "empty header": ",b,\n1,2,3\n",
  "wide header": `${Array.from({ length: 2_000 }, (_, n) => `c${n}`)}\n${
    Array.from({ length: 2_000 }, (_, n) => n)
  }\n`,
  "short rows": "a,b,c\n1\n1,2\n",
  "long rows": "a\n1,2,3\n1,2\n",
  "Unicode": "naïve,名前\n🎉,Zoë\n",
  "formulas": 'a,b\n=1+1,"@x"\n',
};

Deno.test("the cells of CSV are those of a second parser", async () => {
  const names = Object.keys(CSV_SHAPES) as (keyof typeof CSV_SHAPES)[];
  await using site = await startSite(
    Object.fromEntries(
      names.map((name, at) => [`${at}.csv`, CSV_SHAPES[name]]),
    ),
  );
  for (const [at, name] of names.entries()) {
    const { data } = Papa.parse<string[]>(
      CSV_SHAPES[name].replace("\ufeff", ""),
      { delimiter: ",", skipEmptyLines: true },
    );
    const body = await site.service.list({ collection: `${at}.csv` });
    assertEquals([name, cellsOf(body)], [name, data.slice(1)]);
  }
});

Deno.test("a column has the name of its header or its own", async () => {
  await using site = await startSite({
    "a.csv": "a,a,,__proto__, constructor \n1,2,3,4,5,6\n",
  });
  const { items } = await site.service.list({ collection: "a.csv" });
  assertEquals(Object.entries(items[0]!.data as object), [
    ["a", "1"],
    ["a_2", "2"],
    ["column3", "3"],
    ["__proto__", "4"],
    ["constructor", "5"],
    ["column6", "6"],
  ]);
});

Deno.test("a data file is a list of rows with an index and data", async () => {
  await using site = await startSite({ "data/members.csv": MEMBERS });
  const body = await site.service.list({ collection: "data/members.csv" });
  assertEquals(body.collection, {
    name: "data/members.csv",
    path: "data/members.csv",
  });
  assertEquals(body.items[1] as unknown, {
    index: 1,
    data: { name: "Bob", team: "docs, web", joined: "2023-01-15" },
  });
  assertEquals(body.pagination.totalItems, 3);
});

Deno.test("rows are sorted, filtered, counted, searched and paged", async () => {
  await using site = await startSite({ "m.csv": MEMBERS });
  const rows: { given: Parameters; names: string[] }[] = [
    { given: { sort: "-data.joined" }, names: ["Cy", "Ann", "Bob"] },
    { given: { sort: "-path" }, names: ["Cy", "Bob", "Ann"] },
    { given: { "filter[data.team]": "core" }, names: ["Ann", "Cy"] },
    { given: { "filter[data.joined][lt]": "2024-01-01" }, names: ["Bob"] },
    { given: { "filter[frontMatter.team]": "core" }, names: [] },
    { given: { limit: 2, page: 2 }, names: ["Cy"] },
    { given: { search: "core an" }, names: ["Ann"] },
    { given: { search: "core", sort: "-data.name" }, names: ["Cy", "Ann"] },
    { given: { search: "core", "filter[data.name]": "Cy" }, names: ["Cy"] },
  ];
  for (const { given, names } of rows) {
    const { items } = await site.service.list({
      collection: "m.csv",
      ...given,
    });
    const found = items.map(({ data }) => (data as { name: string }).name);
    assertEquals([given, found], [given, names]);
  }
  const { items, facets } = await site.service.list({
    collection: "m.csv",
    search: "web",
    fields: "data.name,match",
    facets: "data.team",
  });
  assertEquals(facets, { "data.team": [{ value: "docs, web", count: 1 }] });
  const [{ match, ...item }] = items as [typeof items[0]];
  assertEquals(item as unknown, { data: { name: "Bob" } });
  assertMatch(match!.snippet, /docs, <mark>web<\/mark>/);
});

Deno.test("types=infer makes values of cells that look like them", async () => {
  await using site = await startSite({
    "a.csv":
      'v\n1\n-2.5\n1e3\n007\ntrue\nTRUE\n9007199254740993\n1e999\n0x10\n""\n',
  });
  const dataOf = async (given: Parameters) =>
    cellsOf(await site.service.list({ collection: "a.csv", ...given })).flat();
  assertEquals(await dataOf({ types: "infer" }), [
    1,
    -2.5,
    1000,
    "007",
    true,
    "TRUE",
    "9007199254740993",
    "1e999",
    "0x10",
    null,
  ]);
  assertEquals((await dataOf({})).slice(0, 2), ["1", "-2.5"]);
});

Deno.test("lists and mappings of other formats are rows too", async () => {
  const list = [{ index: 0, data: { n: 1 } }, { index: 1, data: [2] }];
  const entries = [
    { index: 0, key: "a", data: { n: 1 } },
    { index: 1, key: "__proto__", data: 2 },
  ];
  const rows = [
    { path: "a.json", text: '[{"n":1},[2]]', items: list },
    {
      path: "b.json",
      text: '\ufeff{"a":{"n":1},"__proto__":2}',
      items: entries,
    },
    { path: "c.json", text: '{"items":[{"n":1},[2]]}', items: list },
    { path: "d.jsonl", text: '{"n":1}\r\n\n[2]\n', items: list },
    { path: "e.yaml", text: "- n: 1\n- [2]\n", items: list },
    { path: "f.yml", text: "a: {n: 1}\n__proto__: 2\n", items: entries },
    { path: "g.toml", text: "__proto__ = 2\n[a]\nn = 1\n", items: null },
    { path: "h.toml", text: "[[m]]\nn = 1\n", items: list.slice(0, 1) },
    {
      path: "i.tsv",
      text: "n\tm\n1,1\t2\n",
      items: [{ index: 0, data: { n: "1,1", m: "2" } }],
    },
    { path: "j.json", text: "[]", items: [] },
  ];
  await using site = await startSite(
    Object.fromEntries(rows.map(({ path, text }) => [path, text])),
  );
  for (const { path, items } of rows) {
    const body = await site.service.list({ collection: path });
    if (items !== null) assertEquals([path, body.items], [path, items]);
    else assertEquals(body.items.length, 2);
  }
});

Deno.test("a data file without a list is an error that names the line", async () => {
  const rows = [
    { path: "a.json", text: "1", line: 1 },
    { path: "b.json", text: "[\n1,\n}", line: 1 },
    { path: "c.jsonl", text: "1\n{\n", line: 2 },
    { path: "i.jsonl", text: "1\n{x\n", line: 2 },
    { path: "j.json", text: '[\n{"a":1,\n"b" 2}\n]', line: 3 },
    { path: "d.yaml", text: "a: 1\nb: [\n", line: 3 },
    { path: "i.yaml", text: "a: 1\n]\n---\nb: 1\n", line: 2 },
    { path: "e.csv", text: 'a,b\n1,2\n3,"x\n', line: 3 },
    { path: "f.csv", text: "\0", line: 1 },
    { path: "g.json", text: "[".repeat(100_000), line: 1 },
    { path: "h.json", text: "[".repeat(1_000) + "]".repeat(1_000), line: 1 },
  ];
  await using site = await startSite(
    Object.fromEntries(rows.map(({ path, text }) => [path, text])),
  );
  for (const { path, line } of rows) {
    const { code, detail } = await site.service.problem(
      listPath({ collection: path }),
    );
    assertEquals([path, code], [path, "collection-not-found"]);
    const end = line > 1 ? `\\(line ${line}\\)\\.` : "\\.";
    assertMatch(detail, new RegExp(`^"${path}" .*${end}$`));
  }
});

Deno.test("rows have no names, paths and sizes to sort or filter by", async () => {
  await using site = await startSite({ "m.csv": MEMBERS });
  for (const sort of ["size", "-lastChanged.date"]) {
    const { code, errors } = await site.service.problem(
      listPath({ collection: "m.csv", sort, "filter[name]": "*" }),
    );
    assertEquals(code, "invalid-parameters");
    assertEquals(errors?.map(({ parameter }) => parameter), [
      "filter[name]",
      "sort",
    ]);
  }
});

Deno.test("200,000 rows are listed, one more is an error", async () => {
  const rows = Array.from(
    { length: 200_000 },
    (_, n) => `${n},Name ${n % 997}`,
  );
  const text = `id,name\n${rows.join("\n")}\n`;
  await using site = await startSite({
    "most.csv": text,
    "more.csv": `${text}x,y\n`,
    "large.csv": "x".repeat((10 << 20) + 1),
  });
  const { pagination, items } = await site.service.list({
    collection: "most.csv",
    types: "infer",
    sort: "-data.id",
    limit: 1,
  });
  assertEquals(pagination.totalItems, 200_000);
  assertEquals(items.map(({ index }) => index), [199_999]);
  const found = await site.service.list({
    collection: "most.csv",
    search: "name 996",
    limit: 1,
  });
  assert(found.pagination.totalItems >= 200);
  for (const collection of ["more.csv", "large.csv"]) {
    const { code } = await site.service.problem(listPath({ collection }));
    assertEquals([collection, code], [collection, "collection-too-large"]);
  }
});

Deno.test("the ETag of rows changes with the file", async () => {
  await using site = await startSite({ "m.csv": MEMBERS });
  const path = listPath({ collection: "m.csv" });
  const first = await site.service.get(path);
  const again = await site.service.get(path, {
    headers: { "if-none-match": first.headers.get("etag")! },
  });
  await site.push({ "m.csv": `${MEMBERS}Di,web,2026-01-01\n` });
  const changed = await site.service.list({ collection: "m.csv" });
  assertEquals(again.status, 304);
  assertEquals(changed.items.length, 4);
  await first.body?.cancel();
});

Deno.test("JSON, YAML and TOML files in a folder have data", async () => {
  await using site = await startSite({
    "posts/a.json": '{"n": 1, "deep": {"x": true}}',
    "posts/a.txt": '{"n": 1, "deep": {"x": true}}',
    "posts/b.yml": "- 1\n",
    "posts/c.toml": "n = 3\n",
    "posts/d.md": "---\nn: 4\n---\n",
    "posts/e.json": "{",
    "posts/f.yaml": "---\nn: 5\n---\ntext",
  });
  const { items } = await site.service.list({ includeFrontMatter: true });
  const found = items.map(({ slug, data, frontMatter, frontMatterError }) => [
    slug,
    data,
    frontMatter,
    frontMatterError !== undefined,
  ]);
  assertEquals(found, [
    ["a", { n: 1, deep: { x: true } }, undefined, false],
    ["a", undefined, undefined, false],
    ["b", [1], undefined, false],
    ["c", { n: 3 }, undefined, false],
    ["d", undefined, { n: 4 }, false],
    ["e", undefined, undefined, true],
    ["f", undefined, { n: 5 }, false],
  ]);
  const selected = await site.service.list({
    "filter[data.n][gte]": 0,
    sort: "-data.n",
    fields: "name,data.deep.x",
    facets: "data.n",
  });
  assertEquals(selected.items as unknown, [
    { name: "c.toml", data: {} },
    { name: "a.json", data: { deep: { x: true } } },
  ]);
  assertEquals(selected.facets!["data.n"]?.length, 2);
});
