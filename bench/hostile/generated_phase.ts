// The third phase: generated hostile requests, most with no limit on misses, a
// fifth with the default limit. It finds what no row was written for: answers
// that the contract does not allow, and requests that reach the source
// unescaped.

import type { LoggedRequest } from "../../tests/github/github_log.ts";
import { listPath } from "../../tests/service.ts";
import { rawRequest, type RawResponse } from "../../tests/raw_http.ts";
import type { HostileRequest } from "../hostile_requests.ts";
import {
  HOSTILE_FILES,
  hostileRequests,
  isEscaped,
} from "../hostile_requests.ts";
import { startService, startSource, textOf } from "../processes.ts";
import { atMost, type Goal, number, table } from "../report.ts";

const CONNECTIONS = 32;
const SLOW_MS = 1_000;
const SHOWN = 10;
/**
 * The contract's errors of 500 and more; `internal-error` is a fault that no
 * request may cause.
 */
const SERVER_ERRORS = [
  ...["502 source-failed", "503 source-rate-limited", "503 service-busy"],
  ...["503 collection-not-ready", "504 source-timeout"],
];
const PHASES = [
  {
    title: "no limit on misses, proxy trusted",
    fifths: 4,
    env: { TRUST_PROXY: "true" },
  },
  {
    title: "the default limit on misses",
    fifths: 1,
    env: { MISSES_PER_MINUTE: "" },
  },
];
const REFUSED = "refused by the HTTP server";
const RULES = {
  error: "answers of 500 and more that are not the contract's",
  headers:
    "answers without CORS or an id, or with a header that a request made up",
  slow: `answers after more than ${SLOW_MS} ms`,
  unanswered: "requests without an answer",
  unescaped: "requests that reached the source with an unescaped value",
  unexpected: "requests that the source does not know",
};

/** How many requests of each phase had an answer. */
const counts = new Map<string, number[]>();
const slowest: { what: string; ms: number }[] = [];
const broken: { rule: keyof typeof RULES; what: string }[] = [];

function note(
  request: HostileRequest,
  answer: RawResponse | null,
  phase: number,
  ms: number,
) {
  const name = classOf(request, answer);
  const breaks = (rule: keyof typeof RULES) =>
    broken.push({ rule, what: `${name}, ${number(ms)} ms: ${shown(request)}` });
  counts.getOrInsertComputed(name, () => PHASES.map(() => 0))[phase]!++;
  slowest.push({ what: `\`${shown(request).replaceAll(/[|`]/g, "·")}\``, ms });
  slowest.sort((a, b) => b.ms - a.ms).splice(SHOWN);
  if (ms > SLOW_MS) breaks("slow");
  if (name === REFUSED) return;
  if (answer === null) return void breaks("unanswered");
  const { status, headers } = answer;
  if (status >= 500 && !SERVER_ERRORS.includes(name)) breaks("error");
  const isOpen = headers.get("access-control-allow-origin") === "*" &&
    headers.has("x-request-id");
  if (!isOpen || headers.has("x-evil")) breaks("headers");
}

/** The answer, or null where none comes. */
function send(origin: string, { method, target, headers }: HostileRequest) {
  const { host, port } = new URL(origin);
  const hasHost = headers.some(([name]) => name === "Host");
  const fields = hasHost ? headers : [["Host", host], ...headers];
  const lines = [
    `${method} ${target} HTTP/1.1`,
    ...fields.map((field) => field.join(": ")),
  ];
  return rawRequest(Number(port), ...lines).catch(() => null);
}

function classOf(
  { mayRefuse }: HostileRequest,
  answer: RawResponse | null,
): string {
  const isAnswered = answer !== null &&
    (answer.status >= 500 || answer.headers.has("x-request-id"));
  if (mayRefuse && !isAnswered) return REFUSED;
  if (answer === null) return "none";
  const isProblem =
    answer.headers.get("content-type") === "application/problem+json";
  // Neither the answer to HEAD nor a compressed one shows its code.
  const code = isProblem
    ? /"code":"([a-z-]+)"/.exec(textOf(answer))?.[1]
    : undefined;
  return code === undefined ? `${answer.status}` : `${answer.status} ${code}`;
}

function shown({ method, target, headers }: HostileRequest): string {
  const parts = [
    `${method} ${target}`,
    ...headers.map((field) => field.join(": ")),
  ];
  return parts.map((part) =>
    part.replaceAll(/[^\x20-\x7e]/g, "·").slice(0, 120)
  ).join(" ");
}

/** Sends so many generated requests; `seed` gives others. */
export async function sendGenerated(
  cleanup: AsyncDisposableStack,
  { total, seed }: { readonly total: number; readonly seed: number },
): Promise<{ conditions: string[]; goals: Goal[]; parts: string[] }> {
  const { double, settings } = await startSource(cleanup, {
    "octo/odd": { files: HOSTILE_FILES },
  });
  const startedMs = performance.now();
  for (const [phase, { fifths, env: more }] of PHASES.entries()) {
    const env = { ...settings, GITHUB_RAW_URL: double.rawUrl, ...more };
    // Ready when it has rendered Markdown, for which it loads most.
    const path = listPath({ repo: "odd", includeHtml: true });
    await using service = await startService({ env, path });
    const requests = hostileRequests({
      seed: seed + phase,
      count: total * fifths / 5,
    });
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
  const rest = logged.filter(({ kind }) => kind !== "graphql").map(({ path }) =>
    path
  );
  const unexpected = await double.call("unexpected") as string[];
  for (const what of rest) {
    if (!isEscaped(what)) broken.push({ rule: "unescaped", what });
  }
  for (const what of unexpected) broken.push({ rule: "unexpected", what });
  return {
    conditions: [
      `${number(total)} generated requests (seed ${seed}) in ${
        number(seconds)
      } s, ` +
      `${CONNECTIONS} at once, each over a connection of its own; ${logged.length} requests reached the source, ` +
      `all but ${rest.length} of them GraphQL`,
      `"${REFUSED}": a request that HTTP or a URL forbids, closed or answered with 4xx without an id`,
    ],
    goals: Object.entries(RULES).map(([rule, what]) => {
      const found = broken.filter((one) => one.rule === rule);
      for (const { what } of found.slice(0, SHOWN)) {
        console.error(`${rule}: ${what}`);
      }
      return atMost(`generated: ${what}`, 0, found.length);
    }),
    parts: [
      "### Generated requests",
      table(
        ["answer", ...PHASES.map(({ title }) => title)],
        [...counts].sort(([a], [b]) => a < b ? -1 : 1)
          .map(([name, phases]) => [name, ...phases.map(number)]),
      ),
      table(
        ["the slowest", "ms"],
        slowest.map(({ what, ms }) => [what, number(ms)]),
      ),
    ],
  };
}
