// What is not a hit in `bench:http`: pages of large and small collections, hits while cold listings run, cold requests in
// round trips to the source, and the time to start.

import { assert, assertEquals } from "@std/assert";
import type { RunningDouble } from "../tests/github/start_double.ts";
import { getOnce, load, type LoadResult, SERVER_CORE, textOf } from "./clients.ts";
import { listOf, type Part } from "./http_load.ts";
import { pause } from "./processes.ts";
import { goal, median, number, spread, table } from "./report.ts";
import { startService } from "./service.ts";

/** The repositories: hits are measured on `site`, cold requests on `deep`, the others are listed. */
export const SHAPES = {
  site: { folders: 10, filesPerFolder: 2_000, bytes: 1_200 },
  small: { folders: 1, filesPerFolder: 100, identical: true },
  deep: { prefix: "content/posts", folders: 0, filesPerFolder: 100, bytes: 2_000 },
  large: { folders: 100, filesPerFolder: 1_000, identical: true },
};

const LARGE_TOTAL = 100_000;
const SERIES = [
  { title: "20,000 items", repo: "site", page: (n: number) => n },
  { title: "100,000 items, first pages", repo: "large", page: (n: number) => n },
  { title: "100,000 items, last pages", repo: "large", page: (n: number) => 2_001 - n },
];

/** Pages without a cached response, each requested once, of collections whose trees are cached. */
export async function measurePages(origin: string, count: number): Promise<Part> {
  const rows = SERIES.map((series) => ({ ...series, times: [] as number[] }));
  const timed = async (repo: string, page: number) =>
    (await getOnce(origin, listOf({ repo, page: `${page}` }))).ms;
  for (const { repo } of SERIES) await timed(repo, 1_000_000);
  for (let n = 1; n <= count; n++) {
    for (const { repo, page, times } of rows) times.push(await timed(repo, page(n)));
  }
  const ratioOf = (times: readonly number[]) => median(times) / median(rows[0]!.times);
  return {
    goals: rows.slice(1).map(({ title, times }) => {
      const what = `page of 50 from ${title}, of one from 20,000 items`;
      return goal(what, "at most 1.50", number(ratioOf(times)), ratioOf(times) <= 1.5);
    }),
    markdown: table(
      ["page of 50, not cached, from", "ms (min–max)", "of 20,000 items"],
      rows.map(({ title, times }) => [title, spread(times), number(ratioOf(times))]),
    ),
  };
}

/** How the double answers: all in one piece of some 30 MB, or truncated as GitHub documents. */
const MODES = [
  { title: "one answer", settings: { truncateAt: 1_000_000, truncateBytes: 1e9 } },
  { title: "cut at 7 MB, folder by folder", settings: { truncateAt: 100_000, truncateBytes: 7e6 } },
];

/** Hits of another collection while listings of 100,000 files, of these repositories, are read one after the other. */
export async function measureColdListings(
  origin: string,
  double: RunningDouble,
  { names, rounds, seconds, connections }: {
    names: readonly string[];
    rounds: number;
    seconds: number;
    connections: number;
  },
): Promise<Part> {
  const hits = { origin, path: listOf(), seconds, connections };
  const left = [...names];
  const rows = ["no listing", ...MODES.map(({ title }) => title)]
    .map((title) => ({ title, results: [] as LoadResult[], listedMs: [] as number[] }));
  const [quiet, ...busy] = rows;
  for (let round = 0; round < rounds; round++) {
    quiet!.results.push(await load(hits));
    for (const [mode, { settings }] of MODES.entries()) {
      await double.call("set", settings);
      let isRunning = true;
      const loaded = load(hits).finally(() => isRunning = false);
      await pause(100);
      while (isRunning) {
        const repo = left.shift();
        assert(repo !== undefined, "there are too few repositories for cold listings");
        const answer = await getOnce(origin, listOf({ repo }));
        assertEquals(JSON.parse(textOf(answer)).pagination.totalItems, LARGE_TOTAL);
        busy[mode]!.listedMs.push(answer.ms);
      }
      busy[mode]!.results.push(await loaded);
    }
  }
  const measured = rows.map(({ title, results, listedMs }) => ({
    title,
    listings: listedMs.length === 0 ? "–" : `${listedMs.length} of ${number(median(listedMs))} ms`,
    perSecond: median(results.map((run) => run.perSecond)),
    p99Ms: median(results.map((run) => run.p99Ms)),
    latestMs: Math.max(...results.map((run) => run.maxMs)),
  }));
  return {
    goals: measured.slice(1).map(({ title, p99Ms, latestMs }) =>
      goal(
        `other hits during cold listings of 100,000 items (${title})`,
        "p99 under 50 ms, none over 150 ms",
        `p99 ${number(p99Ms)} ms, latest ${number(latestMs)} ms`,
        p99Ms < 50 && latestMs <= 150,
      )
    ),
    markdown: table(
      ["hits while there is", "requests/s", "p99 ms", "max ms", "listings"],
      measured.map(({ title, perSecond, p99Ms, latestMs, listings }) => [
        ...[title, number(perSecond), number(p99Ms), number(latestMs), listings],
      ]),
    ),
  };
}

const SOURCE_LATENCY_MS = 50;
const COLD_REQUESTS = [
  { title: "a list at depth 2", more: {}, wanted: 3.2 },
  { title: "the same with the contents of 50", more: { includeContent: "true" }, wanted: 4.2 },
];

/** From a cold request to its answer, in round trips to a source that takes 50 ms. */
export async function measureColdRequests(
  env: Readonly<Record<string, string>>,
  double: RunningDouble,
  rounds: number,
): Promise<Part> {
  const measured = COLD_REQUESTS.map((request) => ({ ...request, trips: [] as number[] }));
  for (let round = 0; round < rounds; round++) {
    for (const { more, trips } of measured) {
      await using service = await startService({ env, core: SERVER_CORE });
      // Loads the modules and compiles them, on a repository of its own.
      await getOnce(service.origin, listOf({ repo: "small", includeContent: "true" }));
      await double.call("set", { latencyMs: SOURCE_LATENCY_MS });
      const path = listOf({ repo: "deep", collection: "content/posts", ...more });
      trips.push((await getOnce(service.origin, path)).ms / SOURCE_LATENCY_MS);
      await double.call("set", { latencyMs: 0 });
    }
  }
  return {
    goals: measured.map(({ title, wanted, trips }) => {
      const what = `${title}, cold, in round trips of ${SOURCE_LATENCY_MS} ms`;
      return goal(what, `at most ${wanted}`, spread(trips), median(trips) <= wanted);
    }),
    markdown: table(
      ["cold request", "round trips (min–max)"],
      measured.map(({ title, trips }) => [title, spread(trips)]),
    ),
  };
}

const FIRST_REQUESTS = {
  "/api/health": "/api/health",
  "a list of ./examples": listOf({ owner: "local", repo: "blog" }),
};

/** From the start of the process to its first answer, with the modules in Deno's cache. */
export async function measureStart(count: number): Promise<Part> {
  const times = Object.entries(FIRST_REQUESTS)
    .map(([title, path]) => ({ title, path, ms: [] as number[] }));
  // The first round only fills the machine's caches.
  for (let round = -1; round < count; round++) {
    for (const { path, ms } of times) {
      const startedMs = performance.now();
      await using _service = await startService({ path });
      if (round >= 0) ms.push(performance.now() - startedMs);
    }
  }
  return {
    goals: times.map(({ title, ms }) => {
      const what = `process start to first answer (${title})`;
      return goal(what, "under 250 ms", `${spread(ms)} ms`, median(ms) < 250);
    }),
    markdown: table(
      ["first request", "ms (min–max)"],
      times.map(({ title, ms }) => [title, spread(ms)]),
    ),
  };
}
