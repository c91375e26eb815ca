// `deno task bench:greedy`: one client address sends the most expensive requests as fast as it can, at default settings,
// while a second address reads 20 known pages once a second. The second must not be slowed, memory must stay bounded, and
// requests to GitHub must stay within the first one's charges. `--write` puts the report into RESULTS.md; `--seconds`
// sets the time, 60 by default.

import { parseArgs } from "node:util";
import { makeGitRepository } from "../tests/github/git_repository.ts";
import { startDouble } from "../tests/github/start_double.ts";
import { memoryOf, outputOf, pause, withProcesses } from "./processes.ts";
import {
  describeMachine,
  type Goal,
  goalTable,
  number,
  percentile,
  table,
  writeResults,
} from "./report.ts";
import { OWNER, settingsFor, TOKEN } from "./repositories.ts";
import { startService } from "./service_process.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    write: { type: "boolean", default: false },
    seconds: { type: "string", default: "60" },
    /** Kinds of requests by name, separated by commas. */
    only: { type: "string", default: "" },
  },
});
const seconds = Number(values.seconds);

/** Connections of each kind. */
const CONNECTIONS = 4;
const KNOWN_PAGES = 20;
const READER_ADDRESS = "127.0.0.2";
const MAX_P99_MS = 250;
/** Beside CACHE_MEMORY_MB, in MiB. */
const MAX_MEMORY_MB = 512;
const CACHE_MEMORY_MB = 64;
const MISSES_PER_MINUTE = 120;
/** Requests to GitHub of the most expensive request with a token: 2,000 for folders, and 20,000 files in batches of 50. */
const MAX_REQUESTS_A_MISS = 2_400;
const BRANCHES = 100;

/** Sends one request of a kind; `n` counts up. */
type Send = (origin: string, n: number, stop: AbortSignal) => Promise<number>;

const list = (parameters: Record<string, string>) =>
  `/api/list-collection-items?${new URLSearchParams({
    owner: OWNER,
    repo: "greedy",
    ...parameters,
  })}`;
const item = (parameters: Record<string, string>) =>
  `/api/get-item-content?${new URLSearchParams({ owner: OWNER, repo: "greedy", ...parameters })}`;

async function get(url: string, init: RequestInit): Promise<number> {
  const response = await fetch(url, init);
  await response.body?.pipeTo(new WritableStream());
  return response.status;
}

const deepPath = Array.from({ length: 1_900 }, () => "d").join("/");

const KINDS: Record<string, Send> = {
  "pages of long paths": (origin, n, signal) =>
    get(origin + list({ collection: "long", limit: String(1000 - n % 500) }), { signal }),
  "20 long filters": (origin, n, signal) => {
    const filters = Array.from(
      { length: 20 },
      (_, index) =>
        `&filter[path]=${encodeURIComponent(`!*${n}-${index}-${"abcdefghij".repeat(19)}`)}`,
    );
    return get(origin + list({ collection: "many", limit: "1" }) + filters.join(""), { signal });
  },
  "sorts by front matter": (origin, n, signal) =>
    get(origin + list({ collection: "posts", sort: `frontMatter.key${n}`, limit: "1" }), {
      signal,
    }),
  "unknown collections": (origin, n, signal) =>
    get(origin + list({ collection: `no-such-collection-${n}` }), { signal }),
  "dropped connections": async (origin, n, signal) => {
    const dropped = AbortSignal.any([signal, AbortSignal.timeout(10)]);
    const path = list({ collection: "posts", branch: `b${n % BRANCHES}` });
    return await get(origin + path, { signal: dropped }).catch(() => 0);
  },
  "slow readers": async (origin, n, signal) => {
    const path = list({ collection: "large", includeContent: "true", limit: String(100 - n % 50) });
    const response = await fetch(origin + path, { signal });
    const reader = response.body!.getReader();
    await reader.read();
    await pause(5_000);
    await reader.cancel().catch(() => {});
    return response.status;
  },
  "many branches": (origin, n, signal) =>
    get(origin + list({ collection: "posts", branch: `b${n % BRANCHES}` }), { signal }),
  "large pages": (origin, n, signal) =>
    get(
      origin + list({ collection: "large", includeContent: "true", limit: String(100 - n % 97) }),
      { signal },
    ),
  "deep paths": (origin, n, signal) =>
    get(origin + item({ path: `${deepPath}/none${n}.md` }), { signal }),
  "random parameters": (origin, n, signal) =>
    get(`${origin}${list({ collection: "posts", page: String(1 + n % 100_000) })}&x${n}=${n}`, {
      signal,
    }),
  "ranges": (origin, n, signal) =>
    get(`${origin}/client.js`, { signal, headers: { range: `bytes=${n % 1000}-${n % 7 * 1000}` } }),
  "huge headers": (origin, n, signal) =>
    get(origin + list({ collection: "posts" }), {
      signal,
      headers: { "x-large": "x".repeat(15_000), "if-none-match": `"${n}", `.repeat(1_000) },
    }),
};

function* files(): Generator<readonly [path: string, content: string]> {
  const deep = Array.from({ length: 15 }, () => "\u4e2d".repeat(80)).join("/");
  for (let n = 0; n < 1_000; n++) yield [`long/${deep}/${n}.md`, "x\n"];
  for (let n = 0; n < 20_000; n++) {
    yield [`many/section-${n % 100}/an-ordinary-name-${n}.md`, "x\n"];
  }
  for (let n = 0; n < 3_000; n++) {
    yield [`posts/p${n}.md`, `---\ntitle: Post ${n}\nkey${n}: ${n}\n---\n\nText ${n}.\n`];
  }
  for (let n = 0; n < 100; n++) yield [`large/f${n}.md`, `${n} ${"lorem ipsum ".repeat(12_000)}\n`];
  yield [`${deepPath}/file.md`, "deep\n"];
}

if (import.meta.main) await withProcesses(main);

async function main(cleanup: AsyncDisposableStack): Promise<void> {
  const machine = await describeMachine();
  const git = cleanup.use(await makeGitRepository(files()));
  for (let n = 0; n < BRANCHES; n++) await git.branch(`b${n}`);
  const double = cleanup.use(
    await startDouble({
      repositories: {
        [`${OWNER}/greedy`]: { dir: git.dir },
        [`${OWNER}/known`]: { generate: { folders: 1, filesPerFolder: 1_000 } },
      },
      tokens: { [TOKEN]: { sees: "all" } },
    }),
  );
  const quota = { limit: 1_000_000, remaining: 1_000_000 };
  await double.call("setQuota", TOKEN, quota);
  await double.call("setQuota", TOKEN, { ...quota, resource: "graphql" });
  const { MISSES_PER_MINUTE: _unlimited, SOURCE_TIMEOUT_MS: _long, ...env } = settingsFor(double);
  const service = cleanup.use(await startService({ env: { ...env, LOG_LEVEL: "warn" } }));
  const { origin } = service;
  const pages = Array.from(
    { length: KNOWN_PAGES },
    (_, index) =>
      `${origin}/api/list-collection-items?owner=${OWNER}&repo=known&collection=posts&limit=20&page=${
        index + 1
      }`,
  );
  await readPages(pages);
  await double.call("resetCounts");

  const stop = new AbortController();
  const chosen = Object.entries(KINDS).filter(([name]) =>
    values.only === "" || values.only.split(",").includes(name)
  );
  const statuses = new Map(chosen.map(([name]) => [name, new Map<number, number>()]));
  let sent = 0;
  const greedy = chosen.flatMap(([name, send]) =>
    Array.from({ length: CONNECTIONS }, async () => {
      while (!stop.signal.aborted) {
        // A dropped or refused connection is the greedy client's own.
        const status = await send(origin, sent++, stop.signal).catch(() => 0);
        const counts = statuses.get(name)!;
        counts.set(status, (counts.get(status) ?? 0) + 1);
      }
    })
  );
  const timesMs: number[] = [];
  let errors = 0;
  let peakMb = 0;
  for (let second = 0; second < seconds; second++) {
    const startedMs = performance.now();
    for (const { status, ms } of await readPages(pages)) {
      if (status !== 200) errors++;
      timesMs.push(ms);
    }
    peakMb = Math.max(peakMb, (await memoryOf(service.pid)).nowMb);
    await pause(Math.max(0, 1000 - (performance.now() - startedMs)));
  }
  stop.abort();
  await Promise.all(greedy);
  const counts = await double.call("counts") as Record<string, number>;
  const upstream = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const mostUpstream = MISSES_PER_MINUTE * MAX_REQUESTS_A_MISS * Math.max(1, seconds / 60);

  const p99Ms = percentile(timesMs, 0.99);
  const goals: Goal[] = [
    goal(
      "p99 of the second address",
      `under ${MAX_P99_MS} ms`,
      `${number(p99Ms)} ms`,
      p99Ms < MAX_P99_MS,
    ),
    goal("errors of the second address", "0", `${errors} of ${timesMs.length}`, errors === 0),
    goal(
      "resident memory",
      `under ${MAX_MEMORY_MB + CACHE_MEMORY_MB} MiB`,
      `${peakMb} MiB`,
      peakMb < MAX_MEMORY_MB + CACHE_MEMORY_MB,
    ),
    goal(
      "requests to GitHub",
      `under ${number(mostUpstream)}`,
      `${number(upstream)} (${JSON.stringify(counts)})`,
      upstream < mostUpstream,
    ),
  ];
  const report = [
    "## Greedy client",
    [
      ...machine,
      `${seconds} s, ${chosen.length} kinds of requests, ${CONNECTIONS} connections each, from one address; the second ` +
      `address reads ${KNOWN_PAGES} known pages once a second; default settings`,
    ].map((line) => `- ${line}`).join("\n"),
    goalTable(goals),
    table(
      ["greedy request", "answers"],
      [...statuses].map(([name, counts]) => [
        name,
        [...counts].sort(([a], [b]) => a - b).map(([status, count]) =>
          `${count} × ${status || "dropped"}`
        ).join(", "),
      ]),
    ),
  ].join("\n\n");
  console.log(report);
  if (values.write) await writeResults("bench:greedy", report);
  if (goals.some(({ met }) => !met)) Deno.exitCode = 1;
}

function goal(what: string, wanted: string, measured: string, met: boolean): Goal {
  return { what, wanted, measured, met };
}

/** Reads pages over one connection from an address of its own; Deno cannot choose the address, curl can. */
async function readPages(urls: readonly string[]): Promise<{ status: number; ms: number }[]> {
  const text = await outputOf("curl", [
    ...[
      "--silent",
      "--interface",
      READER_ADDRESS,
      "--write-out",
      "\\n@ %{http_code} %{time_total}\\n",
    ],
    ...urls.flatMap((url) => ["--output", "/dev/null", url]),
  ]);
  return [...text.matchAll(/^@ (\d+) ([\d.]+)$/gm)].map(([, status, time]) => ({
    status: Number(status),
    ms: Number(time) * 1000,
  }));
}
