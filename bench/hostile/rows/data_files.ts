// Rows of data files: CSV, JSON, YAML and TOML of the greatest size, each made
// of what its parser is slow for.

import {
  type Files,
  flood,
  many,
  type Parameters,
  repeat,
  type Row,
} from "../row.ts";

const MAX_BYTES = 10_000_000;

const fill = (part: string, bytes = MAX_BYTES) =>
  part.repeat(Math.floor(bytes / part.length));

function data(
  name: string,
  file: string,
  text: () => string,
  query: (n: number) => Parameters = (n) => ({ page: n + 1 }),
): Row {
  const collection = `posts/${file}`;
  return {
    name: `data-${name}`,
    attacker: "author",
    folder: (): Files => [[collection, text()]],
    first: ({ list }) => [list({ limit: 1, collection: "/" })],
    attack: async (attacker, site) => {
      const address = (n: number) => site.list({ collection, ...query(n) });
      await attacker.sendUntilReady(address(0), 10);
      const again = flood({ times: 10, atOnce: 5 }, (n) => address(n + 1));
      await again(attacker, site);
    },
    withinMs: 60_000,
  };
}

export const DATA_FILE_ROWS: readonly Row[] = [
  data("csv-commas", "a.csv", () => fill(",")),
  data("csv-same-names", "a.csv", () => `${fill("a,")}\n1\n`),
  data("csv-empty-rows", "a.csv", () => `a,b\n${fill(",\n", 390_000)}`),
  data(
    "csv-long-names",
    "a.csv",
    () =>
      `${many(10, (n) => fill("x", 500_000) + n).join()}\n${
        repeat(1_000, () => "1,2,3,4,5,6,7,8,9,0\n")
      }`,
    (n) => ({ limit: 1_000 - n }),
  ),
  data("csv-quotes", "a.csv", () => `a\n${fill('"')}`),
  data(
    "csv-numbers",
    "a.csv",
    () => `a\n${repeat(190_000, (n) => `${n}.${n}e${n % 300}\n`)}`,
    (n) => ({
      types: "infer",
      sort: `${n % 2 ? "-" : ""}data.a`,
      facets: "data.a",
    }),
  ),
  data(
    "csv-marks",
    "a.csv",
    () => `a\n${fill("\u0301\u0323", 2_000_000)}\n`,
    (n) => ({ "filter[data.a][contains]": `x${n}`, fields: "index" }),
  ),
  data("json-lists", "a.json", () => `[${fill("[],", MAX_BYTES - 10)}[]]`),
  data("json-numbers", "a.json", () => `[[${fill("1,", MAX_BYTES - 10)}1]]`),
  data(
    "json-keys",
    "a.json",
    () => `{${repeat(600_000, (n) => `"${n}":[],`)}"z":[]}`,
  ),
  data("json-one-row", "a.json", () => `[[${fill("{},", MAX_BYTES - 10)}{}]]`),
  data("jsonl", "a.jsonl", () => fill("1\n", 399_000)),
  data("yaml", "a.yaml", () => fill("- a\n", 2_000_000)),
  data("yaml-flow", "a.yaml", () => `[${fill("a,", 1_000_000)}a]`),
  data("toml", "a.toml", () => fill("[[a]]\nb = 1\n", 2_000_000)),
];
