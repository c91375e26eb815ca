// `deno task bench:soak`: the service for minutes under everything at once: hits, misses, bad input, commits, a source
// that fails in every way, and SIGKILL. Every answer is compared with git's. Then the source hangs while 40 branches are
// in use. Exits with 1 where an answer was wrong or too old, the process crashed, or memory grew; `--write` puts the
// report into RESULTS.md.

import { parseArgs } from "node:util";
import type { Fault } from "../tests/github/github_faults.ts";
import { type RunningDouble, startDouble } from "../tests/github/start_double.ts";
import { pause, withProcesses } from "./processes.ts";
import { describeMachine, type Goal, goalTable, median, table, writeResults } from "./report.ts";
import { settingsFor, TOKEN } from "./repositories.ts";
import { SoakService } from "./soak_service.ts";
import {
  chooseRequest,
  type NamedRepository,
  random,
  require,
  type SoakRequest,
  TrueRepository,
} from "./soak_truth.ts";

const HOT = 3;
const COLD = 300;
const BRANCHES = Array.from({ length: 40 }, (_, index) => `topic/b${index}`);
/** Small, so that caches are full when they are first measured, and what grows after that is a leak. */
const CACHE_MEMORY_MB = 16;
const SOURCE_TIMEOUT_MS = 3_000;
const CLIENTS = 6;
const KILLS = 4;
const FAULT_MS = 3_000;
const BETWEEN_FAULTS_MS = 6_000;
const COMMIT_EVERY_MS = 2_000;
/** The service's longest back-off, requests under way when a fault ends, and a busy machine. */
const EXCUSED_AFTER_MS = 60_000 + SOURCE_TIMEOUT_MS + 1_000;
const MAX_AGE_MS = 60_000;
const SLACK_MS = 1_000;
const MAX_GROWTH = 0.1;
const MAX_GROWTH_BYTES = 20e6;
const SOURCE_PROBLEMS = [502, 503, 504];

const FAULTS: readonly (() => Fault | "down")[] = [
  () => ({ kind: "status", status: 500 }),
  () => ({ kind: "garbage" }),
  () => ({ kind: "quota403", resetAtMs: Date.now() + FAULT_MS }),
  () => ({ kind: "hang" }),
  () => ({ kind: "wrong-bytes" }),
  () => "down",
  () => ({ kind: "secondary429", retryAfterSeconds: FAULT_MS / 1000 }),
  () => ({ kind: "reset" }),
];

const { values } = parseArgs({
  args: Deno.args,
  options: {
    minutes: { type: "string", default: "5" },
    write: { type: "boolean", default: false },
  },
});

/** The clients' observations. */
class Tally {
  requests = 0;
  commits = 0;
  readonly wrong: string[] = [];
  readonly faults: string[] = [];
  readonly classes = new Map<string, number>();
  /** The greatest `Age`, and time since a shown commit was replaced, of answers that are not stale-if-error, in ms. */
  greatestAgeMs = 0;
  greatestBehindMs = 0;
  /** Answers of 500 and more, or stale, when no fault excused them. */
  unexcused = 0;
  /** Until when a source problem is excused, in ms since the epoch. */
  excusedUntilMs = 0;

  count(name: string): void {
    this.classes.set(name, (this.classes.get(name) ?? 0) + 1);
  }
}

if (import.meta.main) await withProcesses(main);

async function main(cleanup: AsyncDisposableStack): Promise<void> {
  const totalMs = Number(values.minutes) * 60_000;
  const machine = await describeMachine();
  const hot: NamedRepository[] = [];
  for (let index = 0; index < HOT; index++) {
    const repository = cleanup.use(await TrueRepository.make());
    hot.push({ owner: `hot${index}`, repo: "site", repository, branches: [] });
  }
  const still = cleanup.use(await TrueRepository.make(BRANCHES));
  const cold = Array.from({ length: COLD }, (_, index) => ({
    ...{ owner: `cold${index}`, repo: "site", repository: still, branches: BRANCHES.slice(0, 5) },
  }));
  const double = cleanup.use(
    await startDouble({
      repositories: Object.fromEntries([...hot, ...cold].map(({ owner, repo, repository }) => [
        `${owner}/${repo}`,
        { dir: repository.git.dir },
      ])),
      tokens: { [TOKEN]: { sees: "all" } },
    }),
  );
  const plenty = { limit: 10_000_000, remaining: 10_000_000 };
  await double.call("setQuota", TOKEN, plenty);
  await double.call("setQuota", TOKEN, { ...plenty, resource: "graphql" });
  const service = cleanup.use(
    new SoakService({
      ...settingsFor(double),
      SOURCE_TIMEOUT_MS: `${SOURCE_TIMEOUT_MS}`,
      CACHE_MEMORY_MB: `${CACHE_MEMORY_MB}`,
      LOG_LEVEL: "error",
    }),
  );
  await service.start();

  const tally = new Tally();
  const startMs = Date.now();
  const endMs = startMs + totalMs;
  const [memory] = await Promise.all([
    killThenMeasure(service, { startMs, endMs }),
    runClients(service, { named: [...hot, ...hot, ...cold.slice(0, 100), ...cold], tally, endMs }),
    commitUntil(endMs, hot, tally),
    failUntil(startMs + totalMs / 2 - EXCUSED_AFTER_MS / 2, double, tally),
  ]);
  const known = await answersWhileHanging(service, double);

  const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
  const memoryGoal = (what: string, [first, last]: readonly [number, number]): Goal => {
    const most = first + Math.max(first * MAX_GROWTH, MAX_GROWTH_BYTES);
    return {
      what,
      wanted: `at most 10% or 20 MB more, whichever is more: ${megabytes(most)}`,
      measured: `${megabytes(first)} after the warm-up, ${megabytes(last)} at the end`,
      met: last <= most,
    };
  };
  const none = (what: string, count: number): Goal => ({
    ...{ what, wanted: "0", measured: `${count}`, met: count === 0 },
  });
  const goals: Goal[] = [
    none("wrong answers", tally.wrong.length),
    none("crashes", service.crashes.length),
    none("answers of 500 and more, or stale, without a fault that excuses them", tally.unexcused),
    {
      what: "greatest age while the source was up",
      wanted: "at most 60 s",
      measured: `Age ${tally.greatestAgeMs / 1000} s, replaced for ${
        (tally.greatestBehindMs / 1000).toFixed(1)
      } s`,
      met: tally.greatestAgeMs <= MAX_AGE_MS && tally.greatestBehindMs <= MAX_AGE_MS + SLACK_MS,
    },
    memoryGoal("heap after a forced collection", memory.heap),
    memoryGoal("median RSS", memory.rss),
    {
      what: `known answers of ${BRANCHES.length} branches in use while the source hangs`,
      wanted: `${BRANCHES.length}`,
      measured: `${known}`,
      met: known === BRANCHES.length,
    },
  ];
  const report = [
    "## Soak",
    [
      ...machine,
      `${values.minutes} minutes, ${
        tally.requests.toLocaleString("en-US")
      } requests, ${tally.commits} commits, ` +
      `${tally.faults.length} faults (${
        tally.faults.join(", ")
      }), ${service.kills} times SIGKILL and a restart`,
      "The service runs as `deno task start` with `GITHUB_TOKEN`, `MISSES_PER_MINUTE=0`, " +
      `\`SOURCE_TIMEOUT_MS=${SOURCE_TIMEOUT_MS}\` and \`CACHE_MEMORY_MB=${CACHE_MEMORY_MB}\``,
      `A source problem or a stale answer is excused during a fault and for ${
        EXCUSED_AFTER_MS / 1000
      } s after it`,
    ].map((line) => `- ${line}`).join("\n"),
    goalTable(goals),
    table(
      ["answer", "count"],
      [...tally.classes].sort().map(([name, count]) => [name, count.toLocaleString("en-US")]),
    ),
    ...tally.wrong.slice(0, 10).map((line) => `- ${line}`),
  ].join("\n\n");
  console.log(report);
  if (values.write) await writeResults("bench:soak", report);
  if (goals.some(({ met }) => !met)) Deno.exitCode = 1;
}

/** Each client sends a request, compares the answer, and goes on until the time is over. */
async function runClients(
  service: SoakService,
  { named, tally, endMs }: { named: readonly NamedRepository[]; tally: Tally; endMs: number },
): Promise<void> {
  await Promise.all(Array.from({ length: CLIENTS }, async () => {
    while (Date.now() < endMs) {
      const { origin } = await service.whenUp();
      const sentAtMs = Date.now();
      const request = chooseRequest(named);
      tally.requests++;
      try {
        const response = await fetch(origin + request.path, {
          signal: AbortSignal.timeout(20_000),
        });
        const bytes = await response.bytes();
        const { status, headers } = response;
        await judge(request, { status, headers, bytes, sentAtMs }, tally);
      } catch (error) {
        if (service.wasDownSince(sentAtMs)) tally.count("none: the process was killed");
        else tally.wrong.push(`${new Date(sentAtMs).toISOString()} ${request.path}: ${error}`);
      }
      await pause(random(8));
    }
  }));
}

/** Compares an answer with git and with the contract. @throws {Error} saying what is wrong. */
async function judge(
  request: SoakRequest,
  { status, headers, bytes, sentAtMs }: {
    status: number;
    headers: Headers;
    bytes: Uint8Array;
    sentAtMs: number;
  },
  tally: Tally,
): Promise<void> {
  require(headers.get("access-control-allow-origin") === "*", "no CORS");
  require(headers.has("x-request-id"), "no X-Request-Id");
  const cacheStatus = headers.get("cache-status") ?? "";
  const isStale = cacheStatus.endsWith("detail=stale-if-error");
  const isExcused = sentAtMs <= tally.excusedUntilMs;
  if ((isStale || SOURCE_PROBLEMS.includes(status)) && !isExcused) {
    // The queue may be full without a fault, and a long preparation goes on.
    const code = status === 503 ? JSON.parse(new TextDecoder().decode(bytes)).code : "";
    if (!["service-busy", "collection-not-ready"].includes(code)) tally.unexcused++;
  }
  if (status >= 400) {
    const { code } = JSON.parse(new TextDecoder().decode(bytes));
    tally.count(`${status} ${code}`);
    require(headers.get("cache-control") === "no-store", "a problem that may be cached");
    const { problem } = request;
    const isExpected = problem?.status === status && problem.code === code;
    require(
      isExpected || (request.repository !== null && SOURCE_PROBLEMS.includes(status)),
      `${status} ${code}`,
    );
    return;
  }
  tally.count(
    `${status} ${cacheStatus.replace(/^collections; /, "").replace(/; ttl=-?\d+/, "")}`,
  );
  require(status === 200, `status ${status}`);
  const state = await request.stateOf(bytes);
  if (isStale) return;
  const ageMs = Number(headers.get("age") ?? NaN) * 1000;
  const behindMs = Math.max(0, sentAtMs - state.replacedAtMs);
  require(
    ageMs <= MAX_AGE_MS && behindMs <= MAX_AGE_MS + SLACK_MS,
    `Age ${ageMs} ms, replaced ${behindMs} ms ago`,
  );
  tally.greatestAgeMs = Math.max(tally.greatestAgeMs, ageMs);
  tally.greatestBehindMs = Math.max(tally.greatestBehindMs, behindMs);
}

async function commitUntil(
  endMs: number,
  named: readonly NamedRepository[],
  tally: Tally,
): Promise<void> {
  while (Date.now() + COMMIT_EVERY_MS < endMs) {
    await pause(COMMIT_EVERY_MS);
    await named[random(named.length)]!.repository.change();
    tally.commits++;
  }
}

/** One fault after the other, with time to recover between; the last is over at `endMs`. */
async function failUntil(endMs: number, double: RunningDouble, tally: Tally): Promise<void> {
  for (let turn = 0; Date.now() + BETWEEN_FAULTS_MS + FAULT_MS < endMs; turn++) {
    await pause(BETWEEN_FAULTS_MS);
    const fault = FAULTS[turn % FAULTS.length]!();
    tally.faults.push(fault === "down" ? fault : fault.kind);
    tally.excusedUntilMs = Infinity;
    if (fault === "down") await double.call("down");
    else await double.call("set", { fault });
    await pause(FAULT_MS);
    if (fault === "down") await double.call("up");
    else await double.call("set", { fault: null });
    await double.call("release");
    tally.excusedUntilMs = Date.now() + EXCUSED_AFTER_MS;
  }
}

/** Kills the service several times in the first part, then measures it after a warm-up and at the end. */
async function killThenMeasure(
  service: SoakService,
  { startMs, endMs }: { startMs: number; endMs: number },
): Promise<Record<"heap" | "rss", readonly [number, number]>> {
  const totalMs = endMs - startMs;
  const until = (timeMs: number) => pause(Math.max(0, timeMs - Date.now()));
  for (let kill = 1; kill <= KILLS; kill++) {
    await until(startMs + totalMs * 0.4 * kill / KILLS);
    await service.killAndRestart();
  }
  await pause(Math.min(60_000, totalMs * 0.2));
  const windowMs = Math.min(60_000, (endMs - Date.now()) / 2);
  const medianRss = async () => {
    const taken: number[] = [];
    for (const end = Date.now() + windowMs; Date.now() < end; await pause(500)) {
      taken.push(await service.rss());
    }
    return median(taken);
  };
  const firstHeap = await service.heapAfterCollection();
  const firstRss = await medianRss();
  await until(endMs - windowMs);
  const lastRss = await medianRss();
  return { heap: [firstHeap, await service.heapAfterCollection()], rss: [firstRss, lastRss] };
}

/** Reads 40 branches, waits until their checks are too old, lets the source hang, and reads them again at once. */
async function answersWhileHanging(service: SoakService, double: RunningDouble): Promise<number> {
  const { origin } = await service.whenUp();
  const read = async (branch: string) => {
    const query = new URLSearchParams({ owner: "cold0", repo: "site", collection: "c0", branch });
    const response = await fetch(`${origin}/api/list-collection-items?${query}`);
    await response.body?.cancel();
    return response.status;
  };
  for (const branch of BRANCHES) require(await read(branch) === 200, `no list of ${branch}`);
  await pause(MAX_AGE_MS + SLACK_MS);
  await double.call("set", { fault: { kind: "hang" } });
  const statuses = await Promise.all(BRANCHES.map(read));
  await double.call("set", { fault: null });
  await double.call("release");
  return statuses.filter((status) => status === 200).length;
}
