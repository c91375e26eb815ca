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

const CSV_SHAPES: Readonly<Record<string, string>> = {
  "plain.csv": "a,b\n1,2\n3,4\n",
  "no final line break.csv": "a,b\n1,2",
  "CRLF.csv": "a,b\r\n1,2\r\n3,4\r\n",
  "CR.csv": "a,b\r1,2\r3,4\r",
  "byte order mark.csv": '\ufeff"a",b\n1,2\n',
  "quoted comma.csv": 'a,b\n"1,1",2\n',
  "quoted line break.csv": 'a,b\n"1\n1",2\n',
  "quoted CRLF.csv": 'a,b\r\n"1\r\n1",2\r\n',
  "quotes.csv": 'a,b,c\n"say ""hi""","","""",""""""\n',
  "empty cells.csv": "a,b,c\n,,\n1,,3\n",
  "empty lines.csv": "a,b\n\n1,2\n\n\n3,4\n",
  "header alone.csv": "a,b\n",
  "empty.csv": "",
  "spaces.csv": "a,b\n 1 , 2 \n",
  "duplicate header.csv": "a,a,,a\n1,2,3,4\n",
  "wide.csv": `${"c,".repeat(2_000)}\n${"1,".repeat(2_000)}\n`,
  "short rows.csv": "a,b,c\n1\n1,2\n",
  "long rows.csv": "a\n1,2,3\n1,2\n",
  "formulas.csv": 'naïve,名前\n=1+1,"@🎉"\n',
};

Deno.test("the cells of CSV are those of a second parser", async () => {
  await using site = await startSite(CSV_SHAPES);
  for (const [collection, text] of Object.entries(CSV_SHAPES)) {
    const options = { delimiter: ",", skipEmptyLines: true };
    const { data } = Papa.parse<string[]>(text.replace("\ufeff", ""), options);
    const body = await site.service.list({ collection });
    assertEquals([collection, cellsOf(body)], [collection, data.slice(1)]);
  }
});

Deno.test("a data file is a list of rows with an index and data", async () => {
  const path = "data/members.csv";
  await using site = await startSite({
    [path]: MEMBERS,
    "a.csv": "a,a,,__proto__, constructor \n1,2,3,4,5,6\n",
  });
  const body = await site.service.list({ collection: path });
  assertEquals(body.collection, { name: path, path });
  assertEquals<unknown>(body.items[1], {
    index: 1,
    data: { name: "Bob", team: "docs, web", joined: "2023-01-15" },
  });
  // A column has the name of its header or its own.
  const { items } = await site.service.list({ collection: "a.csv" });
  assertEquals(
    JSON.stringify(items[0]!.data),
    '{"a":"1","a_2":"2","column3":"3","__proto__":"4","constructor":"5","column6":"6"}',
  );
});

Deno.test("rows are sorted, filtered, counted, searched and paged", async () => {
  await using site = await startSite({ "m.csv": MEMBERS });
  const collection = "m.csv";
  const rows: [names: string, given: Parameters][] = [
    ["Cy Ann Bob", { sort: "-data.joined" }],
    ["Cy Bob Ann", { sort: "-path" }],
    ["Ann Cy", { "filter[data.team]": "core" }],
    ["Bob", { "filter[data.joined][lt]": "2024-01-01" }],
    ["", { "filter[frontMatter.team]": "core" }],
    ["Cy", { limit: 2, page: 2 }],
    ["Ann", { search: "core an" }],
    ["Cy Ann", { search: "core", sort: "-data.name" }],
    ["Cy", { search: "core", "filter[data.name]": "Cy" }],
  ];
  for (const [names, given] of rows) {
    const { items } = await site.service.list({ collection, ...given });
    const found = items.map(({ data }) => (data as { name: string }).name);
    assertEquals([given, found.join(" ")], [given, names]);
  }
  const { items, facets } = await site.service.list({
    collection,
    search: "web",
    fields: "data.name,match",
    facets: "data.team",
  });
  assertEquals(facets, { "data.team": [{ value: "docs, web", count: 1 }] });
  const { match, ...item } = items[0]!;
  assertEquals<unknown>(item, { data: { name: "Bob" } });
  assertMatch(match!.snippet, /docs, <mark>web<\/mark>/);

  // Rows have no names and sizes.
  for (const sort of ["size", "-lastChanged.date"]) {
    const query = { collection, sort, "filter[name]": "*" };
    const { errors } = await site.service.problem(listPath(query));
    const bad = errors?.map(({ parameter }) => parameter);
    assertEquals(bad, ["filter[name]", "sort"]);
  }
});

Deno.test("types=infer makes values of cells that look like them", async () => {
  await using site = await startSite({
    "a.csv":
      'v\n1\n-2.5\n1e3\n007\ntrue\nTRUE\n9007199254740993\n1e999\n0x10\n""\n',
  });
  const dataOf = async (types: string) =>
    cellsOf(await site.service.list({ collection: "a.csv", types })).flat();
  assertEquals(
    JSON.stringify(await dataOf("infer")),
    '[1,-2.5,1000,"007",true,"TRUE","9007199254740993","1e999","0x10",null]',
  );
  assertEquals((await dataOf("text")).slice(0, 2), ["1", "-2.5"]);
});

Deno.test("lists and mappings of other formats are rows too", async () => {
  const list = '[{"index":0,"data":{"n":1}},{"index":1,"data":[2]}]';
  const one = '[{"index":0,"data":{"n":1}}]';
  const entries =
    '[{"index":0,"key":"a","data":{"n":1}},{"index":1,"key":"__proto__","data":2}]';
  const rows: [path: string, text: string, items: string][] = [
    ["a.json", '[{"n":1},[2]]', list],
    ["b.json", '\ufeff{"a":{"n":1},"__proto__":2}', entries],
    ["c.json", '{"items":[{"n":1},[2]]}', list],
    ["d.jsonl", '{"n":1}\r\n\n[2]\n', list],
    ["e.yaml", "- n: 1\n- [2]\n", list],
    ["f.yml", "a: {n: 1}\n__proto__: 2\n", entries],
    ["g.toml", "[a]\nn = 1\n", one.replace('"data"', '"key":"a","data"')],
    ["h.toml", "[[m]]\nn = 1\n", one],
    ["i.tsv", "n\tm\n1,1\t2\n", '[{"index":0,"data":{"n":"1,1","m":"2"}}]'],
    ["j.json", "[]", "[]"],
  ];
  const files = rows.map(([path, text]) => [path, text]);
  await using site = await startSite(Object.fromEntries(files));
  for (const [collection, , items] of rows) {
    const body = await site.service.list({ collection });
    assertEquals([collection, JSON.stringify(body.items)], [collection, items]);
  }
});

Deno.test("a data file without a list is an error that names the line", async () => {
  const rows: [line: number, path: string, text: string][] = [
    [1, "a.json", "1"],
    [1, "b.json", "[\n1,\n}"],
    [3, "c.json", '[\n{"a":1,\n"b" 2}\n]'],
    [1, "d.json", "[".repeat(1_000) + "]".repeat(1_000)],
    [2, "e.jsonl", "1\n{x\n"],
    [3, "f.yaml", "a: 1\nb: [\n"],
    [2, "g.yaml", "a: 1\n]\n---\nb: 1\n"],
    [3, "h.csv", 'a,b\n1,2\n3,"x\n'],
    [1, "i.csv", "\0"],
  ];
  const files = rows.map(([, path, text]) => [path, text]);
  await using site = await startSite(Object.fromEntries(files));
  for (const [line, collection] of rows) {
    const path = listPath({ collection });
    const { code, detail } = await site.service.problem(path);
    assertEquals([collection, code], [collection, "collection-not-found"]);
    const end = line > 1 ? `(line ${line}).` : ".";
    assert(
      detail.startsWith(`"${collection}" `) && detail.endsWith(end),
      detail,
    );
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
  const collection = "most.csv";
  const order = { types: "infer", sort: "-data.id", limit: 1 };
  const { items } = await site.service.list({ collection, ...order });
  assertEquals(items.map(({ index }) => index), [199_999]);
  const query = { collection, search: "name 996", limit: 1 };
  const { pagination } = await site.service.list(query);
  assert(pagination.totalItems >= 200);
  for (const collection of ["more.csv", "large.csv"]) {
    const { code } = await site.service.problem(listPath({ collection }));
    assertEquals([collection, code], [collection, "collection-too-large"]);
  }
});

Deno.test("a row of CSV has at most 100,000 cells", async () => {
  const commas = ",".repeat(99_999);
  const quoted = `"${commas},"`;
  const files = {
    "most.csv": `${commas}\n`.repeat(2),
    "most.tsv": `${quoted}\t"a""${commas}"\n`.repeat(2),
    "quoted.csv": `"a\n${commas}",${quoted},b"c\n`.repeat(2),
    "more.csv": `a,b\n"1",${commas}\n`,
    "more.tsv": "\t".repeat(100_000),
  };
  await using site = await startSite(files);
  const codes = await Promise.all(
    Object.keys(files).map(async (collection) => {
      const path = listPath({ collection, fields: "index" });
      const response = await site.service.get(path);
      const { code, pagination } = await response.json();
      return [collection, code ?? pagination.totalItems];
    }),
  );
  assertEquals(Object.fromEntries(codes), {
    "most.csv": 1,
    "most.tsv": 1,
    "quoted.csv": 1,
    "more.csv": "collection-too-large",
    "more.tsv": "collection-too-large",
  });
});

Deno.test("a JSON file has at most 500,000 lists and objects", async () => {
  // Brackets in texts do not count.
  const row = (count: number) =>
    `{"a":"[{\\"[","b":[${"[],".repeat(count - 3)}[]]}`;
  const rows = `${row(1_000)},`.repeat(499);
  const most = `{"rows":[${rows}${row(998)}]}`;
  const more = `{"rows":[${rows}${row(999)}]}`;
  await using site = await startSite({
    "most.json": most,
    "most.jsonl": `${most}\n${most}\n`,
    "more.json": more,
    "more.jsonl": `[]\n${more}\n`,
  });
  for (const [collection, total] of [["most.json", 500], ["most.jsonl", 2]]) {
    const query = { collection: `${collection}`, fields: "index" };
    const { pagination } = await site.service.list(query);
    assertEquals(pagination.totalItems, total);
  }
  for (
    const [collection, what] of [["more.json", "it"], ["more.jsonl", "a row"]]
  ) {
    const path = listPath({ collection: `${collection}` });
    const { code, detail } = await site.service.problem(path);
    assertEquals([collection, code], [collection, "collection-too-large"]);
    assert(detail.includes(`${what} has more than 500000 lists`), detail);
  }
});

Deno.test("numbers that JSON cannot carry become text", async () => {
  await using site = await startSite({
    "a.json": '[{"__proto__":1e999,"b":[-1e999,[1e999]],"c":{"d":1e999}}]',
  });
  const path = listPath({ collection: "a.json", fields: "data" });
  const text = await (await site.service.get(path)).text();
  const data = '{"__proto__":"inf","b":["-inf",["inf"]],"c":{"d":"inf"}}';
  assert(text.includes(`"items":[{"data":${data}}]`), text);
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
  const { items } = await site.service.list({
    fields: "slug,data,frontMatter,frontMatterError",
  });
  assertEquals(items[5]!.frontMatterError !== undefined, true);
  assertEquals<unknown>(items.toSpliced(5, 1), [
    { slug: "a", data: { n: 1, deep: { x: true } } },
    { slug: "a" },
    { slug: "b", data: [1] },
    { slug: "c", data: { n: 3 } },
    { slug: "d", frontMatter: { n: 4 } },
    { slug: "f", frontMatter: { n: 5 } },
  ]);
  const selected = await site.service.list({
    "filter[data.n][gte]": 0,
    sort: "-data.n",
    fields: "name,data.deep.x",
    facets: "data.n",
  });
  assertEquals<unknown>(selected.items, [
    { name: "c.toml", data: {} },
    { name: "a.json", data: { deep: { x: true } } },
  ]);
  assertEquals(selected.facets!["data.n"]?.length, 2);
});
