// What is not a hit in `bench:http`: pages of large and small collections, hits while cold listings run, cold requests in
// round trips to the source, and the time to start.

import { assert, assertEquals } from "@std/assert";
import type { RunningDouble } from "../tests/github/start_double.ts";
import { listOf } from "./http_load.ts";
import { load, type LoadResult, SERVER_CORE } from "./load.ts";
import { pause } from "./processes.ts";
import { RawClient } from "./raw_client.ts";
import { type Goal, median, number, spread, table } from "./report.ts";
import { OWNER, SHAPES } from "./repositories.ts";
import { launchService, startService } from "./service_process.ts";

/** A part of the report. */
export interface Part {
  readonly markdown: string;
  readonly goals: readonly Goal[];
}

const LIMIT = 50;
const LARGE_TOTAL = SHAPES.large.folders * SHAPES.large.filesPerFolder;
const LARGE_PAGES = LARGE_TOTAL / LIMIT;
const SERIES = [
  { title: "100 items", repo: "small", page: (index: number) => 1 + index % 2 },
  { title: "100,000 items, first pages", repo: "large", page: (index: number) => 1 + index % 10 },
  { title: "100,000 items, last pages", repo: "large", page: (i: number) => LARGE_PAGES - i % 10 },
] as const;

/** Pages that no cache has as responses, of collections whose trees are cached. */
export async function measurePages(
  { origin, double, rounds, count }: {
    origin: string;
    double: RunningDouble;
    rounds: number;
    count: number;
  },
): Promise<Part> {
  using client = await RawClient.connect(origin);
  // Names are echoed as they were spelled, so each spelling is a response of its own.
  const spelled = (name: string, bits: number) =>
    [...name].map((letter, at) => bits >> at & 1 ? letter.toUpperCase() : letter).join("");
  const timed = async (repo: string, page: number, spelling: number): Promise<number> => {
    const path = listOf(`&page=${page}`, spelled(repo, spelling >> OWNER.length))
      .replace(`owner=${OWNER}`, `owner=${spelled(OWNER, spelling)}`);
    const startedMs = performance.now();
    const { status } = await client.get(path);
    const ms = performance.now() - startedMs;
    assertEquals(status, 200, path);
    return ms;
  };
  for (const { repo } of SERIES) await timed(repo, 1_000_000, 0);
  await double.call("resetCounts");
  const rows = SERIES.map(() => [] as number[]);
  for (let round = 0, request = 0; round < rounds; round++) {
    const times = SERIES.map(() => [] as number[]);
    for (let index = 0; index < count; index++, request++) {
      for (const [which, { repo, page }] of SERIES.entries()) {
        times[which]!.push(await timed(repo, page(request), request % 512));
      }
    }
    times.forEach((values, which) => rows[which]!.push(median(values)));
  }
  const { tree = 0, blob = 0 } = await double.call("counts") as Record<string, number>;
  assertEquals([tree, blob], [0, 0], "pages of known trees were read from the source");
  const ofSmall = rows.map((row) => row.map((ms, round) => ms / rows[0]![round]!));
  return {
    goals: SERIES.slice(1).map(({ title }, index) => ({
      what: `page of ${LIMIT} from ${title}, of one from 100 items`,
      wanted: "at most 1.50",
      measured: spread(ofSmall[index + 1]!),
      met: median(ofSmall[index + 1]!) <= 1.5,
    })),
    markdown: table(
      ["page of 50, not cached, from", "ms (min–max of rounds)", "of 100 items (min–max)"],
      SERIES.map(({ title }, index) => [title, spread(rows[index]!), spread(ofSmall[index]!)]),
    ),
  };
}

/** Names of repositories that are listed once each. */
export function coldNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `cold${index}`);
}

/** How the double answers: all in one piece of some 30 MB, or truncated as GitHub documents. */
const MODES = [
  { title: "one answer", settings: { truncateAt: 1_000_000, truncateBytes: 1e9 } },
  { title: "cut at 7 MB, folder by folder", settings: { truncateAt: 100_000, truncateBytes: 7e6 } },
];

/** Hits of another collection while listings of 100,000 files are read one after the other. */
export async function measureColdListings(
  { origin, double, names, rounds, seconds, connections }: {
    origin: string;
    double: RunningDouble;
    names: readonly string[];
    rounds: number;
    seconds: number;
    connections: number;
  },
): Promise<Part> {
  const hits = { origin, paths: [listOf()], seconds, connections };
  const left = [...names];
  const quiet: LoadResult[] = [];
  const busy = MODES.map(() => ({ results: [] as LoadResult[], listedMs: [] as number[] }));
  for (let round = 0; round < rounds; round++) {
    quiet.push(await load(hits));
    for (const [mode, { settings }] of MODES.entries()) {
      await double.call("set", settings);
      let running = true;
      const loaded = load(hits).finally(() => running = false);
      await pause(100);
      while (running) {
        const name = left.shift();
        assert(name !== undefined, "there are too few repositories for cold listings");
        busy[mode]!.listedMs.push(await listCold(origin, name));
      }
      busy[mode]!.results.push(await loaded);
    }
  }
  const latest = (results: readonly LoadResult[]) => Math.max(...results.map((run) => run.maxMs));
  const p99 = (results: readonly LoadResult[]) => median(results.map((run) => run.p99Ms));
  const row = (title: string, results: readonly LoadResult[], listedMs: readonly number[]) => [
    title,
    number(median(results.map(({ perSecond }) => perSecond))),
    number(p99(results)),
    number(latest(results)),
    listedMs.length === 0 ? "–" : `${listedMs.length} of ${number(median(listedMs))} ms`,
  ];
  return {
    goals: MODES.map(({ title }, mode) => {
      const { results } = busy[mode]!;
      return {
        what: `other hits during cold listings of 100,000 items (${title})`,
        wanted: "p99 under 50 ms, none over 150 ms",
        measured: `p99 ${number(p99(results))} ms, latest ${number(latest(results))} ms`,
        met: p99(results) < 50 && latest(results) <= 150,
      };
    }),
    markdown: table(["hits while there is", "requests/s", "p99 ms", "max ms", "listings"], [
      row("no listing", quiet, []),
      ...MODES.map(({ title }, mode) => row(title, busy[mode]!.results, busy[mode]!.listedMs)),
    ]),
  };
}

async function listCold(origin: string, repo: string): Promise<number> {
  using client = await RawClient.connect(origin);
  const startedMs = performance.now();
  const { status, body } = await client.get(listOf("", repo));
  const ms = performance.now() - startedMs;
  const text = new TextDecoder().decode(body);
  assertEquals(status, 200, text);
  assertEquals(JSON.parse(text).pagination.totalItems, LARGE_TOTAL);
  return ms;
}

const SOURCE_LATENCY_MS = 50;
const COLD_REQUESTS = [
  { title: "a list at depth 2", paths: "collection=content%2Fposts", wanted: 3.2 },
  {
    title: "the same with the contents of 50",
    paths: "collection=content%2Fposts&includeContent=true",
    wanted: 4.2,
  },
];

/** From a cold request to its first byte, in round trips to a source that takes 50 ms. */
export async function measureColdRequests(
  { env, double, rounds }: { env: Record<string, string>; double: RunningDouble; rounds: number },
): Promise<Part> {
  const times = COLD_REQUESTS.map(() => [] as number[]);
  for (let round = 0; round < rounds; round++) {
    for (const [index, { paths }] of COLD_REQUESTS.entries()) {
      await using service = await startService({ env, core: SERVER_CORE });
      // Loads the modules and compiles them, on a repository of its own.
      await (await fetch(`${service.origin}${listOf("&includeContent=true", "small")}`)).text();
      await double.call("set", { latencyMs: SOURCE_LATENCY_MS });
      using client = await RawClient.connect(service.origin);
      const startedMs = performance.now();
      const { status } = await client.get(
        `/api/list-collection-items?owner=${OWNER}&repo=deep&${paths}`,
      );
      times[index]!.push((performance.now() - startedMs) / SOURCE_LATENCY_MS);
      assertEquals(status, 200, paths);
      await double.call("set", { latencyMs: 0 });
    }
  }
  return {
    goals: COLD_REQUESTS.map(({ title, wanted }, index) => ({
      what: `${title}, cold, in round trips of ${SOURCE_LATENCY_MS} ms`,
      wanted: `at most ${wanted}`,
      measured: spread(times[index]!),
      met: median(times[index]!) <= wanted,
    })),
    markdown: table(
      ["cold request", "round trips (min–max)"],
      COLD_REQUESTS.map(({ title }, index) => [title, spread(times[index]!)]),
    ),
  };
}

const FIRST_REQUESTS = [
  { title: "/api/health", path: "/api/health" },
  {
    title: "a list of ./examples",
    path: "/api/list-collection-items?owner=local&repo=blog&collection=posts",
  },
];

/** From the start of the process to its first answer, with the modules in Deno's cache. */
export async function measureStart(count: number): Promise<Part> {
  await timeToAnswer(FIRST_REQUESTS[1]!.path);
  const times = FIRST_REQUESTS.map(() => [] as number[]);
  for (let round = 0; round < count; round++) {
    for (const [index, { path }] of FIRST_REQUESTS.entries()) {
      times[index]!.push(await timeToAnswer(path));
    }
  }
  return {
    goals: FIRST_REQUESTS.map(({ title }, index) => ({
      what: `process start to first answer (${title})`,
      wanted: "under 250 ms",
      measured: `${spread(times[index]!)} ms`,
      met: median(times[index]!) < 250,
    })),
    markdown: table(
      ["first request", "ms (min–max)"],
      FIRST_REQUESTS.map(({ title }, index) => [title, spread(times[index]!)]),
    ),
  };
}

async function timeToAnswer(path: string): Promise<number> {
  const startedMs = performance.now();
  await using service = await launchService();
  let ended = false;
  service.process.ended.then(() => ended = true);
  while (!ended) {
    try {
      using client = await RawClient.connect(service.origin);
      const { status } = await client.get(path);
      assertEquals(status, 200, path);
      return performance.now() - startedMs;
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionRefused)) throw error;
      await pause(1);
    }
  }
  throw new Error(`Cannot start "${service.origin}": it ended before its first answer`);
}
