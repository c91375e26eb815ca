// `deno task bench:soak`: the service for minutes under everything at once: hits, misses, bad input, commits, a source
// that fails in every way, and SIGKILL. Every answer is compared with git's. Then the source hangs while 40 branches are
// in use. Exits with 1 where an answer was wrong or too old, the process crashed, or memory grew; `--write` puts the
// report into RESULTS.md.

import { join } from "@std/path";
import { parseArgs } from "node:util";
import type { Fault } from "../tests/github/github_faults.ts";
import type { RunningDouble } from "../tests/github/start_double.ts";
import { freePort, memoryOf, pause, projectRoot, withProcesses } from "./processes.ts";
import { count, describeMachine, goal, median, never, publish, table } from "./report.ts";
import { pathOf, type RunningService, settingsFor, startService, startSource } from "./service.ts";
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
const totalMs = Number(values.minutes) * 60_000;

/** What was done and seen. */
const tally = {
  requests: 0,
  commits: 0,
  kills: 0,
  /** Exit codes of processes that ended by themselves. */
  crashes: [] as number[],
  wrong: [] as string[],
  faults: [] as string[],
  answers: new Map<string, number>(),
  /** The greatest `Age`, and time since a shown commit was replaced, of answers that are not stale-if-error, in ms. */
  greatestAgeMs: 0,
  greatestBehindMs: 0,
  /** Answers of 500 and more, or stale, when no fault excused them. */
  unexcused: 0,
  /** Until when a source problem is excused, in ms since the epoch. */
  excusedUntilMs: 0,
};

function see(answer: string): void {
  tally.answers.set(answer, (tally.answers.get(answer) ?? 0) + 1);
}

/** One process after the other on one key-value store. It is killed on purpose; any other end of it is a crash. */
class SoakService implements AsyncDisposable {
  private readonly store = join("data", `soak-${crypto.randomUUID()}`);
  private readonly inspectorPort = freePort();
  private running: RunningService | null = null;
  private lastDownMs = 0;

  constructor(private readonly env: Readonly<Record<string, string>>) {}

  async start(): Promise<void> {
    const service = await startService({
      env: { ...this.env, KV_PATH: `./${this.store}/kv` },
      flags: `--inspect=127.0.0.1:${this.inspectorPort}`,
    });
    this.running = service;
    service.ended.then(({ code }) => {
      if (this.running !== service) return;
      tally.crashes.push(code);
      this.running = null;
      this.lastDownMs = Date.now();
      return this.start();
    });
  }

  /** Ends the process as a lost machine would, and starts the next one. */
  async killAndRestart(): Promise<void> {
    const killed = await this.whenUp();
    this.running = null;
    tally.kills++;
    Deno.kill(killed.pid, "SIGKILL");
    await killed[Symbol.asyncDispose]();
    this.lastDownMs = Date.now();
    await this.start();
  }

  /** The process that answers, as soon as there is one. */
  async whenUp(): Promise<RunningService> {
    while (this.running === null) await pause(10);
    return this.running;
  }

  /** Whether it was killed after that time. */
  wasDownSince(fromMs: number): boolean {
    return this.running === null || this.lastDownMs >= fromMs;
  }

  /** The heap after a forced collection, in bytes, as V8's inspector says. */
  async heapAfterCollection(): Promise<number> {
    const targets = await (await fetch(`http://127.0.0.1:${this.inspectorPort}/json`)).json();
    const socket = new WebSocket(targets[0].webSocketDebuggerUrl);
    await new Promise((resolve) => socket.onopen = resolve);
    const call = (method: string) =>
      new Promise<{ usedSize: number }>((resolve) => {
        socket.onmessage = ({ data }) => resolve(JSON.parse(data).result);
        socket.send(JSON.stringify({ id: 1, method }));
      });
    await call("HeapProfiler.collectGarbage");
    const { usedSize } = await call("Runtime.getHeapUsage");
    socket.close();
    return usedSize;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const last = this.running;
    this.running = null;
    await last?.[Symbol.asyncDispose]();
    await Deno.remove(join(projectRoot, this.store), { recursive: true }).catch(() => {});
  }
}

async function main(cleanup: AsyncDisposableStack): Promise<void> {
  const machine = await describeMachine();
  const hot: NamedRepository[] = [];
  for (let n = 0; n < HOT; n++) {
    hot.push({ owner: `hot${n}`, repository: await TrueRepository.make(cleanup), branches: [] });
  }
  const still = await TrueRepository.make(cleanup, BRANCHES);
  const cold = Array.from({ length: COLD }, (_, index) => (
    { owner: `cold${index}`, repository: still, branches: BRANCHES.slice(0, 5) }
  ));
  const repositories = [...hot, ...cold]
    .map(({ owner, repository }) => [`${owner}/site`, { dir: repository.git.dir }]);
  const double = await startSource(cleanup, Object.fromEntries(repositories));
  const service = cleanup.use(
    new SoakService({
      ...settingsFor(double),
      SOURCE_TIMEOUT_MS: `${SOURCE_TIMEOUT_MS}`,
      CACHE_MEMORY_MB: `${CACHE_MEMORY_MB}`,
      LOG_LEVEL: "error",
    }),
  );
  await service.start();
  const startMs = Date.now();
  const endMs = startMs + totalMs;
  const named = [...hot, ...hot, ...cold.slice(0, 100), ...cold];
  const [memory] = await Promise.all([
    killThenMeasure(service, startMs, endMs),
    commitUntil(endMs, hot),
    failUntil(startMs + totalMs / 2 - EXCUSED_AFTER_MS / 2, double),
    ...Array.from({ length: CLIENTS }, () => requestUntil(endMs, service, named)),
  ]);
  const known = await answersWhileHanging(service, double);

  const mb = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
  const memoryGoal = (what: string, [first, last]: readonly [number, number]) => {
    const most = first + Math.max(first * 0.1, 20e6);
    const wanted = `at most 10% or 20 MB more, whichever is more: ${mb(most)}`;
    return goal(
      what,
      wanted,
      `${mb(first)} after the warm-up, ${mb(last)} at the end`,
      last <= most,
    );
  };
  const { greatestAgeMs, greatestBehindMs } = tally;
  await publish({
    title: "Soak",
    conditions: [
      ...machine,
      `${values.minutes} minutes, ${
        count(tally.requests)
      } requests, ${tally.commits} commits, ${tally.faults.length} ` +
      `faults (${tally.faults.join(", ")}), ${tally.kills} times SIGKILL and a restart`,
      "The service runs as `deno task start` with `GITHUB_TOKEN`, `MISSES_PER_MINUTE=0`, " +
      `\`SOURCE_TIMEOUT_MS=${SOURCE_TIMEOUT_MS}\` and \`CACHE_MEMORY_MB=${CACHE_MEMORY_MB}\``,
      "A source problem or a stale answer is excused during a fault and for " +
      `${EXCUSED_AFTER_MS / 1000} s after it`,
    ],
    goals: [
      never("wrong answers", tally.wrong.length),
      never("crashes", tally.crashes.length),
      never(
        "answers of 500 and more, or stale, without a fault that excuses them",
        tally.unexcused,
      ),
      goal(
        "greatest age while the source was up",
        "at most 60 s",
        `Age ${greatestAgeMs / 1000} s, replaced for ${(greatestBehindMs / 1000).toFixed(1)} s`,
        isFresh(greatestAgeMs, greatestBehindMs),
      ),
      memoryGoal("heap after a forced collection", memory.heap),
      memoryGoal("median RSS", memory.rss),
      goal(
        `known answers of ${BRANCHES.length} branches in use while the source hangs`,
        `${BRANCHES.length}`,
        `${known}`,
        known === BRANCHES.length,
      ),
    ],
    parts: [
      table(["answer", "count"], [...tally.answers].sort().map(([name, n]) => [name, count(n)])),
      ...tally.wrong.slice(0, 10).map((line) => `- ${line}`),
    ],
    writeAs: values.write ? "bench:soak" : null,
  });
}

const isFresh = (ageMs: number, behindMs: number) =>
  ageMs <= MAX_AGE_MS && behindMs <= MAX_AGE_MS + SLACK_MS;

/** One client: sends a request, compares the answer, and goes on until the time is over. */
async function requestUntil(
  endMs: number,
  service: SoakService,
  named: readonly NamedRepository[],
): Promise<void> {
  for (; Date.now() < endMs; await pause(random(8))) {
    const { origin } = await service.whenUp();
    const sentAtMs = Date.now();
    const request = chooseRequest(named);
    tally.requests++;
    try {
      const signal = AbortSignal.timeout(20_000);
      const response = await fetch(origin + request.path, { signal });
      await judge(request, response, await response.json(), sentAtMs);
    } catch (error) {
      if (service.wasDownSince(sentAtMs)) see("none: the process was killed");
      else tally.wrong.push(`${new Date(sentAtMs).toISOString()} ${request.path}: ${error}`);
    }
  }
}

/** Compares an answer with git and with the contract. @throws {Error} saying what is wrong. */
async function judge(
  { repository, problem, check }: SoakRequest,
  { status, headers }: Response,
  // deno-lint-ignore no-explicit-any -- an answer is judged field by field
  value: any,
  sentAtMs: number,
): Promise<void> {
  require(headers.get("access-control-allow-origin") === "*", "no CORS");
  require(headers.has("x-request-id"), "no X-Request-Id");
  const cacheStatus = headers.get("cache-status") ?? "";
  const isStale = cacheStatus.endsWith("detail=stale-if-error");
  const isSourceProblem = SOURCE_PROBLEMS.includes(status);
  // The queue may be full without a fault, and a long preparation goes on.
  const isBusy = ["service-busy", "collection-not-ready"].includes(value.code);
  const isExcused = isBusy || sentAtMs <= tally.excusedUntilMs;
  if ((isStale || isSourceProblem) && !isExcused) tally.unexcused++;
  if (status >= 400) {
    const name = `${status} ${value.code}`;
    see(name);
    require(headers.get("cache-control") === "no-store", "a problem that may be cached");
    return require(name === problem || (repository !== null && isSourceProblem), name);
  }
  see(`${status} ${cacheStatus.replace(/^collections; /, "").replace(/; ttl=-?\d+/, "")}`);
  require(status === 200 && repository !== null, `status ${status}`);
  const state = await repository!.stateOf(value.repository.commit);
  check(value, state);
  if (isStale) return;
  const ageMs = Number(headers.get("age") ?? NaN) * 1000;
  const behindMs = Math.max(0, sentAtMs - state.replacedAtMs);
  require(isFresh(ageMs, behindMs), `Age ${ageMs} ms, replaced ${behindMs} ms ago`);
  tally.greatestAgeMs = Math.max(tally.greatestAgeMs, ageMs);
  tally.greatestBehindMs = Math.max(tally.greatestBehindMs, behindMs);
}

async function commitUntil(endMs: number, named: readonly NamedRepository[]): Promise<void> {
  for (; Date.now() + COMMIT_EVERY_MS < endMs; tally.commits++) {
    await pause(COMMIT_EVERY_MS);
    await named[random(named.length)]!.repository.change();
  }
}

/** One fault after the other, with time to recover between; the last is over at `endMs`. */
async function failUntil(endMs: number, double: RunningDouble): Promise<void> {
  for (let turn = 0; Date.now() + BETWEEN_FAULTS_MS + FAULT_MS < endMs; turn++) {
    await pause(BETWEEN_FAULTS_MS);
    const fault = FAULTS[turn % FAULTS.length]!();
    tally.faults.push(fault === "down" ? fault : fault.kind);
    tally.excusedUntilMs = Infinity;
    if (fault === "down") await double.call("down");
    else await double.call("set", { fault });
    await pause(FAULT_MS);
    if (fault === "down") await double.call("up");
    else await endFault(double);
    tally.excusedUntilMs = Date.now() + EXCUSED_AFTER_MS;
  }
}

async function endFault(double: RunningDouble): Promise<void> {
  await double.call("set", { fault: null });
  await double.call("release");
}

/** Kills the service several times in the first part, then measures it after a warm-up and at the end. */
async function killThenMeasure(
  service: SoakService,
  startMs: number,
  endMs: number,
): Promise<Record<"heap" | "rss", [number, number]>> {
  const until = (timeMs: number) => pause(Math.max(0, timeMs - Date.now()));
  for (let kill = 1; kill <= KILLS; kill++) {
    await until(startMs + totalMs * 0.4 * kill / KILLS);
    await service.killAndRestart();
  }
  await pause(Math.min(60_000, totalMs * 0.2));
  const windowMs = Math.min(60_000, (endMs - Date.now()) / 2);
  const { pid } = await service.whenUp();
  const medianRss = async () => {
    const taken: number[] = [];
    for (const end = Date.now() + windowMs; Date.now() < end; await pause(500)) {
      taken.push((await memoryOf(pid)).nowMb * 2 ** 20);
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
    const path = pathOf("list", { owner: "cold0", repo: "site", collection: "c0", branch });
    const response = await fetch(origin + path);
    await response.body?.cancel();
    return response.status;
  };
  for (const branch of BRANCHES) require(await read(branch) === 200, `no list of ${branch}`);
  await pause(MAX_AGE_MS + SLACK_MS);
  await double.call("set", { fault: { kind: "hang" } });
  const statuses = await Promise.all(BRANCHES.map(read));
  await endFault(double);
  return statuses.filter((status) => status === 200).length;
}

if (import.meta.main) await withProcesses(main);
