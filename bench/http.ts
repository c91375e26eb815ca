// `deno task bench:http`: the service under load beside a bare server, the
// least cache, Hono, nginx and Varnish; pages of large and small collections;
// hits during cold listings; cold requests; the time to start. `--rounds` sets
// how often.

import { assertEquals } from "@std/assert";
import type { ListBody } from "../lib/api/contract.ts";
import { makeGitRepository } from "../tests/github/git_repository.ts";
import { generateFiles } from "../tests/github/generated_files.ts";
import type { RunningDouble } from "../tests/github/start_double.ts";
import { json } from "../tests/raw_http.ts";
import { listPath } from "../tests/service.ts";
import {
  LOAD,
  load,
  type LoadResult,
  measureLoad,
  type Part,
} from "./http_load.ts";
import { core } from "./http_servers.ts";
import {
  type Env,
  get,
  outputOf,
  pause,
  startService,
  startSource,
} from "./processes.ts";
import type { Goal } from "./report.ts";
import {
  atMost,
  flag,
  median,
  number,
  runBench,
  sample,
  spread,
  table,
} from "./report.ts";

const rounds = Number(flag("rounds", "5"));

const CONDITIONS = [
  `${rounds} rounds, ${LOAD.seconds} s a server and scenario, ${LOAD.connections} connections; servers are restarted ` +
  "for each round and run on one core, the load generator on the other, where there are two",
  "Processor time is that of the server's process (with Varnish: of both), divided by its requests; ratios are " +
  "medians of the ratios of each round, and above 1 the server is cheaper than the bare one",
  "The service runs with the permissions of `deno task start` and default settings, but for `GITHUB_API_URL`, " +
  "`GITHUB_TOKEN`, `MISSES_PER_MINUTE=0`, `PUBLIC_URL` and `LOG_LEVEL=warn` (`info` to a file where it says so)",
  "bare: `Deno.serve` sending the same bytes (one-byte text as a string) and headers; skeleton: the same with one " +
  "look-up by URL, two request headers and three fresh response headers; Hono: its `cors()` and `etag()`; nginx: the " +
  "same bytes from a file with the same headers; Varnish: in front of the service",
];

const LARGE = { folders: 100, filesPerFolder: 1_000, identical: true };
/** Repositories without earlier requests, more than are listed. */
const COLD = Array.from({ length: 300 }, (_, n) => `cold${n}`);

/** Repositories of collections that no earlier search has indexed. */
const INDEXED = ["indexed0", "indexed1"];
const COLLECTIONS = ["a", "b", "c", "d"];

/** A goal and a line of a table for each row. */
function partOf<
  Row extends { readonly title: string; readonly times: readonly number[] },
>(
  head: readonly string[],
  rows: readonly Row[],
  goalOf: (row: Row) => Goal,
): Part {
  const lines = rows.map(({ title, times }) => [title, spread(times)]);
  return { goals: rows.map(goalOf), markdown: table(head, lines) };
}

/**
 * Pages without a cached response, each requested once, of collections whose
 * trees are cached.
 */
async function measurePages(origin: string): Promise<Part> {
  const series = [
    {
      title: "20,000 items",
      repo: "site",
      pageIn: (round: number) => 1 + round,
    },
    {
      title: "100,000 items, first pages",
      repo: "large",
      pageIn: (round: number) => 1 + round,
    },
    {
      title: "100,000 items, last pages",
      repo: "large",
      pageIn: (round: number) => 2_000 - round,
    },
  ];
  const rows = await sample(
    40 * rounds,
    series,
    async ({ repo, pageIn }, round) => {
      return (await get(origin, listPath({ repo, page: pageIn(round) }))).ms;
    },
  );
  const ratioOf = (times: readonly number[]) =>
    median(times) / median(rows[0]!.times);
  return {
    goals: rows.slice(1).map(({ title, times }) =>
      atMost(
        `page of 50 from ${title}, of one from 20,000 items`,
        1.5,
        ratioOf(times),
      )
    ),
    markdown: table(
      ["page of 50, not cached, from", "ms (min–max)", "of 20,000 items"],
      rows.map((
        { title, times },
      ) => [title, spread(times), number(ratioOf(times))]),
    ),
  };
}

/**
 * How the double answers: all in one piece of some 30 MB, or truncated as
 * GitHub documents.
 */
const MODES = [
  { title: "no listing", settings: null },
  {
    title: "one answer",
    settings: { truncateAt: 1_000_000, truncateBytes: 1e9 },
  },
  {
    title: "cut at 7 MB, folder by folder",
    settings: { truncateAt: 100_000, truncateBytes: 7e6 },
  },
];

/**
 * Hits of another collection while listings of 100,000 files are read one after
 * the other.
 */
async function measureColdListings(
  origin: string,
  double: RunningDouble,
): Promise<Part> {
  const rows = MODES.map((mode) => ({
    ...mode,
    runs: [] as LoadResult[],
    times: [] as number[],
  }));
  let listed = 0;
  for (let round = 0; round < Math.min(3, rounds); round++) {
    for (const { settings, runs, times } of rows) {
      await double.call("set", settings ?? {});
      let isListing = settings !== null;
      const loaded = load(origin + listPath(), {}, 6).finally(() =>
        isListing = false
      );
      await pause(100);
      while (isListing) {
        const answer = await get(origin, listPath({ repo: COLD[listed++]! }));
        assertEquals(json<ListBody>(answer).pagination.totalItems, 100_000);
        times.push(answer.ms);
      }
      runs.push(await loaded);
    }
  }
  const p99Ms = (runs: readonly LoadResult[]) =>
    median(runs.map((run) => run.p99Ms));
  const latestMs = (runs: readonly LoadResult[]) =>
    Math.max(...runs.map((run) => run.maxMs));
  const hits = "other hits during cold listings of 100,000 items";
  return {
    goals: rows.slice(1).flatMap(({ title, runs }) => [
      atMost(`${hits} (${title}), p99, ms`, 50, p99Ms(runs)),
      atMost(`the latest of them (${title}), ms`, 150, latestMs(runs)),
    ]),
    markdown: table(
      ["hits while there is", "p99 ms", "max ms", "requests/s", "ms a listing"],
      rows.map(({ title, runs, times }) => {
        const perSecond = median(runs.map((run) => run.perSecond));
        return [
          title,
          ...[p99Ms(runs), latestMs(runs), perSecond].map(number),
          spread(times),
        ];
      }),
    ),
  };
}

/**
 * Hits of another collection while collections of 3,000 posts are indexed for
 * their first search.
 */
async function measureIndexing(origin: string): Promise<Part> {
  const times: number[] = [];
  const idle: LoadResult[] = [];
  const runs: LoadResult[] = [];
  for (const repo of INDEXED) {
    idle.push(await load(origin + listPath(), {}, 6));
    let isLoading = true;
    const loaded = load(origin + listPath(), {}, 6).finally(() =>
      isLoading = false
    );
    await pause(100);
    for (const collection of COLLECTIONS) {
      if (!isLoading) break;
      const path = listPath({ repo, collection, search: "word", limit: 1 });
      const startedMs = performance.now();
      for (let status = 503; status === 503;) {
        const response = await fetch(origin + path);
        await response.body?.cancel();
        ({ status } = response);
        if (status === 503) await pause(100);
        else assertEquals(status, 200);
      }
      times.push(performance.now() - startedMs);
    }
    runs.push(await loaded);
  }
  const p99Ms = (runs: readonly LoadResult[]) =>
    median(runs.map((run) => run.p99Ms));
  const row = (title: string, runs: readonly LoadResult[], times: string) => {
    const latestMs = Math.max(...runs.map((run) => run.maxMs));
    const perSecond = median(runs.map((run) => run.perSecond));
    return [title, ...[p99Ms(runs), latestMs, perSecond].map(number), times];
  };
  return {
    goals: [
      atMost(
        "other hits while collections of 3,000 posts are indexed, p99, ms",
        100,
        p99Ms(runs),
      ),
    ],
    markdown: table(
      [
        "hits while there is",
        "p99 ms",
        "max ms",
        "requests/s",
        "ms a first search",
      ],
      [row("no indexing", idle, ""), row("indexing", runs, spread(times))],
    ),
  };
}

/**
 * From a cold request to its answer, in round trips to a source that takes 50
 * ms.
 */
async function measureColdRequests(
  env: Env,
  double: RunningDouble,
): Promise<Part> {
  const latencyMs = 50;
  const requests = [
    { title: "a list at depth 2", includeContent: false, most: 3.2 },
    {
      title: "the same with the contents of 50",
      includeContent: true,
      most: 4.2,
    },
  ];
  const rows = await sample(rounds, requests, async ({ includeContent }) => {
    await using service = await startService({ env, core });
    // Loads the modules and compiles them, on a repository of its own.
    await get(
      service.origin,
      listPath({ repo: "small", includeContent: true }),
    );
    await double.call("set", { latencyMs });
    const path = listPath({
      repo: "deep",
      collection: "content/posts",
      includeContent,
    });
    const { ms } = await get(service.origin, path);
    await double.call("set", { latencyMs: 0 });
    return ms / latencyMs;
  });
  return partOf(
    ["cold request", "round trips (min–max)"],
    rows,
    ({ title, most, times }) => {
      return atMost(
        `${title}, cold, in round trips of ${latencyMs} ms`,
        most,
        times,
      );
    },
  );
}

/**
 * From the start of the process to its first answer, with the modules in Deno's
 * cache.
 */
async function measureStart(): Promise<Part> {
  const requests = [
    { title: "/api/health", path: "/api/health" },
    {
      title: "a list of ./examples",
      path: listPath({ owner: "local", repo: "blog" }),
    },
  ];
  const rows = await sample(2 * rounds, requests, async ({ path }) => {
    const startedMs = performance.now();
    await using _service = await startService({ path });
    return performance.now() - startedMs;
  });
  return partOf(["first request", "ms (min–max)"], rows, ({ title, times }) => {
    return atMost(`process start to first answer (${title}), ms`, 250, times);
  });
}

await runBench(
  { title: "Under HTTP load", section: "bench:http" },
  async (cleanup) => {
    const { dir } = cleanup.use(await makeGitRepository(generateFiles(LARGE)));
    const posts = cleanup.use(
      await makeGitRepository(
        COLLECTIONS.flatMap((prefix) => [
          ...generateFiles({
            prefix,
            folders: 1,
            filesPerFolder: 3_000,
            bytes: 2_000,
          }),
        ]),
      ),
    );
    const { double, settings } = await startSource(cleanup, {
      "octo/site": {
        generate: { folders: 10, filesPerFolder: 2_000, bytes: 1_200 },
      },
      "octo/small": {
        generate: { folders: 1, filesPerFolder: 100, identical: true },
      },
      "octo/deep": {
        generate: {
          prefix: "content/posts",
          folders: 0,
          filesPerFolder: 100,
          bytes: 2_000,
        },
      },
      ...Object.fromEntries(
        INDEXED.map((repo) => [`octo/${repo}`, { dir: posts.dir }]),
      ),
      ...Object.fromEntries(
        ["large", ...COLD].map((repo) => [`octo/${repo}`, { dir }]),
      ),
    });
    // Servers have ports of their own, and responses contain addresses.
    const env = { ...settings, PUBLIC_URL: "http://bench.example" };
    const { origin } = cleanup.use(await startService({ env }));
    const wrk = await outputOf(["sh", "-c", "wrk -v; true"]);
    const parts: [title: string, part: Part][] = [
      ["Under load", await measureLoad(origin, rounds, env)],
      ["Flat in the collection", await measurePages(origin)],
      ["During cold listings", await measureColdListings(origin, double)],
      ["While collections are indexed", await measureIndexing(origin)],
      ["Cold requests", await measureColdRequests(env, double)],
      ["Start", await measureStart()],
    ];
    return {
      conditions: [wrk.split(" ", 2).join(" "), ...CONDITIONS],
      goals: parts.flatMap(([, { goals }]) => goals),
      parts: parts.map(([title, { markdown }]) =>
        `### ${title}\n\n${markdown}`
      ),
    };
  },
);
