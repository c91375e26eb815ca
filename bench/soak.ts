// `deno task bench:soak`: the service for minutes under everything at once: hits, misses, bad input, commits, a source
// that fails in every way, and SIGKILL. Every answer is compared with git's. Then the source hangs while 40 branches are
// in use. Exits with 1 where an answer was wrong or too old, the process crashed, or memory grew; `--write` puts the
// report into RESULTS.md.

import { join } from "@std/path";
import type { Fault } from "../tests/github/github_faults.ts";
import type { RunningDouble } from "../tests/github/start_double.ts";
import { memoryOf, pathOf, pause, projectRoot, type RunningService } from "./processes.ts";
import { settingsFor, startService, startSource } from "./processes.ts";
import { atLeast, atMost, flag, median, number, runBench, table } from "./report.ts";
import {
  chooseRequest,
  type NamedRepository,
  random,
  require,
  TrueRepository,
} from "./soak_truth.ts";

const [HOT, COLD, CLIENTS, KILLS] = [3, 300, 6, 4];
const BRANCHES = Array.from({ length: 40 }, (_, index) => `topic/b${index}`);
/** The cache is small, so that it is full when memory is first measured, and what grows after that is a leak. */
const SETTINGS = { CACHE_MEMORY_MB: "16", SOURCE_TIMEOUT_MS: "3000" };
const FAULT_MS = 3_000;
const BETWEEN_FAULTS_MS = 6_000;
const COMMIT_EVERY_MS = 2_000;
/** The service's longest back-off, requests under way when a fault ends, and a busy machine. */
const EXCUSED_AFTER_MS = 60_000 + 3_000 + 1_000;
const MAX_AGE_MS = 60_000;
const SLACK_MS = 1_000;

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

const minutes = flag("minutes", "5");
const totalMs = Number(minutes) * 60_000;

/** What was done and seen; times are in ms since the epoch. */
const tally = {
  requests: 0,
  commits: 0,
  kills: 0,
  /** Exit codes of processes that ended by themselves. */
  crashes: [] as number[],
  wrong: [] as string[],
  faults: [] as string[],
  answers: new Map<string, number>(),
  /** The greatest `Age`, and time since a shown commit was replaced, of answers that are not stale-if-error. */
  greatestAgeMs: 0,
  greatestBehindMs: 0,
  /** Answers of 500 and more, or stale, when no fault excused them. */
  unexcused: 0,
  /** Until when a source problem is excused. */
  excusedUntilMs: 0,
};

/** The process that answers requests; null while there is none. */
let current: RunningService | null = null;
let lastDownMs = 0;

async function measure(cleanup: AsyncDisposableStack) {
  const hot: NamedRepository[] = [];
  for (let n = 0; n < HOT; n++) {
    hot.push({ owner: `hot${n}`, repository: await TrueRepository.make(cleanup), branches: [] });
  }
  const repository = await TrueRepository.make(cleanup, BRANCHES);
  const coldOne = { repository, branches: BRANCHES.slice(0, 5) };
  const cold = Array.from({ length: COLD }, (_, n) => ({ owner: `cold${n}`, ...coldOne }));
  const repositories = [...hot, ...cold]
    .map(({ owner, repository }) => [`${owner}/site`, { dir: repository.git.dir }]);
  const double = await startSource(cleanup, Object.fromEntries(repositories));
  const store = join("data", `soak-${crypto.randomUUID()}`);
  cleanup.defer(() => Deno.remove(join(projectRoot, store), { recursive: true }));
  const env = { ...settingsFor(double), ...SETTINGS, KV_PATH: `./${store}/kv` };
  const startMs = Date.now();
  const endMs = startMs + totalMs;
  const named = [...hot, ...hot, ...cold.slice(0, 100), ...cold];
  const [[firstMb, lastMb]] = await Promise.all([
    killThenMeasure(env, startMs, cleanup),
    commitUntil(endMs, hot),
    failUntil(startMs + totalMs / 2 - EXCUSED_AFTER_MS / 2, double),
    ...Array.from({ length: CLIENTS }, () => requestUntil(endMs, named)),
  ]);
  const known = await answersWhileHanging(double);
  const { requests, commits, faults, kills } = tally;
  const mostMb = firstMb + Math.max(firstMb * 0.1, 20);
  return {
    conditions: [
      `${minutes} minutes, ${number(requests)} requests, ` +
      `${commits} commits, ${kills} times SIGKILL`,
      `${faults.length} faults: ${faults.join(", ")}`,
      `Settings: \`MISSES_PER_MINUTE=0\`, ${JSON.stringify(SETTINGS)}`,
      `A fault excuses problems and stale answers for ${EXCUSED_AFTER_MS / 1000} s after its end`,
    ],
    goals: [
      atMost("wrong answers", 0, tally.wrong.length),
      atMost("crashes", 0, tally.crashes.length),
      atMost("stale answers, or of 500 and more, that no fault excuses", 0, tally.unexcused),
      atMost("greatest Age while the source was up, s", 60, tally.greatestAgeMs / 1000),
      atMost("a shown commit was replaced for, s", 61, tally.greatestBehindMs / 1000),
      atMost(`median RSS at the end, MiB; ${number(firstMb)} after the warm-up`, mostMb, lastMb),
      atLeast("known answers of 40 branches in use while the source hangs", 40, known),
    ],
    parts: [
      table(["answer", "count"], [...tally.answers].sort().map(([name, n]) => [name, number(n)])),
      ...tally.wrong.slice(0, 10).map((line) => `- ${line}`),
    ],
  };
}

/** One client: sends a request, compares the answer, and goes on until the time is over. */
async function requestUntil(endMs: number, named: readonly NamedRepository[]): Promise<void> {
  for (; Date.now() < endMs; await pause(random(8))) {
    if (current === null) continue;
    const sentAtMs = Date.now();
    const request = chooseRequest(named);
    tally.requests++;
    try {
      const signal = AbortSignal.timeout(20_000);
      const response = await fetch(current.origin + request.path, { signal });
      await judge(request, response, await response.json(), sentAtMs);
    } catch (error) {
      const wasDown = current === null || lastDownMs >= sentAtMs;
      const wrong = `${new Date(sentAtMs).toISOString()} ${request.path}: ${error}`;
      if (!wasDown) tally.wrong.push(wrong);
    }
  }
}

/** Compares an answer with git and with the contract. @throws {Error} saying what is wrong. */
async function judge(
  { repository, check }: ReturnType<typeof chooseRequest>,
  { status, headers }: Response,
  // deno-lint-ignore no-explicit-any -- an answer is judged field by field
  value: any,
  sentAtMs: number,
): Promise<void> {
  const isOpen = headers.get("access-control-allow-origin") === "*" && headers.has("x-request-id");
  require(isOpen, "no CORS, or no X-Request-Id");
  const cacheStatus = headers.get("cache-status") ?? "";
  const isStale = cacheStatus.endsWith("detail=stale-if-error");
  const isSourceProblem = [502, 503, 504].includes(status);
  // The queue may be full without a fault, and a long preparation goes on.
  const isExcused = ["service-busy", "collection-not-ready"].includes(value.code) ||
    sentAtMs <= tally.excusedUntilMs;
  if ((isStale || isSourceProblem) && !isExcused) tally.unexcused++;
  const outcome = value.code ?? cacheStatus.replace(/^collections; |; ttl=-?\d+/g, "");
  const answer = `${status} ${outcome}`;
  tally.answers.set(answer, (tally.answers.get(answer) ?? 0) + 1);
  if (status >= 400) {
    require(headers.get("cache-control") === "no-store", "a problem that may be cached");
    // Files come and go.
    return require(isSourceProblem || answer === "404 item-not-found", answer);
  }
  require(status === 200, answer);
  const state = await repository.stateOf(value.repository.commit);
  check(value, state);
  if (isStale) return;
  const ageMs = Number(headers.get("age") ?? NaN) * 1000;
  const behindMs = Math.max(0, sentAtMs - state.replacedAtMs);
  const isFresh = ageMs <= MAX_AGE_MS && behindMs <= MAX_AGE_MS + SLACK_MS;
  require(isFresh, `Age ${ageMs} ms, replaced ${behindMs} ms ago`);
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

/**
 * Runs one process after the other on one store. All but the last are killed, as a lost machine would be; gives the
 * median of that one's memory after a warm-up and at the end, in MiB.
 */
async function killThenMeasure(
  env: Readonly<Record<string, string>>,
  startMs: number,
  cleanup: AsyncDisposableStack,
): Promise<[firstMb: number, lastMb: number]> {
  const until = (timeMs: number) => pause(Math.max(0, timeMs - Date.now()));
  const start = async () => {
    const service = current = cleanup.use(await startService({ env }));
    service.ended.then(({ code }) => {
      if (current === service) tally.crashes.push(code);
    });
    return service;
  };
  for (let kill = 1; kill <= KILLS; kill++) {
    const { pid, ended } = await start();
    await until(startMs + totalMs * 0.4 * kill / KILLS);
    current = null;
    tally.kills++;
    Deno.kill(pid, "SIGKILL");
    await ended;
    lastDownMs = Date.now();
  }
  const { pid } = await start();
  await pause(Math.min(60_000, totalMs * 0.2));
  const endMs = startMs + totalMs;
  const windowMs = Math.min(60_000, (endMs - Date.now()) / 2);
  const medianMb = async () => {
    const taken: number[] = [];
    for (const end = Date.now() + windowMs; Date.now() < end; await pause(500)) {
      taken.push((await memoryOf(pid)).nowMb);
    }
    return median(taken);
  };
  const firstMb = await medianMb();
  await until(endMs - windowMs);
  return [firstMb, await medianMb()];
}

/** Reads 40 branches, waits until their checks are too old, lets the source hang, and reads them again at once. */
async function answersWhileHanging(double: RunningDouble): Promise<number> {
  const read = async (branch: string) => {
    const path = pathOf("list", { owner: "cold0", repo: "site", collection: "c0", branch });
    const response = await fetch(current!.origin + path);
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

if (import.meta.main) await runBench({ title: "Soak", section: "bench:soak" }, measure);
