// `deno task bench:soak`: the service for minutes under everything at once:
// hits, misses, bad input, commits, a source that fails in every way, and
// SIGKILL. Every answer is compared with git's. Then the source hangs while 40
// branches are in use. Fails where an answer was wrong or too old, the process
// crashed, or memory grew; `--minutes` sets the time.

import { assert } from "@std/assert";
import type { Fault } from "../tests/github/github_faults.ts";
import type { RunningDouble } from "../tests/github/start_double.ts";
import { listPath } from "../tests/service.ts";
import {
  DATA_FOLDER,
  type Env,
  memoryOf,
  pause,
  type RunningService,
} from "./processes.ts";
import { startService, startSource } from "./processes.ts";
import {
  atLeast,
  atMost,
  flag,
  median,
  number,
  runBench,
  table,
} from "./report.ts";
import {
  chooseRequest,
  makeTrueRepository,
  pick,
  random,
} from "./soak_truth.ts";
import type { TrueRepository, TrueState } from "./soak_truth.ts";

const [HOT, COLD, CLIENTS, KILLS] = [3, 300, 6, 4];
const BRANCHES = Array.from({ length: 40 }, (_, index) => `topic/b${index}`);
/**
 * The cache is small, so that it is full when memory is first measured, and
 * what grows after that is a leak.
 */
const SETTINGS = { CACHE_MEMORY_MB: "16", SOURCE_TIMEOUT_MS: "3000" };
const FAULT_MS = 3_000;
const BETWEEN_FAULTS_MS = 6_000;
const COMMIT_EVERY_MS = 2_000;
/**
 * The service's longest back-off, requests under way when a fault ends, and a
 * busy machine.
 */
const EXCUSED_AFTER_MS = 60_000 + 3_000 + 1_000;
const MAX_AGE_MS = 60_000;
const SLACK_MS = 1_000;

/** What happens to the source, one after the other. */
const faults = (): readonly (Fault | { kind: "down" })[] => [
  { kind: "status", status: 500 },
  { kind: "garbage" },
  { kind: "quota403", resetAtMs: Date.now() + FAULT_MS },
  { kind: "hang" },
  { kind: "wrong-bytes" },
  { kind: "down" },
  { kind: "secondary429", retryAfterSeconds: FAULT_MS / 1000 },
  { kind: "reset" },
];

const minutes = flag("minutes", "5");
const totalMs = Number(minutes) * 60_000;

/** What was done and seen; times are in ms since the epoch. */
const tally = {
  requests: 0,
  commits: 0,
  /** Processes that ended by themselves. */
  crashes: 0,
  wrong: [] as string[],
  faults: [] as string[],
  answers: new Map<string, number>(),
  /**
   * The greatest `Age`, and time since a shown commit was replaced, of answers
   * that are not stale-if-error.
   */
  greatestAgeMs: 0,
  greatestBehindMs: 0,
  /** Answers of 500 and more, or stale, when no fault excused them. */
  unexcused: 0,
  /** Until when a source problem is excused. */
  excusedUntilMs: 0,
};

/**
 * A repository under the name by which it is requested, and the branches that
 * are requested beside `main`.
 */
type Named = readonly [
  owner: string,
  repository: TrueRepository,
  branches: readonly string[],
];

/** The process that answers requests; null while there is none. */
let current: RunningService | null = null;

/**
 * One client: sends a request, judges the answer, and goes on until the time is
 * over.
 */
async function requestUntil(
  endMs: number,
  named: readonly Named[],
): Promise<void> {
  for (; Date.now() < endMs; await pause(random(8))) {
    const service = current;
    if (service === null) continue;
    const [owner, repository, branches] = pick(named);
    const branch = random(2) === 0 && branches.length > 0
      ? { branch: pick(branches) }
      : {};
    const { path, check } = chooseRequest({ owner, ...branch });
    const sentAtMs = Date.now();
    tally.requests++;
    try {
      const response = await fetch(service.origin + path, {
        signal: AbortSignal.timeout(20_000),
      });
      const body = await response.json();
      const hasData = response.status === 200;
      const state = hasData
        ? await repository.stateOf(body.repository.commit)
        : null;
      judge(response, sentAtMs, state, body.code);
      if (state !== null) check(body, state);
    } catch (error) {
      const wrong = `${new Date(sentAtMs).toISOString()} ${path}: ${error}`;
      if (service === current) tally.wrong.push(wrong);
    }
  }
}

/**
 * Compares an answer with the contract; `state` is what it shows. @throws
 * {Error} saying what is wrong.
 */
function judge(
  response: Response,
  sentAtMs: number,
  state: TrueState | null,
  code?: string,
) {
  const { status, headers } = response;
  const isOpen = headers.get("access-control-allow-origin") === "*" &&
    headers.has("x-request-id");
  assert(isOpen, "no CORS, or no X-Request-Id");
  const cacheStatus = headers.get("cache-status") ?? "";
  const isStale = cacheStatus.endsWith("detail=stale-if-error");
  const isSourceProblem = [502, 503, 504].includes(status);
  // The queue may be full without a fault, and a long preparation goes on.
  const isExcused = code === "service-busy" ||
    code === "collection-not-ready" ||
    sentAtMs <= tally.excusedUntilMs;
  if ((isStale || isSourceProblem) && !isExcused) tally.unexcused++;
  const answer = `${status} ${
    code ?? cacheStatus.replace(/^collections; |; ttl=-?\d+/g, "")
  }`;
  tally.answers.set(answer, (tally.answers.get(answer) ?? 0) + 1);
  if (state === null) {
    // Files come and go.
    assert(isSourceProblem || answer === "404 item-not-found", answer);
    assert(
      headers.get("cache-control") === "no-store",
      "a problem that may be cached",
    );
  } else if (!isStale) {
    const ageMs = Number(headers.get("age") ?? NaN) * 1000;
    const behindMs = Math.max(0, sentAtMs - state.replacedAtMs);
    const isFresh = ageMs <= MAX_AGE_MS && behindMs <= MAX_AGE_MS + SLACK_MS;
    assert(isFresh, `Age ${ageMs} ms, replaced ${behindMs} ms ago`);
    tally.greatestAgeMs = Math.max(tally.greatestAgeMs, ageMs);
    tally.greatestBehindMs = Math.max(tally.greatestBehindMs, behindMs);
  }
}

async function commitUntil(
  endMs: number,
  named: readonly Named[],
): Promise<void> {
  for (; Date.now() + COMMIT_EVERY_MS < endMs; tally.commits++) {
    await pause(COMMIT_EVERY_MS);
    await pick(named)[1].change();
  }
}

/**
 * One fault after the other, with time to recover between; the last is over at
 * `endMs`.
 */
async function failUntil(endMs: number, double: RunningDouble): Promise<void> {
  for (
    let turn = 0;
    Date.now() + BETWEEN_FAULTS_MS + FAULT_MS < endMs;
    turn++
  ) {
    await pause(BETWEEN_FAULTS_MS);
    const fault = faults()[turn % faults().length]!;
    tally.faults.push(fault.kind);
    tally.excusedUntilMs = Infinity;
    await (fault.kind === "down"
      ? double.call("down")
      : double.call("set", { fault }));
    await pause(FAULT_MS);
    await endFault(double);
    tally.excusedUntilMs = Date.now() + EXCUSED_AFTER_MS;
  }
}

async function endFault(double: RunningDouble): Promise<void> {
  await double.call("up");
  await double.call("set", { fault: null });
  await double.call("release");
}

/**
 * Runs one process after the other on one store. All but the last are killed,
 * as a lost machine would be; gives the medians of that one's memory after a
 * warm-up and at the end, in MiB.
 */
async function killThenMeasure(env: Env, endMs: number) {
  const timeAt = (share: number) => endMs - totalMs * (1 - share);
  const until = (share: number) =>
    pause(Math.max(0, timeAt(share) - Date.now()));
  const start = async () => {
    const service = current = await startService({ env });
    service.status.then(() => tally.crashes += current === service ? 1 : 0);
    return service;
  };
  for (let kill = 1; kill <= KILLS; kill++) {
    const service = await start();
    await until(0.1 * kill);
    current = null;
    service.kill("SIGKILL");
    await service.status;
  }
  const service = await start();
  const medianUntil = async (share: number) => {
    const takenMb: number[] = [];
    for (; Date.now() < timeAt(share); await pause(500)) {
      takenMb.push((await memoryOf(service)).nowMb);
    }
    return median(takenMb);
  };
  await until(0.6);
  return { firstMb: await medianUntil(0.8), lastMb: await medianUntil(1) };
}

/**
 * Reads 40 branches, waits until their checks are too old, lets the source
 * hang, and reads them again at once.
 */
async function answersWhileHanging(double: RunningDouble): Promise<number> {
  const read = async (branch: string) => {
    const path = listPath({ owner: "cold0", collection: "c0", branch });
    const response = await fetch(current!.origin + path);
    await response.body?.cancel();
    return response.status;
  };
  for (const branch of BRANCHES) {
    assert(await read(branch) === 200, `no list of ${branch}`);
  }
  await pause(MAX_AGE_MS + SLACK_MS);
  await double.call("set", { fault: { kind: "hang" } });
  const statuses = await Promise.all(BRANCHES.map(read));
  await endFault(double);
  return statuses.filter((status) => status === 200).length;
}

await runBench({ title: "Soak", section: "bench:soak" }, async (cleanup) => {
  const hot: Named[] = [];
  for (let n = 0; n < HOT; n++) {
    hot.push([`hot${n}`, await makeTrueRepository(cleanup), []]);
  }
  const many = await makeTrueRepository(cleanup, BRANCHES);
  const requested = BRANCHES.slice(0, 5);
  const cold = Array.from(
    { length: COLD },
    (_, n): Named => [`cold${n}`, many, requested],
  );
  const served = [...hot, ...cold].map((
    [owner, { git }],
  ) => [`${owner}/site`, { dir: git.dir }]);
  const { double, settings } = await startSource(
    cleanup,
    Object.fromEntries(served),
  );
  const env = { ...settings, ...SETTINGS, KV_PATH: `${DATA_FOLDER}/kv` };
  const endMs = Date.now() + totalMs;
  const named = [...hot, ...hot, ...cold.slice(0, 100), ...cold];
  const [{ firstMb, lastMb }] = await Promise.all([
    killThenMeasure(env, endMs),
    commitUntil(endMs, hot),
    failUntil(endMs - totalMs / 2 - EXCUSED_AFTER_MS / 2, double),
    ...Array.from({ length: CLIENTS }, () => requestUntil(endMs, named)),
  ]);
  const known = await answersWhileHanging(double);
  const mostMb = firstMb + Math.max(firstMb * 0.1, 20);
  return {
    conditions: [
      `${minutes} minutes, ${number(tally.requests)} requests, ` +
      `${tally.commits} commits, ${KILLS} times SIGKILL`,
      `${tally.faults.length} faults: ${tally.faults.join(", ")}`,
      `Settings: \`MISSES_PER_MINUTE=0\`, ${JSON.stringify(SETTINGS)}`,
      `A fault excuses problems and stale answers for ${
        EXCUSED_AFTER_MS / 1000
      } s after its end`,
    ],
    goals: [
      atMost("wrong answers", 0, tally.wrong.length),
      atMost("crashes", 0, tally.crashes),
      atMost(
        "stale answers, or of 500 and more, that no fault excuses",
        0,
        tally.unexcused,
      ),
      atMost(
        "greatest Age while the source was up, s",
        60,
        tally.greatestAgeMs / 1000,
      ),
      atMost(
        "a shown commit was replaced for, s",
        61,
        tally.greatestBehindMs / 1000,
      ),
      atMost(
        `median RSS at the end, MiB; ${number(firstMb)} after the warm-up`,
        mostMb,
        lastMb,
      ),
      atLeast(
        "known answers of 40 branches in use while the source hangs",
        40,
        known,
      ),
    ],
    parts: [
      table(
        ["answer", "count"],
        [...tally.answers].sort().map(([name, n]) => [name, number(n)]),
      ),
      ...tally.wrong.slice(0, 10).map((line) => `- ${line}`),
    ],
  };
});
