// `deno task bench:http`: the service under load beside a bare server, the least cache, Hono, nginx and Varnish; pages of
// large and small collections; hits during cold listings; cold requests; the time to start. `--write` puts the report
// into RESULTS.md.

import { makeGitRepository } from "../tests/github/git_repository.ts";
import { generateFiles } from "../tests/github/generated_files.ts";
import { describeWrk } from "./clients.ts";
import {
  measureColdListings,
  measureColdRequests,
  measurePages,
  measureStart,
  SHAPES,
} from "./http_cold.ts";
import { measureLoad, type Part } from "./http_load.ts";
import { flagsOf, type Goal, type Report, runBench } from "./report.ts";
import { settingsFor, startService, startSource } from "./service.ts";

const quick = Deno.args.includes("--quick");
const flags = flagsOf({
  rounds: quick ? "1" : "5",
  seconds: quick ? "1" : "2",
  connections: "64",
  parts: "load,pages,listings,cold,start",
});
const [rounds, seconds, connections] = [flags.rounds, flags.seconds, flags.connections].map(
  Number,
) as [number, number, number];

const CONDITIONS = [
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

async function measure(cleanup: AsyncDisposableStack): Promise<Report> {
  const folder = await Deno.makeTempDir();
  cleanup.defer(() => Deno.remove(folder, { recursive: true }));
  const wanted = new Set(flags.parts.split(","));
  const cold = Array.from({ length: wanted.has("listings") ? 60 : 0 }, (_, n) => `cold${n}`);
  const large = cleanup.use(await makeGitRepository(generateFiles(SHAPES.large)));
  const double = await startSource(cleanup, {
    site: { generate: SHAPES.site },
    small: { generate: SHAPES.small },
    deep: { generate: SHAPES.deep },
    ...Object.fromEntries(["large", ...cold].map((name) => [name, { dir: large.dir }])),
  });
  // Servers have ports of their own, and responses contain addresses.
  const env = { ...settingsFor(double), PUBLIC_URL: "http://bench.example" };
  const service = cleanup.use(await startService({ env }));
  const parts: [name: string, title: string, measure: () => Promise<Part>][] = [
    ["load", "Under load", () => measureLoad({ env, folder, rounds, seconds, connections })],
    ["pages", "Flat in the collection", () => measurePages(service.origin, quick ? 20 : 200)],
    ["listings", "During cold listings", () => {
      const some = quick ? { rounds: 1, seconds: 3 } : { rounds: 3, seconds: 6 };
      return measureColdListings(service.origin, double, { ...some, names: cold, connections });
    }],
    ["cold", "Cold requests", () => measureColdRequests(env, double, rounds)],
    ["start", "Start", () => measureStart(quick ? 3 : 9)],
  ];
  const sections: string[] = [];
  const goals: Goal[] = [];
  for (const [name, title, measure] of parts.filter(([name]) => wanted.has(name))) {
    const part = await measure();
    sections.push(`### ${title}\n\n${part.markdown}`);
    goals.push(...part.goals);
    console.error(`${name}: done`);
  }
  return { conditions: [await describeWrk(), ...CONDITIONS], goals, parts: sections };
}

if (import.meta.main) {
  await runBench({ title: "Under HTTP load", section: "bench:http" }, measure);
}
