// `deno task bench:http`: the service under load beside a bare server, the least cache, Hono, nginx and Varnish; pages of
// large and small collections; hits during cold listings; cold requests; the time to start. `--write` puts the report
// into RESULTS.md.

import { assert, assertEquals } from "@std/assert";
import { makeGitRepository } from "../tests/github/git_repository.ts";
import { generateFiles } from "../tests/github/generated_files.ts";
import type { RunningDouble } from "../tests/github/start_double.ts";
import { describeWrk, getOnce, load, type LoadResult, SERVER_CORE, textOf } from "./clients.ts";
import { listOf, measureLoad, type Part } from "./http_load.ts";
import { pause, settingsFor, startService, startSource } from "./processes.ts";
import { atMost, flag, median, number, runBench, spread, table } from "./report.ts";

const quick = Deno.args.includes("--quick");
const rounds = Number(flag("rounds", quick ? "1" : "5"));
const seconds = Number(flag("seconds", quick ? "1" : "2"));
const connections = Number(flag("connections", "64"));

const CONDITIONS = [
  `${rounds} rounds, ${seconds} s a server and scenario, ${connections} connections; servers are restarted for each ` +
  "round and run on one core, the load generator on the other, where there are two",
  "Processor time is that of the server's process (with Varnish: of both), divided by its requests; ratios are " +
  "medians of the ratios of each round, and above 1 the server is cheaper than the bare one",
  "The service runs with the permissions of `deno task start` and default settings, but for `GITHUB_API_URL`, " +
  "`GITHUB_TOKEN`, `MISSES_PER_MINUTE=0`, `PUBLIC_URL` and `LOG_LEVEL=warn` (`info` to a file where it says so)",
  "bare: `Deno.serve` sending the same bytes (one-byte text as a string) and headers; skeleton: the same with one " +
  "look-up by URL, two request headers and three fresh response headers; Hono: its `cors()` and `etag()`; nginx: the " +
  "same bytes from a file with the same headers; Varnish: in front of the service",
];

/** The repositories: hits are measured on `site`, cold requests on `deep`, the others are listed. */
const SHAPES = {
  site: { folders: 10, filesPerFolder: 2_000, bytes: 1_200 },
  small: { folders: 1, filesPerFolder: 100, identical: true },
  deep: { prefix: "content/posts", folders: 0, filesPerFolder: 100, bytes: 2_000 },
  large: { folders: 100, filesPerFolder: 1_000, identical: true },
};

const SERIES = [
  { title: "20,000 items", repo: "site", page: (n: number) => n },
  { title: "100,000 items, first pages", repo: "large", page: (n: number) => n },
  { title: "100,000 items, last pages", repo: "large", page: (n: number) => 2_001 - n },
];

/** Pages without a cached response, each requested once, of collections whose trees are cached. */
async function measurePages(origin: string, count: number): Promise<Part> {
  const rows = SERIES.map((series) => ({ ...series, times: [] as number[] }));
  const timed = async (repo: string, page: number) =>
    (await getOnce(origin, listOf({ repo, page: `${page}` }))).ms;
  for (const { repo } of SERIES) await timed(repo, 1_000_000);
  for (let n = 1; n <= count; n++) {
    for (const { repo, page, times } of rows) times.push(await timed(repo, page(n)));
  }
  const ratioOf = (times: readonly number[]) => median(times) / median(rows[0]!.times);
  return {
    goals: rows.slice(1).map(({ title, times }) =>
      atMost(`page of 50 from ${title}, of one from 20,000 items`, 1.5, ratioOf(times))
    ),
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
async function measureColdListings(
  origin: string,
  double: RunningDouble,
  left: string[],
): Promise<Part> {
  const hits = { origin, path: listOf(), seconds: quick ? 3 : 6, connections };
  const rowOf = (title: string) => ({ title, runs: [] as LoadResult[], listedMs: [] as number[] });
  const quiet = rowOf("no listing");
  const busy = MODES.map((mode) => ({ ...mode, ...rowOf(mode.title) }));
  for (let round = 0; round < (quick ? 1 : 3); round++) {
    quiet.runs.push(await load(hits));
    for (const { settings, runs, listedMs } of busy) {
      await double.call("set", settings);
      let isRunning = true;
      const loaded = load(hits).finally(() => isRunning = false);
      await pause(100);
      while (isRunning) {
        const repo = left.shift();
        assert(repo !== undefined, "too few repositories");
        const answer = await getOnce(origin, listOf({ repo }));
        assertEquals(JSON.parse(textOf(answer)).pagination.totalItems, 100_000);
        listedMs.push(answer.ms);
      }
      runs.push(await loaded);
    }
  }
  const p99Ms = (runs: readonly LoadResult[]) => median(runs.map((run) => run.p99Ms));
  const latestMs = (runs: readonly LoadResult[]) => Math.max(...runs.map((run) => run.maxMs));
  return {
    goals: busy.flatMap(({ title, runs }) => [
      atMost(
        `other hits during cold listings of 100,000 items (${title}), p99, ms`,
        50,
        p99Ms(runs),
      ),
      atMost(`the latest of them (${title}), ms`, 150, latestMs(runs)),
    ]),
    markdown: table(
      ["hits while there is", "p99 ms", "max ms", "requests/s", "ms a listing"],
      [quiet, ...busy].map(({ title, runs, listedMs }) => {
        const perSecond = median(runs.map((run) => run.perSecond));
        return [title, ...[p99Ms(runs), latestMs(runs), perSecond].map(number), spread(listedMs)];
      }),
    ),
  };
}

const SOURCE_LATENCY_MS = 50;
const COLD_REQUESTS = [
  { title: "a list at depth 2", more: {}, wanted: 3.2 },
  { title: "the same with the contents of 50", more: { includeContent: "true" }, wanted: 4.2 },
];

/** From a cold request to its answer, in round trips to a source that takes 50 ms. */
async function measureColdRequests(
  env: Readonly<Record<string, string>>,
  double: RunningDouble,
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
    goals: measured.map(({ title, wanted, trips }) =>
      atMost(`${title}, cold, in round trips of ${SOURCE_LATENCY_MS} ms`, wanted, trips)
    ),
    markdown: table(
      ["cold request", "round trips (min–max)"],
      measured.map(({ title, trips }) => [title, spread(trips)]),
    ),
  };
}

const FIRST_REQUESTS = [
  { title: "/api/health", path: "/api/health" },
  { title: "a list of ./examples", path: listOf({ owner: "local", repo: "blog" }) },
];

/** From the start of the process to its first answer, with the modules in Deno's cache. */
async function measureStart(count: number): Promise<Part> {
  const times = FIRST_REQUESTS.map((request) => ({ ...request, ms: [] as number[] }));
  // The first round only fills the machine's caches.
  for (let round = -1; round < count; round++) {
    for (const { path, ms } of times) {
      const startedMs = performance.now();
      await using _service = await startService({ path });
      if (round >= 0) ms.push(performance.now() - startedMs);
    }
  }
  return {
    goals: times.map(({ title, ms }) =>
      atMost(`process start to first answer (${title}), ms`, 250, ms)
    ),
    markdown: table(
      ["first request", "ms (min–max)"],
      times.map(({ title, ms }) => [title, spread(ms)]),
    ),
  };
}

async function measure(cleanup: AsyncDisposableStack) {
  const folder = await Deno.makeTempDir();
  cleanup.defer(() => Deno.remove(folder, { recursive: true }));
  const wanted = new Set(flag("parts", "load,pages,listings,cold,start").split(","));
  const cold = Array.from({ length: wanted.has("listings") ? 300 : 0 }, (_, n) => `cold${n}`);
  const large = cleanup.use(await makeGitRepository(generateFiles(SHAPES.large)));
  const double = await startSource(cleanup, {
    site: { generate: SHAPES.site },
    small: { generate: SHAPES.small },
    deep: { generate: SHAPES.deep },
    ...Object.fromEntries(["large", ...cold].map((name) => [name, { dir: large.dir }])),
  });
  // Servers have ports of their own, and responses contain addresses.
  const env = { ...settingsFor(double), PUBLIC_URL: "http://bench.example" };
  const service = cleanup.use(await startService({ env }));
  const all: [name: string, title: string, measure: () => Promise<Part>][] = [
    ["load", "Under load", () => measureLoad({ env, folder, rounds, seconds, connections })],
    ["pages", "Flat in the collection", () => measurePages(service.origin, quick ? 20 : 200)],
    ["listings", "During cold listings", () => measureColdListings(service.origin, double, cold)],
    ["cold", "Cold requests", () => measureColdRequests(env, double)],
    ["start", "Start", () => measureStart(quick ? 3 : 9)],
  ];
  const parts: string[] = [];
  const goals: Part["goals"][number][] = [];
  for (const [name, title, measure] of all.filter(([name]) => wanted.has(name))) {
    const part = await measure();
    parts.push(`### ${title}\n\n${part.markdown}`);
    goals.push(...part.goals);
    console.error(`${name}: done`);
  }
  return { conditions: [await describeWrk(), ...CONDITIONS], goals, parts };
}

if (import.meta.main) {
  await runBench({ title: "Under HTTP load", section: "bench:http" }, measure);
}
