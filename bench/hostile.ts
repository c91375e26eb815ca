// `deno task bench:hostile`: 100,000 hostile requests (`--requests` for another number, `--seed` for others), sent to a
// service in a process of its own: most with no limit on misses, a fifth with the default limit. Reports the responses
// and the requests that reached the source; fails where a rule was broken. `--write` puts the report into RESULTS.md.

import type { LoggedRequest } from "../tests/github/github_log.ts";
import { type RawAnswer, RawClient, textOf } from "./clients.ts";
import {
  HOSTILE_FILES,
  type HostileRequest,
  hostileRequests,
  isEscaped,
} from "./hostile_requests.ts";
import { pathOf, settingsFor, startService, startSource } from "./processes.ts";
import { atMost, flag, number, runBench, table } from "./report.ts";

const CONNECTIONS = 32;
const GIVE_UP_MS = 10_000;
const SLOW_MS = 1_000;
const SHOWN = 10;
/** The contract's errors of 500 and more; `internal-error` is a fault that no request may cause. */
const SERVER_ERRORS = [
  ...["502 source-failed", "503 source-rate-limited", "503 service-busy"],
  ...["503 collection-not-ready", "504 source-timeout"],
];
const PHASES = [
  { title: "no limit on misses, proxy trusted", fifths: 4, env: { TRUST_PROXY: "true" } },
  { title: "the default limit on misses", fifths: 1, env: { MISSES_PER_MINUTE: "" } },
];
const REFUSED = "refused by the HTTP server";
const RULES = [
  ["error", "answers of 500 and more that are not the contract's"],
  ["headers", "answers without CORS or an id, or with a header that a request made up"],
  ["slow", `answers after more than ${SLOW_MS} ms`],
  ["unanswered", "requests without an answer"],
  ["unescaped", "requests that reached the source with an unescaped value"],
  ["unexpected", "requests that the source does not know"],
] as const;

const [total, seed] = [Number(flag("requests", "100000")), Number(flag("seed", "1"))];

async function measure(cleanup: AsyncDisposableStack) {
  const double = await startSource(cleanup, { odd: { files: HOSTILE_FILES } });
  const classes = new Map<string, number[]>();
  const slowest: { what: string; ms: number }[] = [];
  const broken: Record<typeof RULES[number][0], string[]> = {
    ...{ error: [], headers: [], slow: [], unanswered: [], unescaped: [], unexpected: [] },
  };
  const startedMs = performance.now();

  for (const [phase, { fifths, env }] of PHASES.entries()) {
    const settings = { ...settingsFor(double), GITHUB_RAW_URL: double.rawUrl, ...env };
    // Ready when it has rendered Markdown, for which it loads most.
    const path = pathOf("list", { repo: "odd", collection: "posts", includeHtml: "true" });
    await using service = await startService({ env: settings, path });
    const requests = hostileRequests({ seed: seed + phase, count: total * fifths / 5 });
    await Promise.all(Array.from({ length: CONNECTIONS }, async () => {
      for (const request of requests) {
        const sentMs = performance.now();
        const answer = await send(service.origin, request);
        note(request, answer, phase, performance.now() - sentMs);
      }
    }));
  }
  const seconds = (performance.now() - startedMs) / 1000;
  const logged = await double.call("requests") as LoggedRequest[];
  const graphqlPath = new URL(double.graphqlUrl).pathname;
  const rest = logged.map(({ path }) => path).filter((path) => path !== graphqlPath);
  broken.unescaped = rest.filter((path) => !isEscaped(path));
  broken.unexpected = await double.call("unexpected") as string[];
  for (const [rule, found] of Object.entries(broken)) {
    for (const what of found.slice(0, SHOWN)) console.error(`${rule}: ${what}`);
  }
  const rows = [...classes].sort(([a], [b]) => a < b ? -1 : 1);
  return {
    conditions: [
      `${number(total)} generated requests (seed ${seed}) in ${number(seconds)} s, ` +
      `${CONNECTIONS} at once, each over a connection of its own; ` +
      "client, service and source on this machine",
      `${logged.length} requests reached the source, all but ${rest.length} of them GraphQL`,
      `"${REFUSED}": a request that HTTP or a URL forbids, closed or answered with 4xx without an id`,
    ],
    goals: RULES.map(([rule, what]) => atMost(what, 0, broken[rule].length)),
    parts: [
      table(
        ["answer", ...PHASES.map(({ title }) => title)],
        rows.map(([name, counts]) => [name, ...counts.map(number)]),
      ),
      table(["the slowest", "ms"], slowest.map(({ what, ms }) => [what, number(ms)])),
    ],
  };

  function note(request: HostileRequest, answer: RawAnswer | null, phase: number, ms: number) {
    const name = classOf(request, answer);
    const what = `${name}, ${number(ms)} ms: ${shown(request)}`;
    const counts = classes.get(name) ?? PHASES.map(() => 0);
    classes.set(name, counts.with(phase, counts[phase]! + 1));
    slowest.push({ what: `\`${shown(request).replaceAll(/[|`]/g, "·")}\``, ms });
    slowest.sort((a, b) => b.ms - a.ms).splice(SHOWN);
    if (ms > SLOW_MS) broken.slow.push(what);
    if (name === REFUSED) return;
    if (answer === null) return void broken.unanswered.push(what);
    if (answer.status >= 500 && !SERVER_ERRORS.includes(name)) broken.error.push(what);
    const { headers } = answer;
    const open = headers.get("access-control-allow-origin") === "*" && headers.has("x-request-id");
    if (!open || headers.has("x-evil")) broken.headers.push(what);
  }
}

/** The answer, or null where none comes. */
async function send(origin: string, request: HostileRequest): Promise<RawAnswer | null> {
  const { method, target, headers } = request;
  using client = await RawClient.connect(origin);
  const timer = setTimeout(() => client[Symbol.dispose](), GIVE_UP_MS);
  const answer = client.send(method, target, [...headers, ["Connection", "close"]]);
  return await answer.catch(() => null).finally(() => clearTimeout(timer));
}

function classOf({ mayRefuse }: HostileRequest, answer: RawAnswer | null): string {
  const isAnswered = answer !== null &&
    (answer.status >= 500 || answer.headers.has("x-request-id"));
  if (mayRefuse && !isAnswered) return REFUSED;
  if (answer === null) return "none";
  const isProblem = answer.headers.get("content-type") === "application/problem+json";
  const code = isProblem ? /"code":"([a-z-]+)"/.exec(textOf(answer))?.[1] : undefined;
  return code === undefined ? `${answer.status}` : `${answer.status} ${code}`;
}

function shown({ method, target, headers }: HostileRequest): string {
  const parts = [`${method} ${target}`, ...headers.map((field) => field.join(": "))];
  return parts.map((part) => part.replaceAll(/[^\x20-\x7e]/g, "·").slice(0, 120)).join(" ");
}

if (import.meta.main) {
  await runBench({ title: "Hostile requests", section: "bench:hostile" }, measure);
}
