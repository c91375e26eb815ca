// `deno task bench:http`: the service under load beside a bare server, the least cache, Hono, nginx and Varnish; pages of
// large and small collections; hits during cold listings; cold requests; the time to start. `--write` puts the report
// into RESULTS.md.

import { parseArgs } from "node:util";
import {
  coldNames,
  measureColdListings,
  measureColdRequests,
  measurePages,
  measureStart,
  type Part,
} from "./http_cold.ts";
import { measureLoad, scenarios } from "./http_load.ts";
import { loadGeneratorVersion } from "./load.ts";
import { withProcesses } from "./processes.ts";
import { describeMachine, type Goal, goalTable, writeResults } from "./report.ts";
import { settingsFor, startRepositories } from "./repositories.ts";
import { startService } from "./service_process.ts";

const PARTS = ["load", "pages", "listings", "cold", "start"];

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
    /** Of {@linkcode PARTS}, separated by commas. */
    parts: { type: "string", default: PARTS.join(",") },
  },
});
const rounds = Number(values.rounds ?? (values.quick ? 1 : 5));
const seconds = Number(values.seconds ?? (values.quick ? 1 : 2));
const connections = Number(values.connections);
const wanted = new Set(values.parts.split(","));

if (import.meta.main) await withProcesses(main);

async function main(cleanup: AsyncDisposableStack): Promise<void> {
  const machine = await describeMachine({ wrk: await loadGeneratorVersion() });
  const folder = await Deno.makeTempDir();
  cleanup.defer(() => Deno.remove(folder, { recursive: true }));
  const names = coldNames(wanted.has("listings") ? 60 : 0);
  const double = await startRepositories(cleanup, { coldNames: names });
  // Servers have ports of their own, and responses contain addresses.
  const env = { ...settingsFor(double), PUBLIC_URL: "http://bench.example" };
  const sections: string[] = [];
  const goals: Goal[] = [];
  const add = (title: string, part: Part) => {
    sections.push(`### ${title}\n\n${part.markdown}`);
    goals.push(...part.goals);
    console.error(`${title}: done`);
  };

  if (wanted.has("load")) {
    const chosen = scenarios(values.only.split(",").filter(Boolean));
    add("Under load", await measureLoad(chosen, { env, folder, rounds, seconds, connections }));
  }
  if (wanted.has("pages") || wanted.has("listings")) {
    await using service = await startService({ env: { ...env, LOG_LEVEL: "warn" } });
    const { origin } = service;
    if (wanted.has("pages")) {
      const count = values.quick ? 20 : 50;
      add("Flat in the collection", await measurePages({ origin, double, rounds, count }));
    }
    if (wanted.has("listings")) {
      const some = values.quick ? { rounds: 1, seconds: 3 } : { rounds: 3, seconds: 6 };
      add(
        "During cold listings",
        await measureColdListings({ origin, double, names, connections, ...some }),
      );
    }
  }
  if (wanted.has("cold")) {
    add("Cold requests", await measureColdRequests({ env, double, rounds }));
  }
  if (wanted.has("start")) add("Start", await measureStart(values.quick ? 3 : 9));

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
}
