// `deno task bench:hostile`: 100,000 requests made to break it (`--requests` for another number, `--seed` for others),
// sent to a service in a process of its own: most with no limit on misses, a fifth with the one that it has unless told
// otherwise. Tells how they were answered and what of them reached the source; fails where a rule was broken. `--write`
// puts the report into RESULTS.md.

import { parseArgs } from "node:util";
import { startDouble } from "../tests/github/start_double.ts";
import type { LoggedRequest } from "../tests/github/github_log.ts";
import { watchGraphql } from "./graphql_watch.ts";
import { HostileConnection } from "./hostile_connection.ts";
import { HOSTILE_FILES } from "./hostile_files.ts";
import { type HostileRequest, hostileRequests } from "./hostile_requests.ts";
import { unescapedOf } from "./hostile_questions.ts";
import { describeMachine } from "./machine.ts";
import { withProcesses } from "./processes.ts";
import type { RawAnswer } from "./raw_client.ts";
import { type Goal, goalTable, number, table } from "./report.ts";
import { OWNER, settingsFor, TOKEN } from "./repositories.ts";
import { writeResults } from "./results_file.ts";
import { startService } from "./service_process.ts";

const CONNECTIONS = 32;
/** Asked for once, after the load, so that files are read many at once at least once: by GraphQL. */
const UNREAD = "._un-read.2";
const SLOW_MS = 1_000;
const SHOWN = 10;
/** The contract's errors of 500 and more, without the fault of its own that no request may cause. */
const SERVER_ERRORS = new Set([
  "502 source-failed",
  "503 source-rate-limited",
  "503 service-busy",
  "503 collection-not-ready",
  "504 source-timeout",
]);
const PHASES = [
  { title: "no limit on misses, proxy trusted", fifths: 4, env: { TRUST_PROXY: "true" } },
  { title: "the limit on misses that is the default", fifths: 1, env: { MISSES_PER_MINUTE: "" } },
];
const REFUSED = "refused by the HTTP server";
const RULES = {
  error: "answers of 500 and more that are not the contract's",
  headers: "answers without CORS or an id, or with a header that a request made up",
  slow: `answers after more than ${SLOW_MS} ms`,
  unanswered: "requests without an answer",
  unescaped: "requests that reached the source with an unescaped value",
  unexpected: "requests that the source does not know",
};

const { values } = parseArgs({
  args: Deno.args,
  options: {
    requests: { type: "string", default: "100000" },
    seed: { type: "string", default: "1" },
    write: { type: "boolean", default: false },
  },
});

async function main(cleanup: AsyncDisposableStack): Promise<void> {
  const double = cleanup.use(
    await startDouble({
      repositories: {
        [`${OWNER}/odd`]: { files: HOSTILE_FILES },
        [`${OWNER}/${UNREAD}`]: { files: HOSTILE_FILES },
      },
      tokens: { [TOKEN]: { sees: "all" } },
    }),
  );
  await double.call("setQuota", TOKEN, { limit: 1_000_000, remaining: 1_000_000 });
  const graphql = watchGraphql(cleanup, double);
  const [count, seed] = [Number(values.requests), Number(values.seed)];
  const requests = hostileRequests({ seed, count });
  const classes = new Map<string, number[]>();
  const slowest: { ms: number; what: string }[] = [];
  const broken = new Map(Object.keys(RULES).map((rule) => [rule, [] as string[]]));
  const started = performance.now();
  let again = 0;

  for (const [phase, { fifths, env }] of PHASES.entries()) {
    await using service = await startService({
      env: {
        ...settingsFor(double),
        GITHUB_RAW_URL: double.rawUrl,
        GITHUB_GRAPHQL_URL: graphql.url,
        ...env,
      },
    });
    let left = Math.floor(count * fifths / 5);
    const work = async () => {
      using connection = new HostileConnection(service.origin, service.port);
      while (left-- > 0) {
        const { value: request, done } = requests.next();
        if (done) break;
        const startedMs = performance.now();
        const answer = await connection.ask(request);
        note(request, answer, { ms: performance.now() - startedMs, phase });
      }
      again += connection.again;
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, work));
    const page = `owner=${OWNER}&repo=${UNREAD}&collection=posts&includeContent=true`;
    const answer = await fetch(`${service.origin}/api/list-collection-items?${page}`);
    await answer.body?.cancel();
  }
  if (graphql.asked === 0) throw new Error(`Cannot judge "${graphql.url}": nothing was asked`);
  const seconds = (performance.now() - started) / 1000;
  const asked = await double.call("requests") as LoggedRequest[];
  broken.set("unescaped", [...unescapedOf(asked, double), ...graphql.spliced]);
  broken.set("unexpected", await double.call("unexpected") as string[]);

  const report = [
    "## Hostile requests",
    [
      ...await describeMachine(),
      `${
        count.toLocaleString("en-US")
      } generated requests (seed ${seed}) over ${CONNECTIONS} connections in ` +
      `${
        number(seconds)
      } s, client, service and source on this machine; ${again} were sent a second time on a new connection, since ` +
      "the one they went out on was closed or their answer told no length",
      `${asked.length} requests reached the source, ${graphql.asked} of them GraphQL; an escaped value is one segment ` +
      "of a path, or a variable of a query that has no value in its text",
      `"${REFUSED}": a request that HTTP or a URL forbids, closed or answered with 4xx without an id; it counts for ` +
      "the time that it takes and for nothing else",
    ].map((line) => `- ${line}`).join("\n"),
    goalTable([...broken].map(([rule, found]): Goal => ({
      what: RULES[rule as keyof typeof RULES],
      wanted: "0",
      measured: String(found.length),
      met: found.length === 0,
    }))),
    table(
      ["answer", ...PHASES.map(({ title }) => title)],
      [...classes].sort(([a], [b]) => a < b ? -1 : 1)
        .map(([name, counts]) => [name, ...counts.map((count) => count.toLocaleString("en-US"))]),
    ),
    table(["the slowest", "ms"], slowest.map(({ ms, what }) => [`\`${what}\``, number(ms)])),
  ].join("\n\n");
  console.log(report);
  for (const [rule, found] of broken) {
    for (const what of found.slice(0, SHOWN)) console.error(`${rule}: ${what}`);
    if (found.length > 0) Deno.exitCode = 1;
  }
  if (values.write) await writeResults("bench:hostile", report);

  function note(
    request: HostileRequest,
    answer: RawAnswer | null,
    { ms, phase }: { ms: number; phase: number },
  ): void {
    const name = classOf(request, answer);
    const what = `${name}, ${number(ms)} ms: ${shown(request)}`;
    const counts = classes.get(name) ?? PHASES.map(() => 0);
    classes.set(name, counts.with(phase, counts[phase]! + 1));
    slowest.push({ ms, what: shown(request) });
    slowest.sort((a, b) => b.ms - a.ms).splice(SHOWN);
    if (ms > SLOW_MS) broken.get("slow")!.push(what);
    if (name === REFUSED) return;
    if (answer === null) return void broken.get("unanswered")!.push(what);
    if (answer.status >= 500 && !SERVER_ERRORS.has(name)) broken.get("error")!.push(what);
    const { headers } = answer;
    const open = headers.get("access-control-allow-origin") === "*" && headers.has("x-request-id");
    if (!open || headers.has("x-evil")) broken.get("headers")!.push(what);
  }
}

function classOf({ mayRefuse }: HostileRequest, answer: RawAnswer | null): string {
  const isAnswered = answer !== null &&
    (answer.status >= 500 || answer.headers.has("x-request-id"));
  if (mayRefuse && !isAnswered) return REFUSED;
  if (answer === null) return "none";
  const { status, headers, body } = answer;
  const isProblem = headers.get("content-type") === "application/problem+json";
  const text = isProblem ? new TextDecoder().decode(body) : "";
  return [status, /"code":"([a-z-]+)"/.exec(text)?.[1]].filter((part) => part).join(" ");
}

function shown({ method, target, headers }: HostileRequest): string {
  const text = [`${method} ${target}`, ...headers.map((field) => field.join(": "))]
    .map((part) => part.length > 120 ? `${part.slice(0, 120)}… (${part.length})` : part).join(" ");
  return text.replaceAll(/[^\x20-\x7e…]|[|`]/g, "·");
}

if (import.meta.main) await withProcesses(main);
