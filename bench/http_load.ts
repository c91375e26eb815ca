// The loads of `bench:http`: which requests, how each round measures them, and
// the goals. What is steady on a shared machine is processor time a request;
// requests a second and p99 stand beside it.

import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { itemPath, listPath } from "../tests/service.ts";
import { type Server, SERVERS, startServer } from "./http_servers.ts";
import {
  type Answer,
  type Env,
  get,
  outputOf,
  pause,
  pinned,
  processorMs,
} from "./processes.ts";
import {
  atLeast,
  atMost,
  type Goal,
  median,
  number,
  spread,
  table,
} from "./report.ts";

/** A part of the report. */
export type Part = {
  readonly markdown: string;
  readonly goals: readonly Goal[];
};

const LOAD_CORE = 1;
/** How each server is put under load. */
export const LOAD = { seconds: 2, connections: 64 };
const ITEM = itemPath({ path: "posts/d000/post-00000.md" });
const GZIP = { "accept-encoding": "gzip, deflate, br, zstd" };
const MOST: readonly Server[] = [
  "bare",
  "skeleton",
  "service",
  "service, info",
  "nginx",
];
const ALL: readonly Server[] = [...MOST, "hono", "varnish"];
/** The servers whose answers say that they come from a cache. */
const CACHES: readonly Server[] = ["service", "service, info", "varnish"];
/**
 * The kinds of requests; the one for a 304 is conditional, which warm() sees
 * to.
 */
const SCENARIOS = {
  list: {
    title: "list hit, plain",
    path: listPath(),
    headers: {},
    servers: ALL,
  },
  gzip: {
    title: "list hit, gzip",
    path: listPath(),
    headers: GZIP,
    servers: MOST,
  },
  unchanged: {
    title: "list hit, 304",
    path: listPath(),
    headers: {},
    servers: ALL,
  },
  content: { title: "content hit", path: ITEM, headers: {}, servers: MOST },
};

const INFO = "list hit with LOG_LEVEL=info to a file, of the bare server";
/**
 * The least share of one measurement's processor time in another's; each is
 * named by scenario and server.
 */
const SHARES = [
  [
    "list hit, of the bare server by processor time",
    0.75,
    "list service",
    "list bare",
  ],
  ["list hit, of the skeleton", 0.85, "list service", "list skeleton"],
  [INFO, 0.65, "list service, info", "list bare"],
  ["list hit, of Hono", 1.5, "list service", "list hono"],
  ["gzip hit, of the bare server", 0.75, "gzip service", "gzip bare"],
  // A bare 304 reads no request header, so that no server that compares a tag
  // can cost the same.
  [
    "304, of the bare server's whole list",
    0.9,
    "unchanged service",
    "list bare",
  ],
  [
    "304, of the skeleton's 304",
    0.9,
    "unchanged service",
    "unchanged skeleton",
  ],
] as const;
const LATE = {
  list: "list hit",
  gzip: "gzip hit",
  unchanged: "304",
  content: "content hit",
};

/**
 * The result of one run of wrk; `errors` are requests without an answer, or
 * with a status of 400 or more.
 */
export type LoadResult = Readonly<
  Record<
    "requests" | "perSecond" | "p50Ms" | "p99Ms" | "maxMs" | "errors",
    number
  >
>;

/** Puts a server under load. */
export async function load(
  url: string,
  headers: Env = {},
  seconds = LOAD.seconds,
) {
  const command = [
    ...["wrk", "--threads", "1", "--connections", `${LOAD.connections}`],
    ...["--duration", `${seconds}s`, "--timeout", "30s"],
    ...["--script", join(import.meta.dirname!, "load.lua")],
    ...Object.entries(headers).flatMap((
      [name, value],
    ) => ["--header", `${name}: ${value}`]),
    url,
  ];
  const text = await outputOf(pinned(command, LOAD_CORE));
  return JSON.parse(text.slice(text.lastIndexOf('{"requests"'))) as LoadResult;
}

/**
 * One measurement; `processorUs` is the server's processor time for one
 * request, in µs.
 */
type Run = LoadResult & { readonly processorUs: number };
type Runs = ReadonlyMap<string, Run[]>;

/**
 * Measures all scenarios on their servers, as the service at `origin` answers
 * them; a table and the goals.
 */
export async function measureLoad(
  origin: string,
  rounds: number,
  env: Env,
): Promise<Part> {
  const answers: Record<string, Answer> = {};
  for (const name of Object.keys(SCENARIOS)) {
    answers[name] = (await warm(name, origin, true)).answer;
  }
  /** Of all rounds, by scenario and server. */
  const runs = new Map<string, Run[]>();
  // The first round only warms up the machine's caches.
  for (let round = -1; round < rounds; round++) {
    for (const index of SERVERS.keys()) {
      const server =
        SERVERS[(index + round + SERVERS.length) % SERVERS.length]!;
      // Hono answers a conditional request itself, and needs the body for that.
      const sent = server === "hono"
        ? { ...answers, unchanged: answers["list"]! }
        : answers;
      await using cleanup = new AsyncDisposableStack();
      const { processes, originOf } = await startServer(server, env, sent);
      for (const process of processes) cleanup.use(process);
      for (const [name, { path, servers }] of Object.entries(SCENARIOS)) {
        if (!servers.includes(server)) continue;
        const origin = originOf(name);
        const { answer, headers } = await warm(
          name,
          origin,
          CACHES.includes(server),
        );
        const { status, body } = answers[name]!;
        assertEquals(
          [answer.status, answer.body],
          [status, body],
          `${server}, ${name}`,
        );
        // The server's code for this scenario is compiled as it runs.
        await load(origin + path, headers, 1);
        const beforeMs = await processorMs(...processes);
        const result = await load(origin + path, headers);
        assertEquals(result.errors, 0, name);
        const processorUs = (await processorMs(...processes) - beforeMs) *
          1000 / result.requests;
        const own = runs.getOrInsertComputed(`${name} ${server}`, () => []);
        if (round >= 0) own.push({ ...result, processorUs });
      }
    }
    console.error(round < 0 ? "warmed up" : `round ${round + 1} of ${rounds}`);
  }
  return { markdown: loadTable(runs), goals: loadGoals(runs) };
}

/**
 * Requests until the answer comes from the cache, where there is one, in the
 * requested coding.
 */
async function warm(name: string, origin: string, isCached: boolean) {
  const { path, headers: own } = SCENARIOS[name as keyof typeof SCENARIOS];
  const etag = name === "unchanged"
    ? (await get(origin, path)).headers.get("etag")
    : null;
  const headers: Env = etag === null ? own : { "if-none-match": etag };
  for (const untilMs = performance.now() + 5_000;; await pause(5)) {
    const answer = await get(origin, path, headers);
    const has = (name: string, value: RegExp) =>
      value.test(answer.headers.get(name) ?? "");
    // Varnish names the request that filled its cache as a second id.
    const isHit = !isCached || has("cache-status", /hit/) ||
      has("x-varnish", /^\d+ \d+$/);
    if (isHit && (name !== "gzip" || has("content-encoding", /gzip/))) {
      return { headers, answer };
    }
    assert(
      performance.now() < untilMs,
      `Cannot warm "${path}": ${answer.status}`,
    );
  }
}

/** `pick(a) / pick(b)`, round by round. */
const ratiosOf = (
  a: readonly Run[],
  b: readonly Run[],
  pick: (run: Run) => number,
) => a.map((run, index) => pick(run) / pick(b[index]!));

const processorOf = (run: Run) => run.processorUs;
const p99Of = (run: Run) => run.p99Ms;

function loadTable(runs: Runs): string {
  const rows = Object.entries(SCENARIOS).flatMap(([name, { title, servers }]) =>
    servers.map((server) => {
      const [bare, own] = [
        runs.get(`${name} bare`)!,
        runs.get(`${name} ${server}`)!,
      ];
      const middle = (pick: (run: Run) => number) =>
        number(median(own.map(pick)));
      return [
        ...[
          title,
          server,
          middle(processorOf),
          spread(ratiosOf(bare, own, processorOf)),
        ],
        ...[
          middle((run) => run.perSecond),
          middle((run) => run.p50Ms),
          middle(p99Of),
        ],
        number(median(ratiosOf(own, bare, p99Of))),
      ];
    })
  );
  const head =
    "request|server|processor µs|bare / it (min–max)|requests/s|p50 ms|p99 ms|p99 / bare's";
  return table(head.split("|"), rows);
}

function loadGoals(runs: Runs): Goal[] {
  return [
    ...SHARES.map(([what, least, own, other]) =>
      atLeast(
        what,
        least,
        ratiosOf(runs.get(other)!, runs.get(own)!, processorOf),
      )
    ),
    ...Object.entries(LATE).map(([name, hit]) => {
      const ratios = ratiosOf(
        runs.get(`${name} service`)!,
        runs.get(`${name} bare`)!,
        p99Of,
      );
      return atMost(`p99 of a ${hit}, of the bare server's`, 2, ratios);
    }),
  ];
}
