// `deno task bench:two-machines`: two services as processes of their own on one
// remote key-value store at 10 ms: the second one's requests to its source
// after the first, the requests to the store, how soon a push shows with the
// webhook (`--pushes`), the effect of 10,000 forged deliveries a minute on
// hits, and of an outage of the store (`--outage`).

import { assertEquals, assertStringIncludes } from "@std/assert";
import { generateFiles } from "../tests/github/generated_files.ts";
import { makeGitRepository } from "../tests/github/git_repository.ts";
import { signatureOf } from "../tests/github/served_repository.ts";
import { KvConnectServer } from "../tests/kv_connect/kv_connect_server.ts";
import { listPath } from "../tests/service.ts";
import {
  get,
  pause,
  type RunningService,
  startService,
  startSource,
  textOf,
} from "./processes.ts";
import {
  atLeast,
  atMost,
  flag,
  median,
  number,
  p99,
  runBench,
  table,
} from "./report.ts";

const [pushes, outageS] = [
  Number(flag("pushes", "200")),
  Number(flag("outage", "60")),
];
const SECRET = "bench-secret";
const LATENCY_MS = 10;
const FORGED = { seconds: 10, aSecond: 167 };
const CONTENTS = listPath({ includeContent: true });
const payload = (n: number) =>
  JSON.stringify({ n, repository: { full_name: "octo/site" } });

const list = ({ origin }: RunningService, path = listPath()) =>
  get(origin, path);
const EVENT = { "content-type": "application/json", "x-github-event": "push" };

async function deliver(
  { origin }: RunningService,
  body: string,
  signature: string,
) {
  const headers = { ...EVENT, "x-hub-signature-256": signature };
  const url = `${origin}/api/webhooks/github`;
  const response = await fetch(url, { method: "POST", body, headers });
  await response.body?.cancel();
  return response.status;
}

const title = `Two machines, one remote store at ${LATENCY_MS} ms`;
await runBench({ title, section: "two machines" }, async (cleanup) => {
  const store = cleanup.use(await KvConnectServer.start());
  store.latencyMs = LATENCY_MS;
  const files = generateFiles({
    prefix: "posts",
    folders: 0,
    filesPerFolder: 100,
    bytes: 2_000,
  });
  const repository = cleanup.use(await makeGitRepository(files));
  const { double, settings } = await startSource(cleanup, {
    "octo/site": { dir: repository.dir },
  });
  const env = {
    ...settings,
    KV_PATH: store.path,
    DENO_KV_ACCESS_TOKEN: store.token,
    GITHUB_WEBHOOK_SECRET: SECRET,
    ALLOWED_REPOS: "octo/*",
  };
  const first = cleanup.use(await startService({ env }));
  const second = cleanup.use(await startService({ env }));

  const rows: string[][] = [];
  /** Counts what some work costs; the store is written to within a second. */
  const cost = async (what: string, work: () => Promise<{ ms: number }>) => {
    await double.call("resetCounts");
    store.counts.clear();
    const { ms } = await work();
    await pause(1_000);
    const counts = Object.entries(
      await double.call("counts") as Record<string, number>,
    );
    const reads = store.counts.get("snapshot_read") ?? 0;
    const commits = store.counts.get("atomic_write") ?? 0;
    const source = counts.map(([kind, count]) =>
      `${count} ${kind}`
    ).join(", ") || "none";
    rows.push([what, number(ms), source, `${reads}`, `${commits}`]);
    return {
      source: counts.reduce((sum, [, count]) => sum + count, 0),
      reads,
      commits,
    };
  };
  const cold = await cost("first: a list, cold", () => list(first));
  await cost("first: the same with contents", () => list(first, CONTENTS));
  const shared = await cost("second: the list, its first answer", () =>
    list(second));
  const contents = await cost("second: the same with contents", () =>
    list(second, CONTENTS));
  const another = listPath({ limit: 10, page: 2 });
  const warm = await cost("second: another page", () =>
    list(second, another));
  const hits = await cost("second: 1,000 hits, p99", async () => {
    const timesMs: number[] = [];
    for (let n = 0; n < 1_000; n++) {
      timesMs.push((await list(second)).ms);
    }
    return { ms: p99(timesMs) };
  });

  const forged: Promise<number>[] = [];
  const forgedMs: number[] = [];
  const beginMs = performance.now();
  for (let n = 0; n < FORGED.seconds * FORGED.aSecond; n++) {
    forged.push(
      deliver(first, payload(n).padEnd(8_000), `sha256=${"0".repeat(64)}`),
    );
    forgedMs.push((await list(first)).ms);
    await pause(
      Math.max(0, beginMs + (n * 1000) / FORGED.aSecond - performance.now()),
    );
  }
  assertEquals(new Set(await Promise.all(forged)), new Set([401]));
  const forgedPerMinute = forged.length / (performance.now() - beginMs) *
    60_000;

  /** Commits, delivers to the first machine, and waits until both show it. */
  const push = async (n: number) => {
    const commit = await repository.commit({
      "posts/post-00000.md": `push ${n}\n`,
    });
    const signature = signatureOf(payload(n), SECRET);
    const startedAtMs = performance.now();
    assertEquals(await deliver(first, payload(n), signature), 202);
    await Promise.all([first, second].map(async (machine) => {
      while (!textOf(await list(machine)).includes(commit)) {
        await pause(5);
      }
    }));
    return { ms: performance.now() - startedAtMs };
  };
  const pushesMs: number[] = [];
  for (let n = 0; n < pushes; n++) {
    pushesMs.push((await push(n)).ms);
  }

  // Without the store: cached data in memory, and each second a branch without
  // earlier requests.
  const paths = [listPath(), listPath({ limit: 10 }), CONTENTS];
  const right = await Promise.all(paths.map((path) =>
    list(first, path)
  ));
  const head = await repository.head();
  await store.down();
  const outageMs: number[] = [];
  const endMs = performance.now() + outageS * 1000;
  for (let n = 0; performance.now() < endMs; n++) {
    const answers = await Promise.all(paths.map((path) => list(first, path)));
    assertEquals(answers.map(textOf), right.map(textOf));
    if (n % 50 === 0) {
      await repository.branch(`new-${n}`);
      const other = await list(second, listPath({ branch: `new-${n}` }));
      assertStringIncludes(textOf(other), head);
      answers.push(other);
    }
    outageMs.push(...answers.map(({ ms }) => ms));
    await pause(20);
  }
  store.up();
  await pause(31_000);
  const after = await cost(
    "both: a push, 31 s after the outage",
    () => push(-1),
  );

  const both = (values: readonly number[]) =>
    `${number(median(values))} and ${number(p99(values))}`;
  const longestMs = Math.max(...outageMs);
  return {
    conditions: [
      `Times are median and p99; from a push until both machines show it ${
        both(pushesMs)
      } ms`,
      `Hits among ${number(forgedPerMinute)} forged deliveries a minute take ${
        both(forgedMs)
      } ms`,
      `${outageMs.length} answers without the store take ${both(outageMs)} ms`,
    ],
    goals: [
      atMost("reads of the store for a cold list", 4, cold.reads),
      atMost("commits to it for a cold list", 2, cold.commits),
      atMost("reads of the store for a warm miss", 2, warm.reads),
      atMost(
        "requests to the store for 1,000 hits",
        0,
        hits.reads + hits.commits,
      ),
      atMost(
        "requests of the second to the source",
        1,
        shared.source + contents.source,
      ),
      atMost(
        `push to visible in both, p99 of ${pushes}, ms`,
        2_000,
        p99(pushesMs),
      ),
      atMost(
        "hits among 10,000 forged deliveries a minute, p99, ms",
        100,
        p99(forgedMs),
      ),
      atMost(
        `the longest answer in ${outageS} s without the store, ms`,
        2_500,
        longestMs,
      ),
      atLeast("commits after it", 1, after.commits),
    ],
    parts: [
      table([
        "phase",
        "ms",
        "requests to the source",
        "reads of the store",
        "commits",
      ], rows),
    ],
  };
});
