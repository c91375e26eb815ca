// `deno task bench:http`: the service under load beside a bare server, the least cache and Hono; pages of large and
// small collections; hits during cold listings; the time to start. Prints a report, `--write` puts it into RESULTS.md.

import { join } from "@std/path";
import { parseArgs } from "node:util";
import { coldNames, measureColdListings } from "./cold_listing.ts";
import { findLoadGenerator } from "./load.ts";
import { loadGoals, loadTable } from "./load_report.ts";
import { runRounds } from "./load_rounds.ts";
import { describeMachine } from "./machine.ts";
import { measurePages } from "./page_times.ts";
import { withProcesses } from "./processes.ts";
import { type Goal, goalTable } from "./report.ts";
import { settingsFor, startRepositories } from "./repositories.ts";
import { writeResults } from "./results_file.ts";
import { chooseScenarios } from "./scenarios.ts";
import { startService } from "./service_process.ts";
import { measureStart } from "./start_time.ts";
import { prepareTargets } from "./targets.ts";

const PARTS = ["load", "pages", "cold", "start"];
const COLD_LISTINGS = 60;

const { values } = parseArgs({
  args: Deno.args,
  options: {
    quick: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    rounds: { type: "string" },
    seconds: { type: "string" },
    connections: { type: "string", default: "64" },
    /** Scenarios by name, separated by commas. */
    only: { type: "string", default: "" },
    /** Of load, pages, cold and start, separated by commas. */
    parts: { type: "string", default: PARTS.join(",") },
  },
});
const rounds = Number(values.rounds ?? (values.quick ? 1 : 9));
const seconds = Number(values.seconds ?? (values.quick ? 1 : 2));
const connections = Number(values.connections);
const parts = new Set(values.parts.split(","));

if (import.meta.main) await withProcesses(main);

async function main(cleanup: AsyncDisposableStack): Promise<void> {
  const scenarios = chooseScenarios(values.only.split(",").filter(Boolean));
  const generator = await findLoadGenerator();
  const machine = await describeMachine({
    [generator.name]: generator.version,
    Hono: await honoVersion(),
  });
  const sections: string[] = [];
  const goals: Goal[] = [];
  const add = (title: string, part: { markdown: string; goals: Goal[] }) => {
    sections.push(`### ${title}\n\n${part.markdown}`);
    goals.push(...part.goals);
    console.error(`${title}: done`);
  };

  const folder = await Deno.makeTempDir();
  cleanup.defer(() => Deno.remove(folder, { recursive: true }));
  const names = coldNames(parts.has("cold") ? COLD_LISTINGS : 0);
  const double = await startRepositories(cleanup, { coldNames: names });
  const start = async (level: string, logFile: string) =>
    cleanup.use(
      await startService({ env: { ...settingsFor(double), LOG_LEVEL: level }, logFile }),
    );
  const logFile = join(folder, "info.log");
  const service = await start("warn", join(folder, "warn.log"));

  if (parts.has("load")) {
    const services = { service, "service, info": await start("info", logFile) };
    const targets = await prepareTargets(scenarios, { services, cleanup });
    const measured = await runRounds(scenarios, targets, {
      rounds,
      seconds,
      connections,
      generator,
      logFile,
    });
    add("Under load", {
      goals: loadGoals(measured),
      markdown: `${loadTable(scenarios, measured)}\n\n${measured.checks} answers were compared ` +
        "with the right ones while the load ran, and none was wrong.",
    });
  }
  if (parts.has("pages")) {
    const count = values.quick ? 20 : 50;
    add(
      "Flat in the collection",
      await measurePages({ origin: service.origin, double, rounds, count }),
    );
  }
  if (parts.has("cold")) {
    const [path = ""] = chooseScenarios(["list"])[0]!.paths;
    add(
      "During cold listings",
      await measureColdListings({
        ...{ origin: service.origin, double, generator, path, names, connections },
        rounds: values.quick ? 1 : 3,
        seconds: values.quick ? 3 : 6,
      }),
    );
  }
  if (parts.has("start")) add("Start", await measureStart(values.quick ? 3 : 9));

  const report = [
    "## Under HTTP load",
    [...machine, ...conditions()].map((line) => `- ${line}`).join("\n"),
    `### Goals\n\n${goalTable(goals)}`,
    ...sections,
  ].join("\n\n");
  console.log(report);
  if (values.write) await writeResults("bench:http", report);
}

function conditions(): string[] {
  return [
    `${rounds} rounds, interleaved, ${seconds} s a server and round, ${connections} connections; ` +
    "load generator, servers and GitHub double are processes on the same cores",
    "The service runs with the permissions of `deno task start` and default settings, but for " +
    "`GITHUB_API_URL`, `GITHUB_TOKEN`, `MISSES_PER_MINUTE=0` and `LOG_LEVEL=warn` (`info` to a file where it says so)",
    "bare: `Deno.serve` sending the same bytes and headers, looking at nothing; skeleton: the same with one look-up " +
    "by URL and one fresh header; Hono: its `cors()` and `etag()` sending the same body",
    "Requests per second and times are medians of the rounds; ratios are medians of the ratios of each round",
    "The service is started once before its start is measured, so that Deno's cache holds the modules, compiled",
  ];
}

async function honoVersion(): Promise<string> {
  const file = new URL("../node_modules/hono/package.json", import.meta.url);
  return JSON.parse(await Deno.readTextFile(file)).version;
}
