import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import { COST_SCENARIOS } from "../../bench/cost_scenarios.ts";
import { costTable, measureCost, shows } from "../../bench/upstream_cost.ts";

const cost = {
  title: "a list",
  requests: 3,
  unchanged: 0,
  quota: 3,
  lsRefs: 0,
  bytes: 12_345,
};

Deno.test("costTable() is shown by a text with other padding only", () => {
  const markdown = costTable([{ ...cost, access: "none" }, {
    ...cost,
    access: "public",
  }]);
  assert(
    markdown.includes(
      "| a list | yes, any repository | 3 | 0 | 3 | 0 | 12,345 |",
    ),
  );
  const padded = markdown.replaceAll(" | ", "    |  ").replaceAll(
    "---",
    "----------",
  );
  const page = (table: string) =>
    `<!-- bench:cost -->\n\n${table}\n\n<!-- end of bench:cost -->\n`;
  assert(shows(page(padded), markdown));
  assert(!shows(padded, markdown), "outside its comments");
  const lastRow = padded.slice(padded.lastIndexOf("\n"));
  const others = [
    padded.replace("12,345", "12,346"),
    padded.replace(lastRow, ""),
    padded + lastRow,
  ];
  for (const other of others) assert(!shows(page(other), markdown), other);
});

Deno.test("an hour without a token takes few requests of its quota", async () => {
  const most = [
    { title: "an hour of one request a second", requests: 3, lsRefs: 60 },
    {
      title: "the same hour on ten branches, with one commit to each",
      requests: 60,
      lsRefs: 600,
    },
  ];
  for (const { title, requests, lsRefs } of most) {
    const scenario = COST_SCENARIOS.find((one) => one.title === title)!;
    const cost = await measureCost(scenario, "none");
    assertLessOrEqual(cost.requests, requests, title);
    assertLessOrEqual(cost.lsRefs, lsRefs, title);
    assertEquals(cost.quota, cost.requests);
  }
});
