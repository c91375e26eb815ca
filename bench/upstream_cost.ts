// `deno task bench:cost`: the service's requests to GitHub, counted by the
// double: requests, how many are a 304, the quota that they cost, and the bytes
// of their answers. Then the memory of a process after many different requests.
// `--check FILE` prints the first table alone, and fails where the file shows
// another one between its two marks; `--write FILE` puts it there.

import { assert, assertEquals } from "@std/assert";
import pLimit from "p-limit";
import type { GeneratedFiles } from "../tests/github/generated_files.ts";
import { listPath, type Parameters } from "../tests/service.ts";
import {
  type Access,
  COST_SCENARIOS,
  openSite,
  TOKEN,
} from "./cost_scenarios.ts";
import {
  memoryOf,
  startService,
  startSource,
  withProcesses,
} from "./processes.ts";
import { flag, marked, met, number, table, writeSection } from "./report.ts";

/** What one scenario cost: the columns of the table. */
export type Cost = Awaited<ReturnType<typeof measureCost>>;

const SECTION = "bench:cost";
const ACCESS_NAMES = {
  none: "no",
  named: "yes",
  public: "yes, any repository",
};

/**
 * Runs one scenario. `unchanged` are requests that were a 304, `quota` points
 * of both quotas, `lsRefs` queries of Git's own protocol, which cost no quota,
 * `bytes` those of the answers' bodies.
 */
export async function measureCost(
  scenario: typeof COST_SCENARIOS[number],
  access: Access,
) {
  await using site = await openSite(access);
  const { gh, bridge } = site;
  await scenario.before(site);
  gh.resetCounts();
  if (bridge) bridge.requests.length = 0;
  await scenario.work(site);
  const token = access === "none" ? null : TOKEN;
  return {
    title: scenario.title,
    access,
    requests: gh.requests.length,
    unchanged: gh.requests.filter(({ status }) => status === 304).length,
    quota: gh.quota(token).spent + gh.quota(token, "graphql").spent,
    lsRefs: bridge?.requests.length ?? 0,
    bytes: gh.requests.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/** The table, as the documents show it; the same for the same counts. */
export function costTable(costs: readonly Cost[]): string {
  return table(
    [
      "requests to the service",
      "token",
      "requests",
      "of them 304",
      "quota",
      "ls-refs",
      "bytes",
    ],
    costs.map((
      { title, access, requests, unchanged, quota, lsRefs, bytes },
    ) => [
      title,
      ACCESS_NAMES[access],
      ...[requests, unchanged, quota, lsRefs, bytes].map(number),
    ]),
  );
}

/**
 * Whether a text has a table between its marks, however its columns are padded,
 * and nothing else there.
 */
export function shows(text: string, markdown: string): boolean {
  const narrow = (text = "") =>
    text.replaceAll(/ *\| */g, "|").replaceAll(/-{2,}/g, "-").trim();
  return narrow(marked(SECTION).exec(text)?.[0]) === narrow(markdown);
}

const AT_ONCE = 16;
const CACHE_MEMORY_MB = 64;
const FOLDERS = Array.from(
  { length: 100 },
  (_, n) => `posts/d${String(n).padStart(3, "0")}`,
);
const MANY = Array.from({ length: 200 }, (_, n) => `many-${n}`);
const MILLION = Array.from({ length: 10 }, (_, n) => `million-${n}`);
const SHAPE = { folders: FOLDERS.length, identical: true };
/** The repositories of `octo`. */
const GENERATED: Readonly<Record<string, GeneratedFiles>> = {
  ...Object.fromEntries(
    MANY.map((repo) => [repo, { ...SHAPE, filesPerFolder: 20 }]),
  ),
  ...Object.fromEntries(
    MILLION.map((repo) => [repo, { ...SHAPE, filesPerFolder: 1_000 }]),
  ),
  "small-files": { folders: 100, filesPerFolder: 200, bytes: 3_000 },
  "large-files": { folders: 10, filesPerFolder: 100, bytes: 150_000 },
};

const COLLECTIONS = MANY.flatMap((repo) =>
  FOLDERS.map((collection) => ({ repo, collection }))
);
const FIRST_ITEMS = COLLECTIONS.map((list) => ({ ...list, limit: 1 }));
const SMALL = ["path", "-path", "name"]
  .map((sort) => ({
    repo: "small-files",
    includeContent: true,
    limit: 100,
    sort,
  }));
const LARGE = [100, 99, 98, 97, 96]
  .map((limit) => ({ repo: "large-files", includeContent: true, limit }));

/**
 * The first pages of each list; what the process may take beside the cache; how
 * often the answers must fill the cache.
 */
const part = (
  title: string,
  lists: Parameters[],
  pages: number,
  mostMb: number,
  fills: number,
) => {
  return { title, lists, pages, mostMb, fills };
};
/** What is requested, one part after the other. */
const PARTS = [
  part("20,000 lists, of as many collections", COLLECTIONS, 1, 256, 2),
  part(
    "lists of 10 collections of 100,000 files",
    MILLION.map((repo) => ({ repo })),
    1,
    768,
    0,
  ),
  part("100,000 answers of one item", FIRST_ITEMS, 5, 768, 1),
  part("pages of 100 files of 3 kB, with content", SMALL, 200, 768, 2),
  part("pages of 15 MB, with content", LARGE, 10, 1_536, 2),
];
const HEAD =
  "requested once each|answers|503 instead|their MiB|process after|at most so far|" +
  "beside CACHE_MEMORY_MB|may be|met";

/**
 * Requests, measures and prints a table; the process fails where the service
 * took more than it may.
 */
async function measureMemory(cleanup: AsyncDisposableStack): Promise<void> {
  const repositories = Object.entries(GENERATED)
    .map(([repo, generate]) => [`octo/${repo}`, { generate }]);
  const { settings } = await startSource(
    cleanup,
    Object.fromEntries(repositories),
  );
  const env = { ...settings, CACHE_MEMORY_MB: `${CACHE_MEMORY_MB}` };
  const service = cleanup.use(await startService({ env }));
  const { nowMb: beforeMb } = await memoryOf(service);
  const rows: string[][] = [];
  const limit = pLimit(AT_ONCE);
  for (const { title, lists, pages, mostMb, fills } of PARTS) {
    let [answers, bytes, busy] = [0, 0, 0];
    const paths = lists.flatMap((list) =>
      Array.from(
        { length: pages },
        (_, index) => listPath({ ...list, page: index + 1 }),
      )
    );
    await limit.map(paths, async (path) => {
      const response = await fetch(service.origin + path);
      const { length } = await response.bytes();
      // Large answers wait for memory, and a wait that takes too long is a 503:
      // that is part of the bound.
      if (response.status === 503) return void busy++;
      assertEquals(response.status, 200, path);
      bytes += length;
      answers++;
    });
    const answerMb = Math.round(bytes / 2 ** 20);
    assert(
      answerMb >= fills * CACHE_MEMORY_MB,
      `${title}: too few for the cache`,
    );
    const { nowMb, peakMb } = await memoryOf(service);
    const besideMb = peakMb - CACHE_MEMORY_MB;
    const numbers = [answers, busy, answerMb, nowMb, peakMb, besideMb, mostMb]
      .map(number);
    rows.push([title, ...numbers, met(besideMb <= mostMb)]);
  }
  console.log(
    `\nMemory in MiB with CACHE_MEMORY_MB=${CACHE_MEMORY_MB}, one part after the other, ${AT_ONCE} requests at once; ` +
      `the process had ${beforeMb} after its start.\n\n${
        table(HEAD.split("|"), rows)
      }`,
  );
}

if (import.meta.main) {
  const [check, write] = [flag("check", ""), flag("write", "")];
  const costs: Cost[] = [];
  for (const scenario of COST_SCENARIOS) {
    for (const access of scenario.accesses) {
      costs.push(await measureCost(scenario, access));
    }
  }
  const markdown = costTable(costs);
  console.log(markdown);
  if (write !== "") await writeSection(write, SECTION, markdown);
  else if (check === "") await withProcesses(measureMemory);
  else if (!shows(await Deno.readTextFile(check), markdown)) {
    console.error(`"${check}" does not show these rows; --write does it`);
    Deno.exitCode = 1;
  }
}
