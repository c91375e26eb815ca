// Two services as processes of their own on one remote key-value store at 10 ms: the second one's requests to its source
// after the first, the requests to the store, how soon a push shows with the webhook, the effect of 10,000 forged
// deliveries a minute on hits, and of an outage of the store. Fails where a goal is missed.
//
//   deno task bench:two-machines [--pushes 200] [--outage 60] [--write]

import { assertEquals } from "@std/assert";
import { generateFiles } from "../tests/github/generated_files.ts";
import { serveRepository, signatureOf } from "../tests/github/served_repository.ts";
import { KvConnectServer, type KvOperation } from "../tests/kv_connect/kv_connect_server.ts";
import { getOnce, textOf } from "./clients.ts";
import {
  pathOf,
  pause,
  type RunningService,
  settingsFor,
  startService,
  TOKEN,
} from "./processes.ts";
import { atLeast, atMost, flag, median, number, p99, runBench, table } from "./report.ts";

const [pushes, outageS] = [Number(flag("pushes", "200")), Number(flag("outage", "60"))];
const SECRET = "bench-secret";
const LATENCY_MS = 10;
const FORGED = { seconds: 10, aSecond: 167 };

const listOf = (more: Record<string, string> = {}) =>
  pathOf("list", { repo: "site", collection: "posts", ...more });
const CONTENTS = listOf({ includeContent: "true" });
const payload = (n: number) => JSON.stringify({ n, repository: { full_name: "octo/site" } });

async function list({ origin }: RunningService, path = listOf()) {
  const answer = await getOnce(origin, path);
  return { text: textOf(answer), ms: answer.ms };
}

async function deliver(machine: RunningService, body: string, signature: string): Promise<number> {
  const response = await fetch(`${machine.origin}/api/webhooks/github`, {
    method: "POST",
    body,
    headers: {
      "content-type": "application/json",
      "x-github-event": "push",
      "x-hub-signature-256": signature,
    },
  });
  await response.body?.cancel();
  return response.status;
}

async function measure(cleanup: AsyncDisposableStack) {
  const store = cleanup.use(await KvConnectServer.start());
  store.latencyMs = LATENCY_MS;
  const files = generateFiles({ prefix: "posts", folders: 0, filesPerFolder: 100, bytes: 2_000 });
  const { gh, repository } = cleanup.use(await serveRepository(files));
  // A service that is ended may leave a request half sent.
  cleanup.defer(() => void gh.unexpected.splice(0));
  gh.addToken(TOKEN);
  const { SOURCE_TIMEOUT_MS: _, ...settings } = settingsFor(gh);
  const env = {
    ...settings,
    KV_PATH: store.url,
    DENO_KV_ACCESS_TOKEN: store.token,
    GITHUB_WEBHOOK_SECRET: SECRET,
    ALLOWED_REPOS: "octo/*",
  };
  const first = cleanup.use(await startService({ env }));
  const second = cleanup.use(await startService({ env }));

  const rows: string[][] = [];
  /** Counts what some work costs; the store is written to within a second. */
  const cost = async (what: string, work: () => Promise<{ ms: number }>) => {
    gh.resetCounts();
    store.counts.clear();
    const { ms } = await work();
    await pause(1_000);
    const count = (operation: KvOperation) => store.counts.get(operation) ?? 0;
    const source = Object.entries(gh.counts()).map(([kind, n]) => `${n} ${kind}`).join(", ");
    const [reads, commits] = [count("snapshot_read"), count("atomic_write")];
    rows.push([what, number(ms), source || "none", `${reads}`, `${commits}`]);
    return { source: gh.requests.length, reads, commits };
  };
  const cold = await cost("first: a list, cold", () => list(first));
  await cost("first: the same with contents", () => list(first, CONTENTS));
  const shared = await cost("second: the list, its first answer", () => list(second));
  const contents = await cost("second: the same with contents", () => list(second, CONTENTS));
  const another = listOf({ limit: "10", page: "2" });
  const warm = await cost("second: another page", () => list(second, another));
  const hits = await cost("second: 1,000 hits, p99", async () => {
    const timesMs: number[] = [];
    for (let n = 0; n < 1_000; n++) timesMs.push((await list(second)).ms);
    return { ms: p99(timesMs) };
  });

  const forged: Promise<number>[] = [];
  const forgedMs: number[] = [];
  const beginMs = performance.now();
  for (let n = 0; n < FORGED.seconds * FORGED.aSecond; n++) {
    forged.push(deliver(first, payload(n).padEnd(8_000), `sha256=${"0".repeat(64)}`));
    forgedMs.push((await list(first)).ms);
    await pause(Math.max(0, beginMs + (n * 1000) / FORGED.aSecond - performance.now()));
  }
  assertEquals(new Set(await Promise.all(forged)), new Set([401]));
  const forgedPerMinute = forged.length / (performance.now() - beginMs) * 60_000;

  /** Commits, delivers to the first machine, and waits until both show it. */
  const push = async (n: number) => {
    const commit = await repository.commit({ "posts/post-00000.md": `push ${n}\n` });
    const signature = signatureOf(payload(n), SECRET);
    const startedAtMs = performance.now();
    assertEquals(await deliver(first, payload(n), signature), 202);
    await Promise.all([first, second].map(async (machine) => {
      while (JSON.parse((await list(machine)).text).repository.commit !== commit) await pause(5);
    }));
    return { ms: performance.now() - startedAtMs };
  };
  const pushesMs: number[] = [];
  for (let n = 0; n < pushes; n++) pushesMs.push((await push(n)).ms);

  // Without the store: cached data in memory, and each second a branch without earlier requests.
  const paths = [listOf(), listOf({ limit: "10" }), CONTENTS];
  const right = await Promise.all(paths.map((path) => list(first, path)));
  const head = await repository.head();
  await store.down();
  const outageMs: number[] = [];
  const endMs = performance.now() + outageS * 1000;
  for (let n = 0; performance.now() < endMs; n++) {
    const answers = await Promise.all(paths.map((path) => list(first, path)));
    assertEquals(answers.map(({ text }) => text), right.map(({ text }) => text));
    if (n % 50 === 0) {
      await repository.branch(`new-${n}`);
      const other = await list(second, listOf({ branch: `new-${n}` }));
      assertEquals(JSON.parse(other.text).repository.commit, head);
      answers.push(other);
    }
    outageMs.push(...answers.map(({ ms }) => ms));
    await pause(20);
  }
  store.up();
  await pause(31_000);
  const after = await cost("both: a push, 31 s after the outage", () => push(-1));

  const both = (values: readonly number[]) =>
    `${number(median(values))} and ${number(p99(values))}`;
  const longestMs = Math.max(...outageMs);
  return {
    conditions: [
      `Times are median and p99; from a push until both machines show it ${both(pushesMs)} ms`,
      `Hits among ${number(forgedPerMinute)} forged deliveries a minute take ${both(forgedMs)} ms`,
      `${outageMs.length} answers without the store take ${both(outageMs)} ms`,
    ],
    goals: [
      atMost("reads of the store for a cold list", 4, cold.reads),
      atMost("commits to it for a cold list", 2, cold.commits),
      atMost("reads of the store for a warm miss", 2, warm.reads),
      atMost("requests to the store for 1,000 hits", 0, hits.reads + hits.commits),
      atMost("requests of the second to the source", 1, shared.source + contents.source),
      atMost(`push to visible in both, p99 of ${pushes}, ms`, 2_000, p99(pushesMs)),
      atMost("hits among 10,000 forged deliveries a minute, p99, ms", 100, p99(forgedMs)),
      atMost(`the longest answer in ${outageS} s without the store, ms`, 2_500, longestMs),
      atLeast("commits after it", 1, after.commits),
    ],
    parts: [
      table(["phase", "ms", "requests to the source", "reads of the store", "commits"], rows),
    ],
  };
}

if (import.meta.main) {
  const title = `Two machines, one remote store at ${LATENCY_MS} ms`;
  await runBench({ title, section: "two machines" }, measure);
}
