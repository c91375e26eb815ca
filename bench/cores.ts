// `deno task bench:cores`: whether more isolates over one key-value file help. One process with one isolate beside
// `deno serve --parallel` with two, for hits; requests per second and the processor time that a request takes.

import { join } from "@std/path";
import { parseArgs } from "node:util";
import { findLoadGenerator, type LoadResult } from "./load.ts";
import { describeMachine } from "./machine.ts";
import { outputOf, withProcesses } from "./processes.ts";
import { number, table } from "./report.ts";
import { settingsFor, startRepositories } from "./repositories.ts";
import { writeResults } from "./results_file.ts";
import { chooseScenarios, type Scenario } from "./scenarios.ts";
import { differenceOf, type ServiceAnswers, takeAnswers } from "./service_answers.ts";
import { taskCommand } from "../tests/run_task.ts";
import { type RunningService, startService } from "./service_process.ts";
import { checkDuring } from "./side_check.ts";
import { median, ratios, spreadOf } from "./statistics.ts";

const ISOLATES = 2;
const CONNECTIONS = 64;
/** Of the kernel's clock, in which it tells processor time (sysconf(_SC_CLK_TCK), 100 on every Linux of today). */
const TICKS_PER_SECOND = 100;

const { values } = parseArgs({
  args: Deno.args,
  options: {
    rounds: { type: "string", default: "9" },
    seconds: { type: "string", default: "2" },
    only: { type: "string", default: "list,gzip,304,content,1000-items,mix" },
    write: { type: "boolean", default: false },
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);

interface Run extends LoadResult {
  readonly cpuUsPerRequest: number;
}

if (import.meta.main) await withProcesses(main);

async function main(cleanup: AsyncDisposableStack): Promise<void> {
  const scenarios = chooseScenarios(values.only.split(","));
  const generator = await findLoadGenerator();
  const machine = await describeMachine({ [generator.name]: generator.version });
  const env = {
    ...settingsFor(await startRepositories(cleanup)),
    LOG_LEVEL: "warn",
    DENO_JOBS: String(ISOLATES),
  };
  const one = cleanup.use(await startService({ env }));
  const several = cleanup.use(await startService({ env, command: parallelCommand }));
  const services = [one, several];
  const results = scenarios.map(() => services.map((): Run[] => []));
  const answers = new Map<string, ServiceAnswers>();
  for (let round = -1; round < rounds; round++) {
    for (const [index, scenario] of scenarios.entries()) {
      for (const place of services.keys()) {
        const which = (place + round + services.length) % services.length;
        const service = services[which]!;
        const key = `${scenario.name} ${which}`;
        const load = (headers: Readonly<Record<string, string>>) =>
          generator.run({
            origin: service.origin,
            paths: scenario.paths,
            headers,
            seconds: round < 0 ? 1 : seconds,
            connections: CONNECTIONS,
          });
        if (round < 0) {
          // Every isolate has to see every request once before all are hits.
          await load(scenario.headers);
          answers.set(key, await takeAnswers(service.origin, scenario));
        }
        const run = await measure(scenario, service, { answers: answers.get(key)!, load });
        if (round >= 0) results[index]![which]!.push(run);
      }
    }
    console.error(round < 0 ? "warmed up" : `round ${round + 1} of ${rounds}`);
  }
  const report = [
    "## Several isolates",
    [
      ...machine,
      `${rounds} rounds, interleaved, ${seconds} s each, ${CONNECTIONS} connections; the load ` +
      "generator takes its share of the same cores, so a second isolate gets what it leaves",
    ].map((line) => `- ${line}`).join("\n"),
    tableOf(scenarios, results),
  ].join("\n\n");
  console.log(report);
  if (values.write) await writeResults("bench:cores", report);
}

/** `deno serve` with the permissions of the `start` task; host and port are flags to it. */
async function parallelCommand(port: number): Promise<[string, ...string[]]> {
  const [program, , ...args] = await taskCommand("start");
  const flags = args.filter((arg) => arg.startsWith("-"));
  return [
    ...[program, "serve", "--parallel", "--host", "127.0.0.1", "--port", String(port)] as const,
    ...[...flags, join("bench", "parallel_entry.ts")],
  ];
}

async function measure(
  scenario: Scenario,
  { origin, pid }: RunningService,
  { answers: { headers, byPath }, load }: {
    answers: ServiceAnswers;
    load: (headers: Readonly<Record<string, string>>) => Promise<LoadResult>;
  },
): Promise<Run> {
  const before = await cpuSeconds(pid);
  const { result } = await checkDuring({
    ...{ server: "service", origin, paths: scenario.paths, headers },
    differenceOf: (path, answer) => differenceOf(scenario, byPath.get(path)!, answer),
  }, load(headers));
  const cpuUs = (await cpuSeconds(pid) - before) * 1e6;
  return { ...result, cpuUsPerRequest: cpuUs / result.requests };
}

/** Processor time that a process has had (proc_pid_stat(5), utime and stime). */
async function cpuSeconds(pid: number): Promise<number> {
  const text = await outputOf("cat", [`/proc/${pid}/stat`]);
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

function tableOf(scenarios: readonly Scenario[], results: readonly (readonly Run[][])[]): string {
  return table(
    [
      ...["request", "isolates", "requests/s", "p50 ms", "p99 ms"],
      ...["processor µs a request", "of one isolate", "(min–max)"],
    ],
    scenarios.flatMap(({ title }, index) =>
      results[index]!.map((runs, which) => {
        const rates = runs.map(({ perSecond }) => perSecond);
        const base = results[index]![0]!.map(({ perSecond }) => perSecond);
        const ratio = spreadOf(ratios(rates, base));
        return [
          title,
          String(which === 0 ? 1 : ISOLATES),
          number(median(rates)),
          number(median(runs.map(({ p50Ms }) => p50Ms))),
          number(median(runs.map(({ p99Ms }) => p99Ms))),
          number(median(runs.map(({ cpuUsPerRequest }) => cpuUsPerRequest))),
          number(ratio.median),
          `${number(ratio.min)}–${number(ratio.max)}`,
        ];
      })
    ),
  );
}
