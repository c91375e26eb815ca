// `deno task bench:soak`: the service for minutes under all that can happen to it at once: hits, misses, bad input,
// commits, a source that fails in every way, and SIGKILL. Every answer is held to what git says. Exits with 1 where one
// was wrong, the process crashed, an answer was too old or memory grew; `--write` puts the report into RESULTS.md.

import { parseArgs } from "node:util";
import { describeMachine } from "./machine.ts";
import { withProcesses } from "./processes.ts";
import { type Goal, goalTable, table } from "./report.ts";
import { writeResults } from "./results_file.ts";
import { SoakExcuse } from "./soak_excuse.ts";
import { runLoad, SoakTally } from "./soak_load.ts";
import { killThenMeasure, type Pair } from "./soak_memory.ts";
import { SoakService } from "./soak_service.ts";
import { CACHE_MEMORY_MB, prepareSoak } from "./soak_setup.ts";
import { SOURCE_TIMEOUT_MS } from "./soak_source.ts";

/** Of the whole time; after it the source stays up, so that nothing old and no problem of it may be given in the end. */
const FAULTS_SHARE = 0.5;
/** Of the whole time, the least in one piece without a fault or the rest after one. */
const WITHOUT_FAULT_SHARE = 1 / 3;
const MINUTE_MS = 60_000;
const MAX_AGE_MS = 60_000;
const SLACK_MS = 1_000;
const MAX_GROWTH = 0.1;
const MAX_GROWTH_MB = 20;

const { values } = parseArgs({
  args: Deno.args,
  options: {
    minutes: { type: "string", default: "5" },
    write: { type: "boolean", default: false },
  },
});

if (import.meta.main) {
  let isMet = false;
  await withProcesses(async (cleanup) => {
    isMet = await main(cleanup);
  });
  Deno.exit(isMet ? 0 : 1);
}

async function main(cleanup: AsyncDisposableStack): Promise<boolean> {
  const totalMs = Number(values.minutes) * MINUTE_MS;
  if (!(totalMs > 0)) {
    throw new Error(`Cannot run for "${values.minutes}": not a number of minutes`);
  }
  const machine = await describeMachine();
  const { choices, source, env } = await prepareSoak(cleanup);
  const service = cleanup.use(new SoakService(env));
  await service.start();
  const excuse = new SoakExcuse({
    failing: source.failing,
    // Its time-out, and a second for a busy machine.
    onItsWayMs: SOURCE_TIMEOUT_MS + SLACK_MS,
    startedMs: () => service.startedMs,
  });

  const startMs = Date.now();
  const endMs = startMs + totalMs;
  const tally = new SoakTally();
  const moving = choices.hot.map(({ repository }) => repository);
  const [memory] = await Promise.all([
    killThenMeasure(service, { startMs, endMs }),
    runLoad({ service, excuse, choices }, { endMs, tally }),
    source.commitUntil(endMs, moving),
    source.failUntil(startMs + totalMs * FAULTS_SHARE),
    excuse.watch(endMs),
  ]);

  const ageMs = Math.max(tally.freshAgeMs, tally.freshBehindMs);
  const goals: Goal[] = [
    goal("wrong answers", { wanted: "0", measured: `${tally.wrong}`, met: tally.wrong === 0 }),
    goal("crashes", {
      wanted: "0",
      measured: `${service.crashes.length}${
        service.crashes.map((code) => `, exit ${code}`).join("")
      }`,
      met: service.crashes.length === 0,
    }),
    goal("greatest age while the source was up", {
      wanted: "at most 60 s",
      measured: `Age ${seconds(tally.freshAgeMs)}, replaced for ${seconds(tally.freshBehindMs)}`,
      met: ageMs <= MAX_AGE_MS + SLACK_MS && tally.freshAgeMs <= MAX_AGE_MS,
    }),
    goal("longest time without a fault or the rest after one", {
      wanted: `at least ${seconds(totalMs * WITHOUT_FAULT_SHARE)}`,
      measured: seconds(excuse.longestWithoutMs),
      met: excuse.longestWithoutMs >= totalMs * WITHOUT_FAULT_SHARE,
    }),
    goal("answers of 500 and more, or stale, in time without a fault or the rest after one", {
      wanted: "0",
      measured: `${tally.lackingWithoutFault}`,
      met: tally.lackingWithoutFault === 0,
    }),
    goal("greatest time from a fault's end to a hot repository's first fresh answer", {
      wanted: `at most ${seconds(excuse.longestRestMs)}`,
      measured: tally.recoveryMs === null ? "all went on" : seconds(tally.recoveryMs),
      met: (tally.recoveryMs ?? 0) <= excuse.longestRestMs,
    }),
    memoryGoal("heap after a forced collection", memory.heap),
    memoryGoal("median RSS", memory.rss),
  ];
  const report = [
    "## Soak",
    [
      ...machine,
      `${values.minutes} minutes, ${
        tally.requests.toLocaleString("en-US")
      } requests, ${source.commits} commits, ` +
      `${source.faults.length} faults (${
        source.faults.join(", ")
      }), ${service.kills} times SIGKILL and a restart`,
      `The service runs as \`deno task start\` with \`GITHUB_TOKEN\`, \`MISSES_PER_MINUTE=0\`, ` +
      `\`SOURCE_TIMEOUT_MS=${SOURCE_TIMEOUT_MS}\` and \`CACHE_MEMORY_MB=${CACHE_MEMORY_MB}\``,
      `A source problem or a stale answer was allowed in ${
        (excuse.share * 100).toFixed(0)
      } % of the time: during ` +
      "a fault and then for the back-off that is left, 5 s, doubled with each fault since the process started, " +
      `at most 60 s, and ${
        seconds(SOURCE_TIMEOUT_MS + SLACK_MS)
      } for what was on its way; otherwise either is a wrong answer`,
      `Memory: from ${seconds(memory.warmUpMs)} after the last restart on, in periods of ${
        seconds(memory.windowMs)
      }`,
      `Oldest answer marked stale-if-error: ${seconds(tally.staleAgeMs)}`,
    ].map((line) => `- ${line}`).join("\n"),
    goalTable(goals),
    table(
      ["answer", "count"],
      [...tally.classes].sort().map(([name, count]) => [name, count.toLocaleString("en-US")]),
    ),
    ...tally.described.length === 0 ? [] : [tally.described.map((line) => `- ${line}`).join("\n")],
  ].join("\n\n");
  console.log(report);
  if (values.write) await writeResults("bench:soak", report);
  return goals.every(({ met }) => met);
}

function goal(what: string, rest: Omit<Goal, "what">): Goal {
  return { what, ...rest };
}

function memoryGoal(what: string, [first, last]: Pair): Goal {
  const allowed = Math.max(first * MAX_GROWTH, MAX_GROWTH_MB * 1e6);
  const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
  return goal(what, {
    wanted: `at most 10% or ${MAX_GROWTH_MB} MB more, whichever is more: ${
      megabytes(first + allowed)
    }`,
    measured: `${megabytes(first)} after the warm-up, ${megabytes(last)} at the end`,
    met: last - first <= allowed,
  });
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
