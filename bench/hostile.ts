// `deno task bench:hostile`: 100,000 hostile requests (`--requests` for another number, `--seed` for others), sent to a
// service in a process of its own: most with no limit on misses, a fifth with the default limit. Reports the responses
// and the requests that reached the source; fails where a rule was broken. `--write` puts the report into RESULTS.md.

import { parseArgs } from "node:util";
import type { LoggedRequest } from "../tests/github/github_log.ts";
import { startDouble } from "../tests/github/start_double.ts";
import { rawRequest } from "../tests/raw_http.ts";
import { HOSTILE_FILES, type HostileRequest, hostileRequests } from "./hostile_requests.ts";
import { pause, withProcesses } from "./processes.ts";
import { type RawAnswer, RawClient } from "./raw_client.ts";
import { describeMachine, type Goal, goalTable, number, table, writeResults } from "./report.ts";
import { OWNER, settingsFor, TOKEN } from "./repositories.ts";
import { startService } from "./service_process.ts";

const CONNECTIONS = 32;
const GIVE_UP_MS = 10_000;
const SLOW_MS = 1_000;
const SHOWN = 10;
/** The contract's errors of 500 and more; `internal-error` is a fault that no request may cause. */
const SERVER_ERRORS = new Set([
  ...["502 source-failed", "503 source-rate-limited", "503 service-busy"],
  ...["503 collection-not-ready", "504 source-timeout"],
]);
const PHASES = [
  { title: "no limit on misses, proxy trusted", fifths: 4, env: { TRUST_PROXY: "true" } },
  { title: "the default limit on misses", fifths: 1, env: { MISSES_PER_MINUTE: "" } },
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
/** What the service may request of its source: every value in one escaped segment. GraphQL has one path. */
const REST =
  /^(?:\/repos\/[A-Za-z0-9][A-Za-z0-9_-]{0,38}\/[A-Za-z0-9._-]{1,100}|\/repositories\/\d+)(?:\/commits\/([^/?#]+)|\/git\/trees\/[0-9a-f]{40}(?:\?recursive=1)?|\/git\/blobs\/[0-9a-f]{40})?$/;
const RAW = /^\/octo\/odd\/[0-9a-f]{40}\/([^?#]+)$/i;

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
      repositories: { [`${OWNER}/odd`]: { files: HOSTILE_FILES } },
      tokens: { [TOKEN]: { sees: "all" } },
    }),
  );
  await double.call("setQuota", TOKEN, { limit: 1_000_000, remaining: 1_000_000 });
  const [count, seed] = [Number(values.requests), Number(values.seed)];
  const requests = hostileRequests({ seed, count });
  const classes = new Map<string, number[]>();
  const slowest: { ms: number; what: string }[] = [];
  const broken = new Map(Object.keys(RULES).map((rule) => [rule, [] as string[]]));
  const startedMs = performance.now();

  for (const [phase, { fifths, env }] of PHASES.entries()) {
    await using service = await startService({
      env: { ...settingsFor(double), GITHUB_RAW_URL: double.rawUrl, ...env },
    });
    let left = Math.floor(count * fifths / 5);
    await Promise.all(Array.from({ length: CONNECTIONS }, async () => {
      using connection = new HostileConnection(service.origin, service.port);
      while (left-- > 0) {
        const { value: request, done } = requests.next();
        if (done) break;
        const sentMs = performance.now();
        const answer = await connection.send(request);
        note(request, answer, { ms: performance.now() - sentMs, phase });
      }
    }));
  }
  const seconds = (performance.now() - startedMs) / 1000;
  const logged = await double.call("requests") as LoggedRequest[];
  const graphqlPath = new URL(double.graphqlUrl).pathname;
  const rest = logged.filter(({ path }) => path !== graphqlPath);
  broken.set("unescaped", rest.map(({ path }) => path).filter((path) => !isEscaped(path)));
  broken.set("unexpected", await double.call("unexpected") as string[]);

  const report = [
    "## Hostile requests",
    [
      ...await describeMachine(),
      `${
        count.toLocaleString("en-US")
      } generated requests (seed ${seed}) over ${CONNECTIONS} connections in ` +
      `${number(seconds)} s, client, service and source on this machine`,
      `${logged.length} requests reached the source, ${
        logged.length - rest.length
      } of them GraphQL`,
      `"${REFUSED}": a request that HTTP or a URL forbids, closed or answered with 4xx without an id`,
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

/** Sends requests as their bytes are, over one connection for as long as the server leaves it open. */
class HostileConnection implements Disposable {
  private client: RawClient | null = null;

  constructor(private readonly origin: string, private readonly port: number) {}

  /** The answer, or null where none comes. A request that may be refused, or is no GET, gets a connection of its own. */
  async send({ method, target, headers, mayRefuse }: HostileRequest): Promise<RawAnswer | null> {
    if (method === "GET" && !mayRefuse) {
      const fields = headers.map(([name, value]) => [name.toLowerCase(), value]);
      try {
        this.client ??= await RawClient.connect(this.origin);
        return await this.client.get(target, Object.fromEntries(fields));
      } catch {
        this[Symbol.dispose]();
      }
    }
    const host = headers.some(([name]) => name === "Host") ? [] : ["Host: 127.0.0.1"];
    const lines = headers.map(([name, value]) => `${name}: ${value}`);
    const answer = await Promise.race([
      rawRequest(this.port, `${method} ${target} HTTP/1.1`, ...host, ...lines).catch(() => null),
      pause(GIVE_UP_MS).then(() => null),
    ]);
    return answer && answer.status > 0 ? { ...answer, headers: new Map(answer.headers) } : null;
  }

  [Symbol.dispose](): void {
    this.client?.[Symbol.dispose]();
    this.client = null;
  }
}

function isEscaped(path: string): boolean {
  const match = REST.exec(path) ?? RAW.exec(path);
  return match !== null && (match[1] ?? "a").split("/").every((part) => {
    try {
      const text = decodeURIComponent(part);
      return encodeURIComponent(text) === part && ![".", "..", ""].includes(text);
    } catch {
      return false;
    }
  });
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
