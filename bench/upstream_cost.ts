// The service's requests to GitHub, counted by the double: requests, how many are a 304, the quota that they cost, and the
// bytes of their answers. Then the memory of a process after many different requests.
//
//   deno task bench:cost                       prints both
//   deno task bench:cost --check docs/caching.md    prints the table, and fails where the file shows another one between its
//                                                   two marks
//   deno task bench:cost --write docs/caching.md    puts it there

import { assert, assertEquals } from "@std/assert";
import { parseArgs } from "node:util";
import pLimit from "p-limit";
import { generateFiles } from "../tests/github/generated_files.ts";
import { makeGitRepository } from "../tests/github/git_repository.ts";
import { type Access, COST_SCENARIOS, openSite, tokenOf } from "./cost_scenarios.ts";
import {
  memoryOf,
  pathOf,
  settingsFor,
  startService,
  startSource,
  withProcesses,
} from "./processes.ts";
import { marked, number, table, writeSection } from "./report.ts";

/** What one scenario cost: the columns of the table. */
export type Cost = Awaited<ReturnType<typeof measureCost>>;

const SECTION = "bench:cost";
const ACCESS_NAMES = { none: "no", named: "yes", public: "yes, any repository" };

/**
 * Runs one scenario. `unchanged` are requests that were a 304, `quota` points of both quotas, `lsRefs` queries of Git's own
 * protocol, which cost no quota, `bytes` those of the answers' bodies.
 */
export async function measureCost(scenario: typeof COST_SCENARIOS[number], access: Access) {
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
      ...[requests, unchanged, quota, lsRefs, bytes].map(number),
    ]),
  );
}

/** Whether a text has a table between its marks, however its columns are padded, and nothing else there. */
export function shows(text: string, markdown: string): boolean {
  const narrow = (text = "") => text.replaceAll(/ *\| */g, "|").replaceAll(/-{2,}/g, "-").trim();
  return narrow(marked(SECTION).exec(text)?.[0]) === narrow(markdown);
}

type Query = Readonly<Record<string, string>>;

const FOLDERS = 200;
const SHAPE = { folders: 100, filesPerFolder: 20, identical: true };
const MILLION = Array.from({ length: 10 }, (_, index) => `million-${index}`);
const AT_ONCE = 16;
const CACHE_MEMORY_MB = 64;

const GENERATED = {
  "small-files": { folders: 100, filesPerFolder: 200, bytes: 3_000 },
  "large-files": { folders: 10, filesPerFolder: 100, bytes: 150_000 },
  ...Object.fromEntries(
    MILLION.map((repo) => [repo, { folders: 100, filesPerFolder: 1_000, identical: true }]),
  ),
};

const COLLECTIONS = Array.from({ length: FOLDERS * SHAPE.folders }, (_, n): Query => {
  const place = String(n % SHAPE.folders).padStart(3, "0");
  return { repo: "many", collection: `folder-${Math.floor(n / SHAPE.folders)}/d${place}` };
});
const SMALL = ["path", "-path", "name"].map((sort) => contentOf("small-files", { sort }));
const LARGE = ["100", "99", "98", "97", "96"].map((limit) => contentOf("large-files", { limit }));

/**
 * What is requested, one part after the other: what the process may take beside the cache, in MiB, and how many times the
 * answers must fill the cache.
 */
const PARTS: [title: string, mostMb: number, fillsTimes: number, queries: () => Query[]][] = [
  ["20,000 lists, of as many collections", 256, 2, () => COLLECTIONS],
  ["lists of 10 collections of 100,000 files", 768, 0, () => MILLION.map((repo) => postsOf(repo))],
  ["100,000 answers of one item", 768, 1, () => pages(5, COLLECTIONS, { limit: "1" })],
  ["pages of 100 files of 3 kB, with content", 768, 2, () => pages(200, SMALL)],
  ["pages of 15 MB, with content", 1_536, 2, () => pages(10, LARGE)],
];

function postsOf(repo: string, more: Query = {}): Query {
  return { repo, collection: "posts", ...more };
}

function contentOf(repo: string, more: Query): Query {
  return postsOf(repo, { includeContent: "true", limit: "100", ...more });
}

/** The first pages of each list. */
function pages(most: number, lists: readonly Query[], more: Query = {}): Query[] {
  return lists.flatMap((list) =>
    Array.from({ length: most }, (_, index) => ({ ...list, ...more, page: `${index + 1}` }))
  );
}

const HEAD = [
  ...["requested once each", "answers", "503 instead", "their MiB", "process after"],
  ...["at most so far", "beside CACHE_MEMORY_MB", "may be", "met"],
];

function* manyFiles() {
  for (let folder = 0; folder < FOLDERS; folder++) {
    yield* generateFiles({ ...SHAPE, prefix: `folder-${folder}` });
  }
}

/** Requests, measures and prints a table; the process fails where the service took more than it may. */
async function measureMemory(cleanup: AsyncDisposableStack): Promise<void> {
  const git = cleanup.use(await makeGitRepository(manyFiles()));
  const generated = Object.entries(GENERATED).map(([name, generate]) => [name, { generate }]);
  const repositories = { many: { dir: git.dir }, ...Object.fromEntries(generated) };
  const settings = settingsFor(await startSource(cleanup, repositories));
  const env = { ...settings, CACHE_MEMORY_MB: `${CACHE_MEMORY_MB}` };
  const service = cleanup.use(await startService({ env }));
  const { nowMb: beforeMb } = await memoryOf(service.pid);
  const rows: string[][] = [];
  const limit = pLimit(AT_ONCE);
  for (const [title, mostMb, fillsTimes, queries] of PARTS) {
    let [answers, bytes, busy] = [0, 0, 0];
    await limit.map(queries(), async (query) => {
      const response = await fetch(service.origin + pathOf("list", query));
      const { length } = await response.bytes();
      // Large answers wait for memory, and a wait that takes too long is a 503: that is part of the bound.
      if (response.status === 503) return void busy++;
      assertEquals(response.status, 200, JSON.stringify(query));
      bytes += length;
      answers++;
    });
    const answerMb = Math.round(bytes / 2 ** 20);
    assert(answerMb >= fillsTimes * CACHE_MEMORY_MB, `${title}: too few for the cache`);
    const { nowMb, peakMb } = await memoryOf(service.pid);
    const besideMb = peakMb - CACHE_MEMORY_MB;
    const isMet = besideMb <= mostMb;
    const numbers = [answers, busy, answerMb, nowMb, peakMb, besideMb, mostMb].map(number);
    rows.push([title, ...numbers, isMet ? "yes" : "**no**"]);
    if (!isMet) Deno.exitCode = 1;
  }
  console.log(
    `\nMemory in MiB with CACHE_MEMORY_MB=${CACHE_MEMORY_MB}, one part after the other, ${AT_ONCE} requests at once; ` +
      `the process had ${beforeMb} after its start.\n\n${table(HEAD, rows)}`,
  );
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
  if (write !== undefined) return await writeSection(write, SECTION, markdown);
  if (check === undefined) return await withProcesses(measureMemory);
  if (shows(await Deno.readTextFile(check), markdown)) return;
  console.error(`"${check}" does not show these rows; --write does it`);
  Deno.exitCode = 1;
}

if (import.meta.main) await main();
