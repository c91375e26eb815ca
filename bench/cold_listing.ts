// Hits of other collections while cold listings of 100,000 files are read and prepared, one after the other for as long
// as the load lasts: the whole time measured is such a time. A connection asks again only when it was answered, so a
// stall is one late answer a connection however long it is: the latest answer is told beside the p99.

import { assertEquals } from "@std/assert";
import type { RunningDouble } from "../tests/github/start_double.ts";
import type { LoadGenerator, LoadResult } from "./load.ts";
import { pause } from "./processes.ts";
import { RawClient } from "./raw_client.ts";
import { OWNER, SHAPES } from "./repositories.ts";
import { type Goal, number, table } from "./report.ts";
import { median } from "./statistics.ts";

const TOTAL = SHAPES.large.folders * SHAPES.large.filesPerFolder;
const MAX_P99_MS = 150;
const SAMPLING =
  "p50 and p99 are medians of the rounds, max is the latest answer of all of them. A connection asks " +
  "again only when it was answered, so that a stall counts once a connection and p99 says too little of it; max does not.";
/** The load runs by itself for a moment before the first listing begins. */
const LEAD_MS = 100;

/** How the double answers: all in one piece of some 30 MB, or cut as GitHub says it does. */
const MODES = [
  { title: "one answer", settings: { truncateAt: 1_000_000, truncateBytes: 1e9 } },
  { title: "cut at 7 MB, folder by folder", settings: { truncateAt: 100_000, truncateBytes: 7e6 } },
];

/** Names of repositories that are listed once each. */
export function coldNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `cold${index}`);
}

/** Puts hits under load, without and with listings; `names` are used up. */
export async function measureColdListings(
  { origin, double, generator, path, names, rounds, seconds, connections }: {
    origin: string;
    double: RunningDouble;
    generator: LoadGenerator;
    /** A hit on another collection. */
    path: string;
    names: readonly string[];
    rounds: number;
    seconds: number;
    connections: number;
  },
): Promise<{ markdown: string; goals: Goal[] }> {
  const unused = [...names];
  const load = async () => {
    using client = await RawClient.connect(origin);
    await client.get(path);
    return await generator.run({ origin, paths: [path], seconds, connections });
  };
  const rows: string[][] = [];
  const goals: Goal[] = [];
  const quiet: LoadResult[] = [];
  const busy = MODES.map(() => ({ results: [] as LoadResult[], listedMs: [] as number[] }));
  for (let round = 0; round < rounds; round++) {
    quiet.push(await load());
    for (const [mode, { settings }] of MODES.entries()) {
      await double.call("set", settings);
      let running = true;
      const loaded = load().finally(() => running = false);
      await pause(LEAD_MS);
      while (running && unused.length > 0) {
        busy[mode]!.listedMs.push(await listCold(origin, unused.pop()!));
      }
      busy[mode]!.results.push(await loaded);
    }
  }
  const row = (title: string, results: readonly LoadResult[], listedMs: readonly number[]) => [
    title,
    number(median(results.map(({ perSecond }) => perSecond))),
    number(median(results.map(({ p50Ms }) => p50Ms))),
    number(median(results.map(({ p99Ms }) => p99Ms))),
    number(latestOf(results)),
    listedMs.length === 0 ? "–" : `${listedMs.length} of ${number(median(listedMs))} ms`,
  ];
  rows.push(row("no listing", quiet, []));
  for (const [mode, { title }] of MODES.entries()) {
    const { results, listedMs } = busy[mode]!;
    rows.push(row(title, results, listedMs));
    const p99Ms = median(results.map(({ p99Ms }) => p99Ms));
    goals.push({
      what: `p99 of other hits during cold listings of 100,000 items (${title})`,
      wanted: `under ${MAX_P99_MS} ms`,
      measured: `${number(p99Ms)} ms (the latest of all: ${number(latestOf(results))} ms)`,
      met: p99Ms < MAX_P99_MS,
    });
  }
  const head = ["hits while there is", "requests/s", "p50 ms", "p99 ms", "max ms", "listings"];
  return { goals, markdown: `${table(head, rows)}\n\n${SAMPLING}` };
}

function latestOf(results: readonly LoadResult[]): number {
  return Math.max(...results.map(({ maxMs }) => maxMs));
}

async function listCold(origin: string, repo: string): Promise<number> {
  using client = await RawClient.connect(origin);
  const startMs = performance.now();
  const { status, body } = await client.get(
    `/api/list-collection-items?owner=${OWNER}&repo=${repo}&collection=posts`,
  );
  const ms = performance.now() - startMs;
  assertEquals(status, 200, new TextDecoder().decode(body));
  assertEquals(JSON.parse(new TextDecoder().decode(body)).pagination.totalItems, TOTAL);
  return ms;
}
