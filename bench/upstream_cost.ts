// The service's requests to GitHub, counted by the double: requests, how many are a 304, the quota that they cost, and the
// bytes of their answers. Then the memory of a process after many different requests.
//
//   deno task bench:cost                       prints both
//   deno task bench:cost --check docs/caching.md    prints the table, and fails where the file shows another one between its
//                                                   two marks
//   deno task bench:cost --write docs/caching.md    puts it there

import { parseArgs } from "node:util";
import {
  type Access,
  COST_SCENARIOS,
  type CostScenario,
  openSite,
  tokenOf,
} from "./cost_scenarios.ts";
import { measureMemory } from "./memory_bound.ts";
import { withProcesses } from "./processes.ts";
import { count, table } from "./report.ts";

/** What one scenario cost: the columns of the table. */
export interface Cost {
  readonly title: string;
  readonly access: Access;
  readonly requests: number;
  readonly unchanged: number;
  /** Points of both quotas. */
  readonly quota: number;
  /** Queries of Git's own protocol, which cost no quota. */
  readonly lsRefs: number;
  /** Bytes of the answers' bodies. */
  readonly bytes: number;
}

const MARKED = /(?<=<!-- bench:cost -->).*(?=<!-- end of bench:cost -->)/s;
const ACCESS_NAMES = { none: "no", named: "yes", public: "yes, any repository" };

/** Runs one scenario. */
export async function measureCost(scenario: CostScenario, access: Access): Promise<Cost> {
  await using site = await openSite(access);
  const { gh, bridge } = site;
  await scenario.before(site);
  gh.resetCounts();
  if (bridge) bridge.requests.length = 0;
  await scenario.work(site);
  const token = tokenOf(access);
  return {
    title: scenario.title,
    access,
    requests: gh.requests.length,
    unchanged: gh.requests.filter(({ status }) => status === 304).length,
    quota: gh.quotaSpent(token) + gh.quotaSpent(token, "graphql"),
    lsRefs: bridge?.requests.length ?? 0,
    bytes: gh.requests.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/** The table, as the documents show it; the same for the same counts. */
export function costTable(costs: readonly Cost[]): string {
  return table(
    ["requests to the service", "token", "requests", "of them 304", "quota", "ls-refs", "bytes"],
    costs.map(({ title, access, requests, unchanged, quota, lsRefs, bytes }) => [
      title,
      ACCESS_NAMES[access],
      ...[requests, unchanged, quota, lsRefs, bytes].map(count),
    ]),
  );
}

/** Whether a text has a table between its marks, however its columns are padded, and nothing else there. */
export function shows(text: string, markdown: string): boolean {
  const narrow = (text = "") => text.replaceAll(/ *\| */g, "|").replaceAll(/-{2,}/g, "-").trim();
  return narrow(MARKED.exec(text)?.[0]) === narrow(markdown);
}

async function main(): Promise<void> {
  const options = { check: { type: "string" }, write: { type: "string" } } as const;
  const { check, write } = parseArgs({ args: Deno.args, options }).values;
  const costs: Cost[] = [];
  for (const scenario of COST_SCENARIOS) {
    for (const access of scenario.accesses) costs.push(await measureCost(scenario, access));
  }
  const markdown = costTable(costs);
  console.log(markdown);
  const file = write ?? check;
  if (file === undefined) return await withProcesses(measureMemory);
  const text = await Deno.readTextFile(file);
  if (write !== undefined) {
    await Deno.writeTextFile(file, text.replace(MARKED, `\n\n${markdown}\n\n`));
  } else if (!shows(text, markdown)) {
    console.error(`"${file}" does not show these rows; --write does it`);
    Deno.exitCode = 1;
  }
}

if (import.meta.main) await main();
