import { assert, assertEquals, assertThrows } from "@std/assert";
import { listRows, parseTable } from "../../lib/content/rows.ts";
import { CollectionsError } from "../../lib/errors.ts";
import { unlimited } from "../../lib/thread/compute.ts";
import { counted } from "./counted.ts";

const QUERY = {
  ...{ sort: undefined, filter: [], facets: [], search: undefined },
  ...{ fields: undefined, start: 0, end: 1, maxBytes: 1 << 24 },
};

/** The names of the columns of a header. */
function namesOf(header: string): string[] {
  const name = { repository: "r", path: "a.csv", id: header, infers: false };
  const cells = header.split(",").map(() => "1").join();
  const bytes = new TextEncoder().encode(`${header}\n${cells}\n`);
  parseTable({ ...name, bytes });
  const page = listRows({ ...name, ...QUERY }, unlimited);
  if (!("json" in page)) throw new Error("no page");
  const { data } = JSON.parse(new TextDecoder().decode(page.json!));
  return Object.keys(data);
}

Deno.test("parseTable() gives equal columns names of their own", () => {
  const names = {
    "a,a,a": "a a_2 a_3",
    "a,a_2,a,a": "a a_2 a_3 a_4",
    "a,a,a_2,a": "a a_2 a_2_2 a_3",
    "b,,b,": "b column2 b_2 column4",
  };
  for (const [header, expected] of Object.entries(names)) {
    assertEquals(namesOf(header).join(" "), expected);
  }
});

Deno.test("parseTable() names columns in linear time", () => {
  const { has } = Map.prototype;
  const looks = (columns: number) => {
    let count = 0;
    Map.prototype.has = function (key) {
      count++;
      return has.call(this, key);
    };
    try {
      assertEquals(namesOf(Array(columns).fill("a").join()).length, columns);
    } finally {
      Map.prototype.has = has;
    }
    return count;
  };
  const [some, more] = [looks(2_000), looks(4_000)];
  assert(some >= 2_000 && more < 3 * some, `${some}, then ${more}`);
});

Deno.test("parseTable() reads no row after 200,000", () => {
  const text = "0\n".repeat(300_000);
  const name = { repository: "r", path: "a.jsonl", id: "1", infers: false };
  const bytes = new TextEncoder().encode(text);
  const trims = counted(String.prototype, "trim", () => {
    assertThrows(() => parseTable({ ...name, bytes }), CollectionsError);
  });
  assertEquals(trims, 200_001);
});

Deno.test("parseTable() skips blank lines and counts them", () => {
  const name = { repository: "r", path: "b.jsonl", id: "1", infers: false };
  const parse = (text: string) =>
    parseTable({ ...name, bytes: new TextEncoder().encode(text) });
  parse("\n1\r\n \n2");
  const page = listRows({ ...name, ...QUERY, end: 9 }, unlimited);
  if (!("json" in page)) throw new Error("no page");
  assertEquals(
    new TextDecoder().decode(page.json!),
    '{"index":0,"data":1},{"index":1,"data":2}',
  );
  assertThrows(() => parse("\n1\n\n{"), CollectionsError, "(line 4)");
});

Deno.test("listRows() makes no JSON of texts that cannot fit", () => {
  const name = { repository: "r", path: "c.csv", id: "1", infers: false };
  const text = `a\n${"\u0001".repeat(3 << 20)}\n`;
  parseTable({ ...name, bytes: new TextEncoder().encode(text) });
  const made = counted(JSON, "stringify", () => {
    const page = listRows({ ...name, ...QUERY }, unlimited);
    assertEquals([page], [{ json: null, total: 1, facets: {} }]);
  });
  assertEquals(made, 0);
});
